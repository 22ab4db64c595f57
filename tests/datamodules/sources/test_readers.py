"""Local files: what was written is read, and what is broken is named by file and row."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heedful
from heedful.datamodules import PairedText
from heedful.datamodules.sources.readers import SUFFIXES, inside, read, suffix_of
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import brief
from heedful.records import DataError

from refusals import refused

ROWS = [
    {"premise": 'He said "stop", twice.', "hypothesis": "Two\nlines,\r\nor three.", "label": "0"},
    {"premise": "tab\there", "hypothesis": "line\u2028separator, next\x85line, form\x0cfeed", "label": "NA"},
    {"premise": "È vero — 100 % 🙂", "hypothesis": " spaces stay ", "label": "null"},
]
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
NAMES = ["premise", "hypothesis", "label"]
XY = {"header": ("x", "y")}
NO_QUOTES: dict[str, Any] = {"quoting": False}


def write(path: Path, rows: list[dict], **options: Any) -> Path:
    """Write rows in the format of the path's suffix, compressed where it ends in .gz."""
    frame, form = pd.DataFrame(rows), suffix_of(path.name)
    if form == "parquet":
        frame.to_parquet(path)
    elif form in ("json", "jsonl"):
        frame.to_json(path, orient="records", lines=form == "jsonl", force_ascii=False)
    else:
        frame.to_csv(path, sep="\t" if form == "tsv" else ",", index=False, **options)
    return path


@pytest.mark.parametrize("name", [*(f"a.{s}" for s in SUFFIXES), *(f"a.{s}.gz" for s in SUFFIXES if s != "parquet")])
def test_every_format_gives_back_the_rows_as_they_were(tmp_path: Path, name: str) -> None:
    """Quotes, line feeds inside fields, unicode line separators and texts like "NA" all stay as they are."""
    assert list(read(write(tmp_path / name, ROWS))) == list(enumerate(ROWS, 1))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
@given(texts=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, suffix: str, texts: list[tuple[str, str]]) -> None:
    rows = [{"a": a, "b": b} for a, b in texts]
    path = write(tmp_path_factory.mktemp("any") / f"a.{suffix}", rows, lineterminator="\r\n")
    assert [columns for _, columns in read(path)] == rows


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.json", "a.jsonl", "a.parquet"])
def test_types_are_kept_except_in_csv(tmp_path: Path, name: str) -> None:
    row: dict[str, Any] = {"label": 1, "share": 0.5} | ({} if "csv" in name else {"no": None, "a": ["b"], "is": True})
    expected = {name: str(value) for name, value in row.items()} if "csv" in name else row
    assert list(read(write(tmp_path / name, [row]))) == [(1, expected)]


AB = {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("name", "text", "options", "expected"),
    [
        ("A.CSV", "a,b\n1,2\n", {}, {1: AB}),
        ("a.csv", "a\n1\n2", {}, {1: {"a": "1"}, 2: {"a": "2"}}),  # a last line without a line feed
        ("a.jsonl", '{"a": 1}\n\n  \n{"a": 2}\n', {}, {1: {"a": 1}, 4: {"a": 2}}),  # a row number is that of an editor
        ("a.csv", "a\n1\n\n2\n", {}, {1: {"a": "1"}, 2: {"a": "2"}}),
        ("a.jsonl", '{"a": 1}\r\r\n{"a":\r 2}\r\r\n', {}, {1: {"a": 1}, 2: {"a": 2}}),
        ("a.tsv", 'a\tb\n"open\t5" disk\n', NO_QUOTES, {1: {"a": '"open', "b": '5" disk'}}),
        ("a.tsv", 'a\tb\n5" disk\t"all of it"\n', {}, {1: {"a": '5" disk', "b": "all of it"}}),
        *(  # columns without a name at the ends, as some tools number rows
            ("a.tsv", text, {}, {1: AB})
            for text in ("\ta\tb\n0\t1\t2\n", "a\tb\t\t\n1\t2\tx\t\n", "\ta\tb\t\n0\t1\t2\t\n", "a\tb\n1\t2\n")
        ),
        ("a.txt", "1\t2\n", {"header": ("a", "b")}, {1: AB}),
        ("a.csv", "1,2\n", {"header": ("a", "b")}, {1: AB}),
        ("a.json", '[["1", "2"]]', {"header": ("a", "b")}, {1: AB}),
        ("a.json", '{"version": 1, "data": [{"a": 1}]}', {}, {1: {"a": 1}}),
        ("a.json", '{"a": 1}\n{"a": 2}\n', {}, {1: {"a": 1}, 2: {"a": 2}}),
    ],
)
def test_a_file_is_read(tmp_path: Path, name: str, text: str, options: dict, expected: dict[int, Any]) -> None:
    (tmp_path / name).write_bytes(text.encode())
    assert dict(read(tmp_path / name, **options)) == expected


