"""Errors that a user can fix hold nothing that a terminal would obey, and keep their class."""

import pytest

from heedful.records import DataError, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("É 🙂 日本", "É 🙂 日本"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[2Jgone", "\\x1b[2Jgone"),
        ("\x9b31m \x07 \r \x7f", "\\x9b31m \\x07 \\r \\x7f"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("half \ud83d", "half \\ud83d"),
    ],
)
def test_what_cannot_be_printed_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert str(DataError(f"Row 1: {text}.")) == f"Row 1: {shown}."
    shown.encode()
