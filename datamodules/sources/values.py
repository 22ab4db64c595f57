"""Convert values of data files to text, recognise missing values, and quote values in messages."""

import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from heedful.records import DataError, listing, printable
from heedful.records.text import composed

Rows = Iterator[tuple[int, Mapping[str, Any]]]  # row numbers, and values by column

FIELD = re.compile(r"{(\w+)(\?|-\d+)?(?::(\w+))?}")  # {column}, {column?}, {column-2} or {column:03d} in a pattern

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


def brief(value: Any) -> str:
    """Return a representation of a value that is shortened for a message."""
    return _short.repr(value)


def reason(error: BaseException) -> str:
    """Return the first 80 characters of the first line of an exception's message, without a full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return printable(lines[0][:80]).rstrip(".")


def as_text(value: Any) -> str:
    """Convert a value to text in Unicode NFC without outer white space.

    1.0 becomes "1", since many tools store a column of integers with missing values as floats.
    """
    return re.sub(r"(?<=\d)\.0+$", "", composed(str(value)).strip())


def listed(columns: Iterable[Any]) -> str:
    """Return a sentence that lists column names, for a message."""
    return f"The columns are {listing(list(map(column_name, columns)))}."


def require_column(column: str, values: Mapping[str, Any], where: str) -> None:
    """Raise DataError if a row, given as values by column, lacks a column; ``where`` names the row in the message."""
    if column not in values:
        raise DataError(f"{where}: there is no column {column!r}. {listed(values)}")


def column_name(column: Any) -> str:
    """Return the name of a column for a message; in quotes if it has outer white space, is long or is not printable."""
    name = str(column)
    return name if name.isprintable() and name == name.strip() and len(name) <= 60 else brief(name)


def is_empty(value: Any) -> bool:
    """Whether a value is None, NaN or blank text."""
    return value is None or isinstance(value, str) and not value.strip() or isinstance(value, float) and value != value


def text_of(value: Any, where: str, row: int | str, column: str) -> str:
    """Convert a value that must be a text or a number to text; ``where`` names the source in messages.

    Raises:
        DataError: The value is empty or of another type; the message names file, row and column.
    """
    if is_empty(value):
        raise DataError(f"{where}, row {row}: the column {column!r} is empty. Fill it in, or drop the row.")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(f"{where}, row {row}: the column {column!r} holds {brief(value)}, not a text.")
    return str(value)


def is_pattern(column: str) -> bool:
    """Whether ``column`` is a pattern such as "{id}.png", not the name of a column."""
    return "{" in column


def filled(pattern: str, values: Mapping[str, Any], where: str) -> str:
    """Return a pattern with its fields filled from a row. A field with ``?`` may have no value.

    Args:
        pattern: A text with fields such as ``{id}``, ``{folder?}``, ``{id:03d}``, or ``{id-2}`` for the text before the
            second hyphen.
        values: Values of the row by column.
        where: Source and row, for messages.

    Example:
        >>> filled("{id-1}/{folder?}/{id-3}-img0.png", {"id": "dev-850-0-1"}, "dev.json, row 1")
        'dev//dev-850-0-img0.png'
    """
    for name in [name for name, how, _ in FIELD.findall(pattern) if how != "?"]:
        require_column(name, values, where)
        if is_empty(values[name]):
            raise DataError(
                f"{where}: the column {name!r} is empty, and {pattern} needs it. Allow it with {{{name}?}}."
            )

    def fill(field: re.Match) -> str:
        name, how, form = field.groups()
        if how == "?" and is_empty(values.get(name)):
            return ""
        value = format(values[name], form or "")
        if how == "?":
            return value
        return "-".join(value.split("-")[: int(how[1:])]) if how else value

    try:
        text = FIELD.sub(fill, pattern)
    except (TypeError, ValueError) as error:
        raise DataError(f"{where}: the pattern {pattern} does not fit the row ({reason(error)}).") from None
    if "*" in pattern and text.count("*") != pattern.count("*"):
        raise DataError(f"{where}: a column of {pattern} has a *. Take another column.")
    return text
