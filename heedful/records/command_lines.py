"""Parser of subcommands, and exit status of commands."""

import os
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any, NoReturn

from heedful.records.errors import HeedfulError, SettingError

WIDTH = 79  # of help


class CommandParser(ArgumentParser):
    """The parser of a subcommand, without abbreviations.

    Args:
        name: Name of the subcommand.
        about: Description of the subcommand.
        examples: Words after ``heedful NAME``, and the description of each example.
    """

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


def called() -> str:
    """The name of the running command: "train.py", or "heedful compare"."""
    name = Path(sys.argv[0]).name
    return " ".join(["heedful", *sys.argv[1:2]]) if name in ("heedful", "__main__.py") else name


def start_of(command: str) -> list[str]:
    """The words that start "train" or "evaluate": ``heedful train``, or ``python train.py`` if scripts are in use."""
    return ["heedful", command] if called().startswith("heedful ") else ["python", f"{command}.py"]


def run_command(main: Callable[[list[str]], None]) -> None:
    """Run ``main`` on the words of the command line; HeedfulError is printed and exits with status 2."""
    try:
        with exit_on_broken_pipe():
            main(sys.argv[1:])
    except HeedfulError as error:
        print(f"{called()}: {error}", file=sys.stderr)
        sys.exit(2)


@contextmanager
def exit_on_broken_pipe() -> Iterator[None]:
    """Exit without a traceback if stdout is a broken pipe, as in ``| head -1``."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        try:
            print(flush=True)
        except BrokenPipeError:  # of stdout, which is flushed again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        raise
