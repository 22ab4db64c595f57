"""Helpers for all commands of Heedful: parsers of subcommands, names of commands, and exit statuses."""

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from shlex import join
from textwrap import fill
from typing import Any, NoReturn

from heedful.records.errors import SettingError

WIDTH = 79  # characters in a line of help


class CommandParser(ArgumentParser):
    """The argument parser of a subcommand of ``heedful``; ``examples`` are pairs of arguments and a description."""

    def __init__(self, name: str, about: str, examples: Sequence[tuple[str, str]] = (), **settings: Any) -> None:
        each = [f"  {f'heedful {name} {words}'.rstrip()}\n      {text}" for words, text in examples]
        super().__init__(
            prog=f"heedful {name}",
            description=fill(about, WIDTH),
            epilog="\n".join(["examples:", *each]) if each else None,
            formatter_class=partial(RawDescriptionHelpFormatter, width=WIDTH, max_help_position=24),
            allow_abbrev=False,
            **settings,
        )

    def error(self, message: str) -> NoReturn:
        raise SettingError(f"{message[:1].upper()}{message[1:]}. See {self.prog} --help.")


def command_name() -> str:
    """The name of the running command, such as "train.py" or "heedful compare"."""
    name = Path(sys.argv[0]).name
    return " ".join(["heedful", *sys.argv[1:2]]) if name in ("heedful", "__main__.py") else name


def command_words(command: str) -> list[str]:
    """Return the words that start a command, such as ["python", "train.py"] in a clone, or ["heedful", "train"]."""
    return ["python", f"{command}.py"] if command_name() in ("train.py", "evaluate.py") else ["heedful", command]


def resume_command(folder: Path, objects: Iterable[object]) -> str:
    """Return the command that resumes a run, with ``--allow_package`` for foreign classes of its ``objects``."""
    packages = {type(each).__module__.partition(".")[0] for each in objects} - {"heedful"}
    allowed = [word for package in sorted(packages) for word in ("--allow_package", package)]
    return join([*command_words("train"), "--resume", str(folder), *allowed])


@contextmanager
def exit_on_broken_pipe() -> Iterator[None]:
    """Context manager that exits with status 1, without a traceback, if the reader of stdout has ended.

    An example is ``heedful ... | head -1``.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        try:
            print(flush=True)
        except BrokenPipeError:  # stdout is the broken pipe; at exit, Python flushes it again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        raise