@pytest.mark.parametrize(
    ("name", "content", "options", "facts"),
    [
        ("a.jsonl", '{"a": 1}\n\n[1, 2]\n', {}, ["row 3", "[1, 2]"]),
        ("a.json", '[{"a": 1}, {"a": 1]', {}, ["JSON"]),
        ("a.json", "1", {}, [" 1"]),
        ("a.json", '[{"a": 1}, "b"]', {}, ["row 2", "'b'"]),
        ("a.json", '[["1"]]', XY, ["row 1", " 1", "columns names 2"]),
        ("a.csv", "a,b\n1,2\n1,2,3\n", {}, ["row 2", " 3", " 2"]),
        ("a.tsv", 'a\tb\n"Yes," he said.\tx\n', {}, ["row 1", "quoting false"]),
        ("a.csv", "a,b,a\n1,2,3\n", {}, ["'a', 'b', 'a'"]),
        ("a.tsv", 'p\th\tl\nA\t"B c\tx\nD\te"\ty\nF\tG\tz\n', {}, ["row 1", "lines", "quoting false"]),
        ("a.tsv", 'a\tb\nx\t"To be\ny\tor not\nz\t5 disks\n', {}, ["row 1", "quoting false"]),  # nothing is swallowed
        ("a.csv", "1,2,3\n", XY, ["row 1", " 3", "columns names 2"]),
        ("a.csv", "x,y\n1,2\n", XY, ["row 1", "header", "columns"]),
        *((name, text, {}, ["no rows"]) for name, text in {"a.csv": "a,b\n", "a.tsv": "a\tb", "a.json": "[]"}.items()),
        *[(f"a.{suffix}", "", {}, []) for suffix in (*SUFFIXES, "jsonl.gz")],
        ("a.jsonl", '{"a": "x"}\n{"a": "é"}\n'.encode("latin-1"), {}, ["UTF-8", "row 2"]),
        *(
            (f"a.{form}", "a\né".encode("latin-1"), {}, ["UTF-8", "0xe9", "cp1252", "iconv"])
            for form in ("csv", "tsv", "json")
        ),
        *((name, "a\n1\n", {}, SUFFIXES) for name in ("a.doc", "a", "a.csv.zip", "a.gz", "a.xlsx")),
    ],
)
def test_a_broken_file_is_named_with_the_row(
    tmp_path: Path, name: str, content: str | bytes, options: dict[str, Any], facts: list[str]
) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with refused(DataError, name, *facts):
        list(read(tmp_path / name, **options))


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz", "a.parquet"])
@pytest.mark.parametrize("start", [0, 0.5, 1])
def test_a_damaged_packed_file_is_refused(tmp_path: Path, name: str, start: float) -> None:
    content = write(tmp_path / name, [{"a": f"{i * 7919 % 10007} {i}"} for i in range(2000)]).read_bytes()
    k = int(start * (len(content) - 60))
    for damaged in (content[:k], content[:k] + bytes(60) + content[k + 60 :]):
        (tmp_path / name).write_bytes(damaged)
        with refused(DataError, name):
            list(read(tmp_path / name))


