"""Messages hold nothing that a terminal would obey."""

import pickle

import pytest

from heedful.records import HeedfulError, printable


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
    assert str(HeedfulError(f"row 1: {text}.")) == f"row 1: {shown}."
    shown.encode()


def test_a_setting_is_named_as_where_it_was_given() -> None:
    error = HeedfulError("§data.hold_out 3: §partial or §data.inoculation.n. A price of 5 § or §5 is none.")
    assert str(error) == "hold_out 3: partial or n. A price of 5 § or §5 is none."
    for _ in range(2):
        error.name_settings(r"--\1")
        assert str(error) == "--data.hold_out 3: --partial or --data.inoculation.n. A price of 5 § or §5 is none."


def test_an_error_survives_the_way_from_another_process() -> None:
    assert str(pickle.loads(pickle.dumps(HeedfulError("a \x1b\\x1b")))) == "a \\x1b\\x1b"
