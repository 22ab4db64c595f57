"""The one exception for what a user can mend, and the end of a command whose output nobody reads."""

import difflib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TextIO

SETTING = re.compile(r"§([a-z_]+(?:\.[a-z_]+)*)")


class HeedfulError(Exception):
    """A mistake in the input or in the settings.

    The message is one sentence (or two) that says what was wrong, where (file, row, column, setting) and what to do.
    The command line prints it without a traceback.

    A setting is written with a section sign and the object that has it: ``§data.hold_out``. What raises the error
    knows no flags: from Python the message says ``hold_out``, and on the command line ``--data.hold_out``.

    Example:
        >>> str(HeedfulError("§data.hold_out 3 leaves nothing to train on."))
        'hold_out 3 leaves nothing to train on.'
    """

    def __str__(self) -> str:
        return printable(SETTING.sub(lambda found: found[1].rpartition(".")[2], super().__str__()))

    def name_settings(self, flag: str | Callable[[re.Match[str]], str]) -> None:
        r"""Have the message name each setting by a flag, as in ``r"--\1"``, or as a function of the match has it."""
        self.args = (SETTING.sub(flag, self.args[0]),)


def printable(text: str) -> str:
    r"""A text in one line, without characters that a terminal would obey or cannot print: a name may hold any.

    Example:
        >>> printable("a\nb\x1b[31m")
        'a\\nb\\x1b[31m'
    """
    return re.sub(
        r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]",
        lambda found: ascii(found[0])[1:-1],
        text,
    )


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that is meant: the shortest that begins with this one, or else the most similar, if there is any.

    Example:
        >>> nearest("prem", ["premise", "hypothesis"]), nearest("hypotesis", ["premise", "hypothesis"])
        ('premise', 'hypothesis')
    """
    begun = sorted((other for other in known if name and other.startswith(name)), key=lambda other: (len(other), other))
    return next(iter(begun or difflib.get_close_matches(name, sorted(known), 1)), None)


def guess(name: str, known: Collection[str]) -> str:
    """The end of a message that a name is unknown: which one may be meant, or else all that are known.

    Example:
        >>> guess("mnly", ["mnli", "rte"]), guess("x", ["mnli", "rte"])
        ('do you mean mnli?', 'known are mnli, rte.')
    """
    near = nearest(name, known)
    return f"known are {', '.join(known)}." if near is None else f"do you mean {near}?"


def without_hub(*ways: str) -> str:
    """Ways to go on where the hub cannot be reached, joined by commas and "or".

    To use only what is cached is one more, unless HF_HUB_OFFLINE is set already.
    """
    is_set = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    *others, last = ways if is_set else (*ways, "set HF_HUB_OFFLINE=1 to use only what is cached")
    return ", or ".join([", ".join(others), last])


@contextmanager
def ending_with_its_reader() -> Iterator[None]:
    """End the command, without a traceback, when nobody reads its output any more, as behind ``| head -1``."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        closed = [stream for stream in (sys.stdout, sys.stderr) if _is_closed(stream)]
        if not closed:  # it was another pipe
            raise
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in closed:  # which is flushed once more at exit
            os.dup2(nowhere, stream.fileno())
        sys.exit(1)


def _is_closed(stream: TextIO) -> bool:
    try:
        stream.flush()
    except BrokenPipeError:
        return True
    return False


def run_command(name: str, main: Callable[[list[str]], None]) -> None:
    """Run ``main`` on the command line of a module; a user's mistake becomes one sentence and exit status 2."""
    try:
        with ending_with_its_reader():
            main(sys.argv[1:])
    except HeedfulError as error:
        print(f"{name}: {error}", file=sys.stderr)
        sys.exit(2)