def test_a_data_set_is_read_through_its_transform() -> None:
    made = datasets.Dataset.from_list([{"a": text, "b": 1} for text in ("x", "y", "z")])
    shown = made.with_transform(lambda batch: {"A": [text.upper() for text in batch["a"]]})
    for held in (shown, {"train": shown}):
        assert list(Source(held).rows(Split("train"))[1]) == [(1, {"A": "X"}), (2, {"A": "Y"}), (3, {"A": "Z"})]
    assert list(Source(made.with_format("numpy")).rows(Split("train"))[1])[2] == (3, {"a": "z", "b": 1})


@pytest.mark.parametrize("value", ["half \ud83d", ["whole", "half \ud83d"], {"half \ud83d": ["a"]}])
@pytest.mark.parametrize("kind", ["list", "frame", "jsonl", "json"])
def test_half_a_character_is_refused_with_its_row(tmp_path: Path, kind: str, value: Any) -> None:
    rows = [{"a": "\U0001f600", "b": 1}, {"a": value, "b": 2}]
    held: Any = pd.DataFrame(rows, dtype=object) if kind == "frame" else rows
    if kind in ("jsonl", "json"):
        held = tmp_path / f"a.{kind}"
        held.write_text("\n".join(map(json.dumps, rows)) if kind == "jsonl" else json.dumps(rows))
    with refused(DataError, "row 2", "column a", "half \\ud83d"):
        list(Source(held).rows(Split("train"))[1])
    heedful_rows = [{"text": "a", "group": f"g{i}\ud83d", "label": i % 2} for i in range(2)]
    with refused(DataError, "row 1", "column group"):
        heedful.measure(lambda inputs: [0 for _ in inputs], heedful_rows, ["text"], cluster="group")


def test_what_cannot_be_opened_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "b.csv").mkdir()
    pq.write_table(pa.table({"a": pa.array([], pa.string())}), tmp_path / "a.parquet")
    for name, *facts in (("a.csv",), ("b.csv", "directory"), ("a.parquet", "no rows")):
        with refused(DataError, name, *facts):
            list(read(tmp_path / name))
    (tmp_path / "a.csv").write_text("a\n1\n")
    monkeypatch.setattr("builtins.open", Mock(side_effect=PermissionError(13, "Permission denied")))
    with refused(DataError, "a.csv", "Permission denied"):
        list(read(tmp_path / "a.csv"))


def test_files_are_read_row_by_row_and_parquet_batch_by_batch(tmp_path: Path) -> None:
    for name, text in [("a.jsonl", '{"a": "1"}\n{"a": \n'), ("a.csv", "a,b\n1,2\n3\n")]:
        (tmp_path / name).write_text(text)
        rows = read(tmp_path / name)
        assert next(rows)[0] == 1
        with refused(DataError, name, "row 2"):
            next(rows)
    pq.write_table(pa.table({"a": [f"{i} " * 100 for i in range(50_000)]}), tmp_path / "a.parquet", row_group_size=5000)
    before = pa.total_allocated_bytes()
    rows = read(tmp_path / "a.parquet")
    assert next(rows)[1]["a"].startswith("0 0")
    assert pa.total_allocated_bytes() - before < 10 * 2**20  # of 30 MB
    rows.close()


@given(texts=st.lists(TEXT, min_size=3, max_size=6), form=st.sampled_from(["csv", "tsv", "jsonl"]), cut=st.integers(1))
def test_a_file_that_ends_early_gives_its_first_rows_or_is_refused(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], form: str, cut: int
) -> None:
    rows = [{"a": text, "b": f"{i}"} for i, text in enumerate(texts)]
    path = write(tmp_path_factory.getbasetemp() / f"a.{form}", rows, lineterminator="\r\n")
    content = path.read_bytes()
    path.write_bytes(content[: cut % len(content)])
    found, message = [], path.name
    try:
        for _, columns in read(path):
            found.append(columns)
    except DataError as error:
        message = str(error)
    assert path.name in message
    assert found[:-1] == rows[: max(0, len(found) - 1)]  # the last may have lost its end


