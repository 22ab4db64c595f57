"""Values of data files: how large they may be, of which characters, and how a message shows one."""

import math
import re
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from heedful.records import DataError, HeedfulError, SettingError, listing, printable

LONGEST_LINE = 2**27  # bytes; a whole article fits into a field, and a damaged file does not fill the memory
LONGEST_JSON = 2**29  # bytes of a json list, which is read as a whole
RATIO = 200  # of what a file unpacks to and its size; text becomes a tenth, a file made to fill a memory a thousandth
UNPACKED = 2**30  # bytes that any file may unpack to, row by row
UNPACKED_WHOLE = 2**24  # bytes that any file may unpack to in one piece: parsed, they take many times as much
NUL = "\0"
Rows = Iterator[tuple[int, Mapping[str, Any]]]  # of a file: their numbers, and their values by column

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


def brief(value: Any) -> str:
    """A value as one short line for a message."""
    return _short.repr(value)


def reason(error: Exception) -> str:
    """How the first line of what a library says of an error begins, without a full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return printable(lines[0][:80]).rstrip(".")


def most_unpacked(path: Path, least: int = UNPACKED) -> int:
    """How many bytes a file may unpack to: :data:`RATIO` times its size, or ``least``."""
    return max(least, RATIO * path.stat().st_size)


def too_large(path: Path, most: int, remedy: str) -> HeedfulError:
    """The error about a file that unpacks to more than ``most`` bytes."""
    return DataError(
        f"{path} unpacks to more than {most >> 20:,} MiB and {RATIO} times its size, as damaged files do. {remedy}"
    )


def holds_nul(value: Any) -> bool:
    """Whether a NUL character stands in a text, or in any text of a list or an object; bytes are not looked at."""
    if isinstance(value, str):
        return NUL in value
    if isinstance(value, Mapping):
        return any(map(holds_nul, value)) or any(map(holds_nul, value.values()))
    return isinstance(value, list | tuple) and any(map(holds_nul, value))


def require_text(columns: Mapping[str, Any], where: str, row: int) -> None:
    """Refuse a row with a NUL character, which no text has: something else was written over it.

    Raises:
        HeedfulError: The message names the row and the column.
    """
    for name, value in columns.items():
        if holds_nul(value) or holds_nul(name):
            raise DataError(
                f"{where}, row {row}: the column {brief(name)} holds a NUL character. Save it as UTF-8, or correct it "
                "there."
            )


def plain(value: Any) -> str:
    """A value as text: 1.0 is "1", as a column of integers with gaps comes out of many tools."""
    return re.sub(r"(?<=\d)\.0+$", "", str(value).strip())


def require_path(path: Any, setting: str) -> None:
    """Raises HeedfulError where a setting that names a file holds something else, such as rows in memory."""
    if not isinstance(path, str | Path | None):
        raise SettingError(f"{setting} is of the type {type(path).__name__}, not a path. Name a file or a folder.")


def listed(columns: Iterable[Any]) -> str:
    """What to know where a column is missing: those that there are."""
    return f"The columns are {listing(list(map(column_name, columns)))}."


def require_column(column: str, values: Mapping[str, Any], where: str) -> None:
    """Raises HeedfulError where a row does not have this column."""
    if column not in values:
        raise DataError(f"{where}: there is no column {column!r}. {listed(values)}")


def column_name(column: Any) -> str:
    """A column's name as it is, or shortened where it would spoil a message."""
    name = str(column)
    return name if name.isprintable() and len(name) <= 60 else brief(name)


def is_empty(value: Any) -> bool:
    return value is None or isinstance(value, str) and not value.strip() or isinstance(value, float) and value != value


class WholeFloat(float):
    """A whole number from a column of floats, of which pandas does not say whether it was 1 or 1.0 before.

    It is a label like any number. Where it would stand in text, which of the two decides, it is refused.
    """


def in_its_form(value: Any, where: str, column: str) -> Any:
    """The value itself.

    Raises:
        HeedfulError: It is a :class:`WholeFloat`, which has no one form as text.
    """
    if isinstance(value, WholeFloat):
        raise DataError(
            f"{where}: the column {column!r} holds {value:.1f}, which may have been {value:.0f}. Make it whole numbers "
            "with astype('Int64'), or texts."
        )
    return value


def text_of(value: Any, where: str, row: int, column: str) -> str:
    """Text as it is, and a number as Python writes it; nothing else is made into text."""
    if is_empty(value):
        raise DataError(f"{where}, row {row}: the column {column!r} is empty. Fill it in, or leave its row out.")
    if isinstance(value, bool) or not isinstance(value, str | int | float) or value in (math.inf, -math.inf):
        raise DataError(f"{where}, row {row}: the column {column!r} holds {brief(value)}, not a text.")
    text = str(in_its_form(value, f"{where}, row {row}", column))
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        raise DataError(
            f"{where}, row {row}: the column {column!r} holds half of a surrogate pair. Save it as UTF-8, or correct "
            "it there."
        )
    return text
