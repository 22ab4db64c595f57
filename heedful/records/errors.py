"""Exceptions for mistakes that a user can fix, and helpers for their messages."""

import difflib
import re
from collections.abc import Collection
from typing import Self

from heedful.records.text import listing


class HeedfulError(Exception):
    """Base class of errors that a user can fix; commands print the message without a traceback and exit with status 2.

    A message is one paragraph: the problem, its place (file, row, column or setting) and a remedy. Settings are written
    as ``data.hold_out``, which is valid in Python, in YAML and on a command line.
    """

    def __str__(self) -> str:
        return printable(Exception.__str__(self))  # in a subclass of KeyError, super().__str__ would be a repr

    def at(self, where: str) -> Self:
        """A copy of the error whose message begins with a place: a file, a row or a setting.

        Examples:
            >>> str(DataError("The column 'a' is empty.").at("data.csv, row 3"))
            "data.csv, row 3: the column 'a' is empty."
        """
        message = re.sub(r"^(The|A|An|No|It|There) ", lambda match: match[0].lower(), str(self))
        return type(self)(f"{where}: {message}")


class SettingError(HeedfulError):
    """A setting is unknown, has an invalid value, or contradicts another setting."""


class DataError(HeedfulError):
    """A file, row, column or label of the data is missing or malformed."""


class ModelError(HeedfulError):
    """The weights, tokenizer, head or answers of a model, or its server, cannot be used."""


class RunError(HeedfulError):
    """The folder of a run, its results or checkpoints, the disk, or a process cannot be used."""


def printable(text: str) -> str:
    """Escape the line breaks, control characters and other unprintable characters of a text."""
    unprintable = r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
    return re.sub(unprintable, lambda match: ascii(match[0])[1:-1], text)


def nearest(name: str, names: Collection[str]) -> str | None:
    """The shortest of ``names`` that begins with ``name``, or else the most similar one; None if none is similar."""
    completions = sorted((full for full in names if name and full.startswith(name)), key=lambda full: (len(full), full))
    return next(iter(completions or difflib.get_close_matches(name, sorted(names), 1)), None)


def suggestion(name: str, names: Collection[str]) -> str:
    """Suggest, in an error message about an unknown name, the nearest name, or list all names.

    Examples:
        >>> [suggestion(name, ["mnli", "premise"]) for name in ("prem", "mnly", "x")]
        ['Do you mean premise?', 'Do you mean mnli?', 'Known are mnli, premise.']
    """
    near = nearest(name, names)
    return f"Known are {listing([*names])}." if near is None else f"Do you mean {near}?"