# paths within data files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder beside a secret, with a picture and with links to both."""
    data = tmp_path / "data"
    (data / "images").mkdir(parents=True)
    (data / "images" / "a b.png").touch()
    (tmp_path / "data-secret").mkdir()
    (tmp_path / "data-secret" / "key").touch()
    (data / "out").symlink_to(tmp_path / "data-secret")
    (data / "key.png").symlink_to("../data-secret/key")
    (data / "picture.png").symlink_to("images/a b.png")
    (data / "circle").symlink_to("circle")
    (tmp_path / "link").symlink_to(data)
    return data


@pytest.mark.parametrize("path", ["images/a b.png", "./images/../images/a b.png", "picture.png", "images/none yet.png"])
def test_paths_inside_the_folder_are_followed(folder: Path, path: str) -> None:
    assert inside(folder, path) == inside(folder.parent / "link", path) == (folder / path).resolve()
    assert inside(folder, path).is_relative_to(folder)


@pytest.mark.parametrize(
    "path",
    [
        *"..  ../data-secret/key  images/../../data-secret/key  /etc/passwd  //etc/passwd  out/key  key.png".split(),
        *("", ".", "images/..", "a\0.png", "circle/a.png", None, 3, ["a"], b"a"),
    ],
)
def test_paths_that_leave_the_folder_are_refused(folder: Path, path: Any) -> None:
    with refused(DataError, folder, brief(path)):
        inside(folder, path)


NLI = {"name": "own", "parts": {name: name for name in NAMES[:2]}, "labels": {"yes": [1], "no": [0]}}
HEADER = ",".join(NAMES) + "\n"
PLAIN = HEADER + "a,b,yes\nc,d,no\n"
PLAIN_ROWS = [("a", "b", "yes"), ("c", "d", "no")]
OPEN_QUOTE = HEADER + 'a,b,yes\n"c,d,no\ne,f,yes\n'
LONG = "x" * 300_000
GAP = 20_000  # rows before the first text of a column


def rows(labels: Sequence[Any] = (1, 0), **more: Any) -> list[dict[str, Any]]:
    return [{"premise": f"p{i}", "hypothesis": "h", "label": label} | more for i, label in enumerate(labels)]


def lines(held: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in held)


def labelled(*labels: str) -> list[tuple[str, str, str]]:
    return [(f"p{i}", "h", label) for i, label in enumerate(labels)]


def zst(text: str) -> bytes:
    return pa.compress(text.encode(), codec="zstd", asbytes=True)


