"""A refusal has a code, says what is wrong and what to do, and holds nothing that a terminal would obey."""

import doctest
import pickle

import pytest

from heedful.records import HeedfulError, command_lines, errors, printable
from heedful.records.refusals import REFUSALS


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
    error = HeedfulError("empty-value", f"Row 1: {text}.", f"Mend {text}.")
    assert str(error) == f"Row 1: {shown}. Mend {shown}."
    assert error.line == f"Row 1: {shown}. Mend {shown}. [empty-value]"
    shown.encode()


def test_an_error_says_what_to_do_or_its_code_does() -> None:
    error = HeedfulError("missing-file", "x.csv does not exist.", "Name another.")
    assert (error.code, error.wrong, error.do) == ("missing-file", "x.csv does not exist.", "Name another.")
    assert str(HeedfulError("missing-file", "x.csv does not exist.")) == (
        f"x.csv does not exist. {REFUSALS['missing-file'].do}"
    )


def test_a_code_that_does_not_exist_is_a_programmers_mistake() -> None:
    with pytest.raises(KeyError):
        HeedfulError("no-such-code", "x.")


def test_a_setting_is_named_as_where_it_was_given() -> None:
    error = HeedfulError("clashing-settings", "§data.hold_out 3: §partial. A price of 5 § or §5.", "Drop §data.a_b.n.")
    assert str(error) == "hold_out 3: partial. A price of 5 § or §5. Drop n."
    for _ in range(2):
        error.name_settings(r"--\1")
        assert str(error) == "--data.hold_out 3: --partial. A price of 5 § or §5. Drop --data.a_b.n."
        assert error.code == "clashing-settings"


def test_a_command_prints_the_code_and_names_settings_as_flags(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def main(arguments: list[str]) -> None:
        raise HeedfulError("bad-setting", f"§data.n is {arguments[0]}.")

    for name, called in (("heedful", "heedful 0"), ("__main__.py", "heedful 0"), ("train.py", "train.py")):
        monkeypatch.setattr("sys.argv", [f"/bin/{name}", "0"])
        with pytest.raises(SystemExit) as ended:
            command_lines.run_command(main)
        assert ended.value.code == 2
        assert capsys.readouterr().err == f"{called}: --data.n is 0. {REFUSALS['bad-setting'].do} [bad-setting]\n"


@pytest.mark.parametrize(
    ("wrong", "located"),
    [
        ("The column 'a' is empty.", "f.csv, row 3: the column 'a' is empty."),
        ("There is no column 'a'.", "f.csv, row 3: there is no column 'a'."),
        ("Thea is empty.", "f.csv, row 3: Thea is empty."),
        ("§data.a is empty.", "f.csv, row 3: §data.a is empty."),
    ],
)
def test_a_refusal_that_is_passed_on_says_where(wrong: str, located: str) -> None:
    error = HeedfulError("empty-value", wrong, "Fill it in.")
    moved = error.at("f.csv, row 3")
    assert (moved.code, moved.wrong, moved.do) == ("empty-value", located, "Fill it in.")
    assert error.wrong == wrong


def test_an_error_survives_the_way_from_another_process() -> None:
    error = HeedfulError("bad-text", "a \x1b\\x1b.", "Write §data.a.")
    found = pickle.loads(pickle.dumps(error))
    assert (found.code, found.wrong, found.do) == (error.code, error.wrong, error.do)
    assert found.line == "a \\x1b\\x1b. Write a. [bad-text]"


def test_the_examples_in_the_docstrings_are_right() -> None:
    failed, tried = doctest.testmod(errors)
    assert tried
    assert not failed
