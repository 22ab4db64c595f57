"""Values of data files: which are empty, which are text, and how a message shows one."""

import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from heedful.records import DataError, SettingError, listing, printable

Rows = Iterator[tuple[int, Mapping[str, Any]]]  # row numbers, and values by column

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


def brief(value: Any) -> str:
    """A value as one short line for a message."""
    return _short.repr(value)


def reason(error: BaseException) -> str:
    """The beginning of the first line of a library's message, without a full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return printable(lines[0][:80]).rstrip(".")


def plain(value: Any) -> str:
    """A value as text: 1.0 is "1", since many tools write a column of integers with gaps as floats."""
    return re.sub(r"(?<=\d)\.0+$", "", str(value).strip())


def require_path(path: Any, setting: str) -> None:
    """Refuse a setting that should name a file and holds something else, such as rows in memory."""
    if not isinstance(path, str | Path | None):
        raise SettingError(f"{setting} is of the type {type(path).__name__}, not a path. Name a file or a folder.")


def listed(columns: Iterable[Any]) -> str:
    """A sentence that lists the columns, for an error about a missing one."""
    return f"The columns are {listing(list(map(column_name, columns)))}."


def require_column(column: str, values: Mapping[str, Any], where: str) -> None:
    """Refuse a row without this column."""
    if column not in values:
        raise DataError(f"{where}: there is no column {column!r}. {listed(values)}")


def column_name(column: Any) -> str:
    """A column's name as it is; in quotes where it has blanks around it, or is shortened not to spoil a message."""
    name = str(column)
    return name if name.isprintable() and name == name.strip() and len(name) <= 60 else brief(name)


def is_empty(value: Any) -> bool:
    """Whether a value is missing: None, NaN, or blank text."""
    return value is None or isinstance(value, str) and not value.strip() or isinstance(value, float) and value != value


def text_of(value: Any, where: str, row: int | str, column: str) -> str:
    """Text as it is, and a number as Python writes it.

    Raises:
        DataError: The value is empty, or of another type.
    """
    if is_empty(value):
        raise DataError(f"{where}, row {row}: the column {column!r} is empty. Fill it in, or leave its row out.")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise DataError(f"{where}, row {row}: the column {column!r} holds {brief(value)}, not a text.")
    return str(value)