FRAME = pd.DataFrame(rows())
CATEGORIES = pd.DataFrame(PLAIN_ROWS, columns=NAMES).astype("category")
# what it is: (name of a file or None for rows in memory, content, settings, examples or the facts of a DataError)
FILES: dict[str, tuple[str | None, Any, dict[str, Any], list[Any]]] = {
    "BOM": ("a.csv", "\ufeff" + PLAIN, {}, PLAIN_ROWS),
    "BOM, no header": ("a.csv", "\ufeff" + PLAIN.removeprefix(HEADER), {"columns": NAMES}, PLAIN_ROWS),
    "BOM, jsonl": ("a.jsonl", "\ufeff" + lines(rows()), {}, labelled("yes", "no")),
    "BOM, json": ("a.json", "\ufeff" + json.dumps(rows()), {}, labelled("yes", "no")),
    "an open quote": ("a.csv", OPEN_QUOTE, {}, ["a.csv, row 2", "data.quoting false"]),
    "an open quote, a character": ("a.csv", OPEN_QUOTE, NO_QUOTES, [*PLAIN_ROWS[:1], ('"c', "d", "no"), "..."]),
    "a long field": ("a.csv", f"{HEADER}{LONG},b,yes\n", {}, [(LONG, "b", "yes")]),
    "labels of types, frame": (None, pd.DataFrame(rows([1, "1", 1.0])), {}, labelled("yes", "yes", "yes")),
    "true among numbers": ("a.jsonl", lines(rows([1, True])), {}, ["a.jsonl, row 2", "True", "data.labels"]),
    "-1 alone": ("a.jsonl", lines(rows([-1, -1])), {}, ["a.jsonl", "2 without", "data.label null"]),
    "null, then text, frame": (None, pd.DataFrame([*rows([1] * GAP, n=None), *rows([0], n="t")]), {}, [GAP + 1]),
    "frame, NaN text": (None, FRAME.assign(premise=["a", np.nan]), {}, ["the frame, row 2", "'premise'", "Fill it in"]),
    "dictionary columns in memory": (None, pa.Table.from_pandas(CATEGORIES), {}, PLAIN_ROWS),
    "torch": (None, datasets.Dataset.from_list(rows()).with_format("torch"), {}, labelled("yes", "no")),
    "zst": ("a.csv.zst", zst(PLAIN), {}, PLAIN_ROWS),
    "zst, cut": ("a.csv.zst", zst(PLAIN)[:-9], {}, ["a.csv.zst", "row 0", "whole copy"]),
    "blanks in the header": (
        "a.csv",
        PLAIN.replace(",h", ", h"),
        {},
        ["row 1", "premise, ' hypothesis', label. Do you"],
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_works_or_is_refused_by_its_row(case: str, tmp_path: Path) -> None:
    name, content, settings, expected = FILES[case]
    if name is not None:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        content = str(tmp_path / name)
    data = PairedText(**NLI | settings, path=content)
    if isinstance(expected[0], str):
        with refused(DataError, *expected):
            data.setup("validate")
        return
    data.setup("validate")
    found = [(*example.parts.values(), example.label) for example in data.pool]
    if expected[-1] == "...":
        assert set(expected[:-1]) < set(found)
    else:
        assert len(found) == expected[0] if isinstance(expected[0], int) else sorted(found) == sorted(expected)


def test_the_advice_about_quotes_works_in_measure(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "".join(f'"p{i},h{i % 5},{"yes" if i % 2 else "no"}\n' for i in range(30)))
    with refused(DataError, "row 1", "quoting=3"):
        heedful.measure(lambda inputs: ["yes"] * len(inputs), tmp_path / "a.csv", NAMES[:2])
    rows = pd.read_csv(tmp_path / "a.csv", quoting=3)
    result = heedful.measure(lambda inputs: ["yes"] * len(inputs), rows, NAMES[:2])
    assert next(value for key, value in result.numbers.items() if key.family == "accuracy")["n"] == 30


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt", "jsonl", "json"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "utf-8"])
def test_the_first_bytes_determine_the_encoding(tmp_path, suffix, encoding):
    rows = [{"a": "é ж 犬", "b": "1"}, {"a": "y", "b": "2"}]
    delimiter = "," if suffix in ("csv", "txt") else "\t"
    text = "\n".join(delimiter.join(fields) for fields in (rows[0], *(row.values() for row in rows)))
    if suffix.startswith("json"):
        text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (tmp_path / f"a.{suffix}").write_bytes(text.encode(encoding))
    assert [columns for _, columns in read(tmp_path / f"a.{suffix}")] == rows


@pytest.mark.parametrize("content", ["a\né\n".encode() + b"caf\xe9\n", "a\nbé\n".encode("utf-16")[:-3]])
def test_damaged_texts_get_no_advice_about_encodings(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match="whole copy") as error:
        list(read(tmp_path / "a.csv"))
    assert "cp1252" not in str(error.value)
