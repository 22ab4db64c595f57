"""Tables from json files: what really occurs in them is read soundly, and what cannot be meant is refused."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules.loaders.table_files import TableFolder, parse_table
from heedful.records import DataError, HeedfulError, Table

from refusals import refused

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6).filter(str.strip)
# of different texts, some are the same but for white space; those keys are joined
objects = st.dictionaries(words.filter(lambda key: key.strip() != "title"), st.lists(words, min_size=1), min_size=1)


def flat(text: str) -> str:
    return " ".join(text.split())


@given(title=words, rows=objects, where=st.integers(0, 5))
def test_a_table_is_its_object_with_single_spaces_wherever_the_title_stands(
    title: str, rows: dict[str, list[str]], where: int
) -> None:
    items = list(rows.items())
    items.insert(where, ("title", [title]))
    table, twice = parse_table(json.dumps(dict(items)).encode(), "T1.json")
    expected: dict[str, list[str]] = {}
    for key, values in rows.items():
        expected.setdefault(flat(key), []).extend(map(flat, values))
    assert table == Table(flat(title), tuple((key, tuple(values)) for key, values in expected.items()))
    assert bool(twice) == (len(expected) < len(rows))


def test_the_values_of_a_key_that_stands_twice_are_joined() -> None:
    content = b'{"title": ["A"], "Years active": ["2004"], "Genre": ["soul"], "Years active ": ["2006", "2009"]}'
    table, twice = parse_table(content, "T1.json")
    assert table == Table("A", (("Years active", ("2004", "2006", "2009")), ("Genre", ("soul",))))
    assert twice == ("Years active",)


@pytest.mark.parametrize(
    ("content", "error", "facts"),
    [
        (b"", DataError, ["JSON"]),
        (b'{"title": ["A"], "B": ["C"]', DataError, ["JSON"]),
        (b"\xff", DataError, ["UTF-8"]),
        (b"[]", DataError, ["[]", "'title'"]),
        (b"{}", DataError, ["no titles", "'title'"]),
        (b'{"B": ["C"]}', DataError, ["no titles"]),
        (b'{"title": ["A", "B"], "B": ["C"]}', DataError, ["2 titles"]),
        (b'{"title": ["A"], "title": ["A"], "B": ["C"]}', DataError, ["2 titles"]),
        (b'{"title": [" "], "B": ["C"]}', DataError, ["key 'title'", "value 1 of 1"]),
        (b'{"title": "A", "B": ["C"]}', DataError, ["key 'title'", "'A'"]),
        (b'{"title": ["A"]}', DataError, ["no rows"]),
        (b'{"title": ["A"], "B": []}', DataError, ["key 'B'", "[]"]),
        (b'{"title": ["A"], "B": null}', DataError, ["key 'B'", "None"]),
        (b'{"title": ["A"], "B": {"C": "D"}}', DataError, ["key 'B'"]),
        (b'{"title": ["A"], "B": ["C", "\\n"]}', DataError, ["key 'B'", "value 2 of 2"]),
        (b'{"title": ["A"], "B": [3]}', DataError, ["key 'B'", "3"]),
    ],
)
def test_what_is_not_a_table_is_refused_by_file_and_key(
    content: bytes, error: type[HeedfulError], facts: list[str]
) -> None:
    with refused(error, "T1.json", *facts):
        parse_table(content, "T1.json")


def write(folder: Path, name: str, **rows: Any) -> None:
    (folder / f"{name}.json").write_text(json.dumps({"title": ["A"]} | rows))


def test_a_table_is_read_once_and_what_is_unusual_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, "T1", B=["C"])
    (tmp_path / "T2.json").write_text('{"title": ["A"], "": ["x"], "B": ["y"], "B": ["z"]}')
    tables = TableFolder(tmp_path)
    first = tables.table("T1", "dev.tsv, row 1")
    (tmp_path / "T1.json").unlink()
    assert tables.table("T1", "dev.tsv, row 2") is first
    with caplog.at_level(logging.INFO):
        tables.report()
    assert not caplog.messages
    assert tables.table("T2", "").rows == (("", ("x",)), ("B", ("y", "z")))
    with caplog.at_level(logging.INFO):
        tables.report()
    joined, nameless = caplog.messages
    assert joined == f"{tmp_path}: tables with a key twice, whose values are joined: 1 (T2: B)."
    assert nameless == f"{tmp_path}: tables with a row without a key, which is kept: 1 (T2)."


@pytest.mark.parametrize("name", ["T9", "", "T1.json"])
def test_a_table_that_is_not_there_is_named_with_the_row(tmp_path: Path, name: str) -> None:
    write(tmp_path, "T1", B=["C"])
    with refused(DataError, "dev.tsv, row 3", f"{name}.json"):
        TableFolder(tmp_path).table(name, "dev.tsv, row 3")


def test_a_table_id_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    write(tmp_path, "T1", B=["C"])
    for name in ("../T1", str(tmp_path / "T1")):
        with refused(DataError, tmp_path / "inner", "T1.json'"):
            TableFolder(tmp_path / "inner").table(name, "dev.tsv, row 3")


@pytest.mark.slow
def test_every_real_table_is_read(shared_data: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = shared_data / "infotabs" / "tables" / "json"
    tables = TableFolder(folder)
    names = sorted(file.stem for file in folder.iterdir())
    rows = [len(tables.table(name, "").rows) for name in names]
    assert (len(names), min(rows), max(rows), sum(rows)) == (2_719, 1, 41, 24_804)
    with caplog.at_level(logging.INFO):
        tables.report()
    where = f"{folder}: "
    assert [message.removeprefix(where) for message in caplog.messages if message.startswith(where)] == [
        "tables with a key twice, whose values are joined: 3 (T1482: Years active, T1571: Years active, "
        "T1628: Years active).",
        "tables with a row without a key, which is kept: 1 (T2172).",
    ]
