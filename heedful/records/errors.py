"""Errors that a user can fix, and the words that their messages share."""

import difflib
import re
from collections.abc import Collection
from typing import Self

from heedful.records.labels import listing


class HeedfulError(Exception):
    """Something that the user can fix: a command prints it without a traceback and ends with status 2.

    The message is one paragraph: what is wrong, where (file, row, column, setting), and what to do. A setting is
    written ``data.hold_out``, as in Python, in YAML and on a command line.

    Examples:
        >>> str(SettingError("data.hold_out 3 leaves nothing to train on. Hold out fewer examples."))
        'data.hold_out 3 leaves nothing to train on. Hold out fewer examples.'
    """

    def __str__(self) -> str:
        return printable(Exception.__str__(self))  # of KeyError it is a repr

    def at(self, where: str) -> Self:
        """The same error, its message prefixed with a place: a file, a row, a setting.

        Examples:
            >>> str(DataError("The column 'a' is empty.").at("data.csv, row 3"))
            "data.csv, row 3: the column 'a' is empty."
        """
        message = re.sub(r"^(The|A|An|No|It|There) ", lambda match: match[0].lower(), str(self))
        return type(self)(f"{where}: {message}")


class SettingError(HeedfulError):
    """A setting, a name or an option is unknown, out of range, or excludes another one."""


class DataError(HeedfulError):
    """A file, a row, a column or a label of the data is missing or not what the format says."""


class ModelError(HeedfulError):
    """Weights, tokenizer, head or answers of a model, or the server behind it, do not fit."""


class RunError(HeedfulError):
    """The folder of a run, its results or checkpoints, the disk or a process is not as needed."""


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
