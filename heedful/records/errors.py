"""Errors that a user can fix, and parts of their messages."""

import difflib
import re
from collections.abc import Collection
from typing import Self

from heedful.records.labels import listing


class HeedfulError(Exception):
    """An error that the user can fix; commands print it without a traceback and exit with status 2.

    The message is one paragraph: the problem, its place (file, row, column, setting) and a remedy. Settings are written
    ``data.hold_out``, which is right in Python, in YAML and on a command line.

    Examples:
        >>> str(SettingError("data.hold_out 3 leaves nothing to train on. Hold out fewer examples."))
        'data.hold_out 3 leaves nothing to train on. Hold out fewer examples.'
    """

    def __str__(self) -> str:
        return printable(Exception.__str__(self))  # of KeyError it is a repr

    def at(self, where: str) -> Self:
        """Prefix the message with a place: a file, a row, a setting.

        Examples:
            >>> str(DataError("The column 'a' is empty.").at("data.csv, row 3"))
            "data.csv, row 3: the column 'a' is empty."
        """
        message = re.sub(r"^(The|A|An|No|It|There) ", lambda match: match[0].lower(), str(self))
        return type(self)(f"{where}: {message}")


class SettingError(HeedfulError):
    """A setting or a name is unknown, out of range, or excludes another setting."""


class DataError(HeedfulError):
    """A file, a row, a column or a label of the data is missing or malformed."""


class ModelError(HeedfulError):
    """Weights, tokenizer, head or answers of a model, or its server, are not usable."""


class RunError(HeedfulError):
    """The folder of a run, its results, its checkpoints, the disk or a process is not usable."""


def printable(text: str) -> str:
    r"""Escape line breaks, control characters and unprintable characters of a text.

    Examples:
        >>> printable("a\nb\x1b[31m")
        'a\\nb\\x1b[31m'
    """
    return re.sub(
        r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]",
        lambda match: ascii(match[0])[1:-1],
        text,
    )


def nearest(name: str, names: Collection[str]) -> str | None:
    """The shortest name with this prefix, or else the most similar name, if there is one.

    Examples:
        >>> nearest("prem", ["premise", "hypothesis"]), nearest("hypotesis", ["premise", "hypothesis"])
        ('premise', 'hypothesis')
    """
    completions = sorted((full for full in names if name and full.startswith(name)), key=lambda full: (len(full), full))
    return next(iter(completions or difflib.get_close_matches(name, sorted(names), 1)), None)


def guess(name: str, names: Collection[str]) -> str:
    """The remedy in the message about an unknown name: the nearest name, or else a list of all names.

    Examples:
        >>> guess("mnly", ["mnli", "rte"]), guess("x", ["mnli", "rte"])
        ('Do you mean mnli?', 'Known are mnli, rte.')
    """
    near = nearest(name, names)
    return f"Known are {listing([*names])}." if near is None else f"Do you mean {near}?"
