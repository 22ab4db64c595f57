"""The one exception for what a user can mend, and the end of a command whose output nobody reads."""

import difflib
import os
import re
import select
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TextIO

from heedful.records.labels import listing
from heedful.records.refusals import REFUSALS, SETTING


class HeedfulError(Exception):
    """A mistake in the input or in the settings: a code, what is wrong and where, and what to do.

    The command line prints it without a traceback, and the code behind it. docs/refusals.md explains each code.

    A setting is written with a section sign and the object that has it: ``§data.hold_out``. What raises the error
    knows no flags: from Python the message says ``hold_out``, and on the command line ``--data.hold_out``.

    Args:
        code: One of ``refusals.REFUSALS``.
        wrong: What is wrong and where (file, row, column, setting), as a sentence with its full stop.
        do: What to do, as a sentence with its full stop; by default that of the code.

    Examples:
        >>> error = HeedfulError("nothing-left", "§data.hold_out 3 leaves nothing to train on.", "Hold out fewer.")
        >>> error.code, str(error)
        ('nothing-left', 'hold_out 3 leaves nothing to train on. Hold out fewer.')
    """

    def __init__(self, code: str, wrong: str, do: str = "") -> None:
        super().__init__(code, wrong, do or REFUSALS[code].do)

    code = property(lambda self: self.args[0], doc="The code.")
    wrong = property(lambda self: self.args[1], doc="What is wrong and where.")
    do = property(lambda self: self.args[2], doc="What to do.")

    def __str__(self) -> str:
        return printable(SETTING.sub(bare_name, f"{self.wrong} {self.do}".rstrip()))

    @property
    def line(self) -> str:
        """The message as a command prints it, with its code."""
        return f"{self} [{self.code}]"

    def at(self, where: str) -> "HeedfulError":
        """The same refusal, its message begun with where: a file, a row, a setting.

        Examples:
            >>> str(HeedfulError("empty-value", "The column 'a' is empty.").at("data.csv, row 3"))
            "data.csv, row 3: the column 'a' is empty. Fill it in, or leave its row out."
        """
        begun = re.sub(r"^(The|A|An|No|It|There) ", lambda match: match[0].lower(), self.wrong)
        return HeedfulError(self.code, f"{where}: {begun}", self.do)

    def name_settings(self, flag: str | Callable[[re.Match[str]], str]) -> None:
        r"""Have the message name each setting by a flag, as in ``r"--\1"``, or as a function of the match has it."""
        self.args = (self.code, SETTING.sub(flag, self.wrong), SETTING.sub(flag, self.do))


def bare_name(setting: re.Match[str]) -> str:
    """A setting that a message names, as Python has it: without the object that has it."""
    return setting[1].rpartition(".")[2]


def printable(text: str) -> str:
    r"""A text in one line, without characters that a terminal would obey or cannot print: a name may hold any.

    Examples:
        >>> printable("a\nb\x1b[31m")
        'a\\nb\\x1b[31m'
    """
    return re.sub(
        r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]",
        lambda match: ascii(match[0])[1:-1],
        text,
    )


def nearest(name: str, known: Collection[str]) -> str | None:
    """The known name that is meant: the shortest that begins with this one, or else the most similar, if there is any.

    Examples:
        >>> nearest("prem", ["premise", "hypothesis"]), nearest("hypotesis", ["premise", "hypothesis"])
        ('premise', 'hypothesis')
    """
    begun = sorted((other for other in known if name and other.startswith(name)), key=lambda other: (len(other), other))
    return next(iter(begun or difflib.get_close_matches(name, sorted(known), 1)), None)


def guess(name: str, known: Collection[str]) -> str:
    """What to do where a name is unknown: take the one that may be meant, or else one of those that are known.

    Examples:
        >>> guess("mnly", ["mnli", "rte"]), guess("x", ["mnli", "rte"])
        ('Do you mean mnli?', 'Known are mnli, rte.')
    """
    near = nearest(name, known)
    return f"Known are {listing([*known])}." if near is None else f"Do you mean {near}?"


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
        poll = select.poll()
        poll.register(stream.fileno(), select.POLLOUT)
    except BrokenPipeError:
        return True
    except (AttributeError, OSError, ValueError):  # no poll on this system, or a stream that is not a file
        return False
    return any(event & select.POLLERR for _, event in poll.poll(0))  # nothing is left to flush of an unbuffered one
