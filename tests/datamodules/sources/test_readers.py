"""Local files: what was written is read, and what is broken is named by file and row."""

import csv
import gzip
import json
import os
import random
import re
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
from hypothesis import given, settings
from hypothesis import strategies as st

import heedful
from heedful.cli.measure import settings_of
from heedful.datamodules import PairedText
from heedful.datamodules.sources.readers import SUFFIXES, inside, kind, read
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
    frame, form = pd.DataFrame(rows), kind(path)
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
        ("a.jsonl", '{"a": "1"}\n{"a": "2"}', {}, {1: {"a": "1"}, 2: {"a": "2"}}),
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
        ("a.json", '{"data": []}', {}, ["no rows"]),
        ("a.json", "1", {}, [" 1"]),
        ("a.json", '[{"a": 1}, "b"]', {}, ["row 2", "'b'"]),
        ("a.json", '[["1"]]', XY, ["row 1", " 1", "columns names 2"]),
        ("a.csv", "a,b\n1,2\n1,2,3\n", {}, ["row 2", " 3", " 2"]),
        ("a.tsv", 'a\tb\n"Yes," he said.\tx\n', {}, ["row 1", "quoting false"]),
        ("a.csv", "a,b,a\n1,2,3\n", {}, ["'a', 'b', 'a'"]),
        ("a.csv", "a,,b\n1,2,3\n", {}, ["'a', '', 'b'"]),
        ("a.tsv", 'p\th\tl\nA\t"B c\tx\nD\te"\ty\nF\tG\tz\n', {}, ["row 1", "lines", "quoting false"]),
        ("a.tsv", 'a\tb\nx\t"To be\ny\tor not\nz\t5 disks\n', {}, ["row 1", "quoting false"]),  # nothing is swallowed
        ("a.csv", 'a,b\n"c,d\n', XY, ["row 2"]),
        ("a.csv", "1,2,3\n", XY, ["row 1", " 3", "columns names 2"]),
        ("a.csv", "x,y\n1,2\n", XY, ["row 1", "header", "columns"]),
        *((name, text, {}, ["no rows"]) for name, text in {"a.csv": "a,b\n", "a.tsv": "a\tb", "a.json": "[]"}.items()),
        *[(f"a.{suffix}", "", {}, []) for suffix in (*SUFFIXES, "jsonl.gz")],
        ("a.jsonl", '{"a": "x"}\n{"a": "é"}\n'.encode("latin-1"), {}, ["UTF-8", "row 2"]),
        *((f"a.{form}", "a\né".encode("latin-1"), {}, ["UTF-8"]) for form in ("csv", "tsv", "json")),
        ("a.csv", "a\n1\n".encode("utf-16"), {}, ["UTF-8"]),
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


# damaged files: each loads completely, or is refused in one line that names the file and the row

PIECES = ["\r\n", "a, b", *"A dog é 🙂 NA null None ' 0 \" \\ { } ; ,".split(), *" \n\u2028\x0c\x85"]
MARKS = b'",\t\n\r\0\\{}[]: \xff\x80\xed'
PLACE = re.compile(r"row \d+|line \d+|footer|header|not rows|not valid JSON|not UTF-8")
DAMAGES = dict.fromkeys(("byte", "insert", "cut"), "either") | {"ends": "loads"}
DAMAGES |= dict.fromkeys(("ragged", "latin-1", "nul"), "refused")  # and what must come of it


def pieces(form: str, rows: list[dict[str, str]], rng: random.Random) -> list[bytes]:
    """The header (csv, tsv) or nothing, and then each row, all with their line ends."""
    if form == "jsonl":
        return [b"", *(json.dumps(row, ensure_ascii=rng.random() < 0.5).encode() + b"\n" for row in rows)]
    how = {"sep": "\t" if form == "tsv" else ",", "quoting": rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])}
    lines = [pd.DataFrame([row]).to_csv(header=False, index=False, **how) for row in rows]
    return [line.encode() for line in (pd.DataFrame(columns=[*rows[0]]).to_csv(index=False, **how), *lines)]


def damaged(damage: str, lines: list[bytes], k: int, rng: random.Random) -> bytes:
    """A file of which a row, the ends of lines or the number of rows is not what it was."""
    line, head = lines[k], lines[0]
    at = rng.randrange(1, len(line) - 1)
    marks = bytes(rng.choices(MARKS, k=rng.randint(1, 2)))
    row = {
        "byte": line[:at] + rng.choice([marks, b""]) + line[at + 1 :],
        "insert": line[:at] + marks + line[at:],
        "cut": line[:at],
        "ragged": rng.choice([b"x\n", line[:-1] + b",\tx\n"] if head else [b"[]\n", b"1\n", b"null\n"]),
        "latin-1": line.replace("é".encode(), b"\xe9").replace(b"\\u00e9", b"\xe9"),
    }.get(damage, line)
    after = [] if damage == "cut" else lines[k + 1 :]
    whole = [*lines[:k], row, *after, *([bytes(rng.choice([1, 7, 4096]))] if damage == "nul" else [])]
    if damage == "ends":
        ends = [b"\n", b"\r\n", b"\n\n"]
        whole = [rng.choice([b"\xef\xbb\xbf", b""]), *(one[:-1] + rng.choice(ends) for one in whole if one)]
    return b"".join(whole)


@pytest.mark.slow
@settings(max_examples=int(os.environ.get("HEEDFUL_DAMAGED", 600)))
@given(
    rng=st.integers(0, 2**32).map(random.Random),
    damage=st.sampled_from([*DAMAGES]),
    form=st.sampled_from(["csv", "tsv", "jsonl"]),
)
def test_a_damaged_file_loads_completely_or_is_refused_by_name(
    tmp_path_factory: pytest.TempPathFactory, rng: random.Random, damage: str, form: str
) -> None:
    rows = [
        {"id": f"r{i}"} | {c: f"é{i} {''.join(rng.choices(PIECES, k=rng.randint(0, 12)))}." for c in NAMES[:2]}
        for i in range(rng.choice([3, 5, 30]))
    ]
    path, k = tmp_path_factory.getbasetemp() / f"a.{form}", rng.randrange(len(rows))
    path.write_bytes(damaged(damage, pieces(form, rows, rng), k + 1, rng))
    try:
        found = [columns for _, columns in read(path)]
    except DataError as error:
        message = str(error)
        assert DAMAGES[damage] != "loads", message
        assert message.isprintable()
        assert len(message) - len(str(path.parent)) < 400
        assert path.name in message
        assert PLACE.search(message.replace(path.name, "")), message
        return
    assert DAMAGES[damage] != "refused"
    intact = rows if damage == "ends" else rows[:k] + ([] if damage == "cut" else rows[k + 1 :])
    assert [row for row in found if row in intact] == intact
    assert len(found) - len(intact) in {"ends": (0,), "cut": (0, 1)}.get(damage, (1,))


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


TRUE = {"labels": {"yes": [1, True], "no": []}}
NOTHING = [("null", "NA", "yes"), ("nan", "None", "no")]
DATASET = datasets.Dataset.from_list(rows())
FRAME = pd.DataFrame(rows())
CATEGORIES = pd.DataFrame(PLAIN_ROWS, columns=NAMES).astype("category")
# what it is: (name of a file or None for rows in memory, content, settings, examples or the facts of a DataError)
FILES: dict[str, tuple[str | None, Any, dict[str, Any], list[Any]]] = {
    "BOM": ("a.csv", "\ufeff" + PLAIN, {}, PLAIN_ROWS),
    "BOM, a quoted header": ("a.csv", '\ufeff"premise",hypothesis,label\na,b,yes\n', {}, PLAIN_ROWS[:1]),
    "BOM, no header": ("a.csv", "\ufeff" + PLAIN.removeprefix(HEADER), {"columns": NAMES}, PLAIN_ROWS),
    "BOM, jsonl": ("a.jsonl", "\ufeff" + lines(rows()), {}, labelled("yes", "no")),
    "BOM, json": ("a.json", "\ufeff" + json.dumps(rows()), {}, labelled("yes", "no")),
    "CRLF, csv": ("a.csv", PLAIN.replace("\n", "\r\n"), {}, PLAIN_ROWS),
    "CRLF, tsv": ("a.tsv", PLAIN.replace("\n", "\r\n").replace(",", "\t"), {}, PLAIN_ROWS),
    "CRLF, jsonl": ("a.jsonl", lines(rows()).replace("\n", "\r\n"), {}, labelled("yes", "no")),
    "an open quote": ("a.csv", OPEN_QUOTE, {}, ["a.csv, row 2", "data.quoting false", "in measure, set quoting false"]),
    "an open quote, a character": ("a.csv", OPEN_QUOTE, NO_QUOTES, [*PLAIN_ROWS[:1], ('"c', "d", "no"), "..."]),
    "a long field": ("a.csv", f"{HEADER}{LONG},b,yes\n", {}, [(LONG, "b", "yes")]),
    "a long field in quotes": ("a.tsv", f'premise\thypothesis\tlabel\n"{LONG}"\tb\tyes\n', {}, [(LONG, "b", "yes")]),
    "U+2028": ("a.jsonl", lines([rows()[0] | {"premise": "a\u2028b"}]), {}, [("a\u2028b", "h", "yes")]),
    "labels of types": (None, rows([1, "1", 1.0]), {}, labelled("yes", "yes", "yes")),
    "labels of types, jsonl": ("a.jsonl", lines(rows([1, "1", 1.0])), {}, labelled("yes", "yes", "yes")),
    "labels of types, frame": (None, pd.DataFrame(rows([1, "1", 1.0])), {}, labelled("yes", "yes", "yes")),
    "true among numbers": ("a.jsonl", lines(rows([1, True])), {}, ["a.jsonl, row 2", "True", "data.labels"]),
    "true that is declared": ("a.jsonl", lines(rows([1, True])), TRUE, labelled("yes", "yes")),
    "-1 and null": ("a.jsonl", lines(rows([1, -1, None])), {}, labelled("yes")),
    "-1 alone": ("a.jsonl", lines(rows([-1, -1])), {}, ["a.jsonl", "2 without", "data.label null"]),
    "null, then text": ("a.jsonl", lines([*rows([1] * GAP, n=None), *rows([0], n="t")]), {"meta": ["n"]}, [GAP + 1]),
    "null, then text, frame": (None, pd.DataFrame([*rows([1] * GAP, n=None), *rows([0], n="t")]), {}, [GAP + 1]),
    "list-valued text": (None, rows(premise=["a", "b"]), {}, ["the list, row 1", "'premise'", "['a', 'b']"]),
    "texts like nothing": ("a.csv", HEADER + "null,NA,1\nnan,None,0\n", {}, NOTHING),
    "frame, NaN label": (None, pd.DataFrame(rows([1, np.nan])), {}, labelled("yes")),
    "frame, NaN text": (None, FRAME.assign(premise=["a", np.nan]), {}, ["the frame, row 2", "'premise'", "Fill it in"]),
    "dictionary columns": ("a.parquet", CATEGORIES.to_parquet(), {}, PLAIN_ROWS),
    "dictionary columns in memory": (None, pa.Table.from_pandas(CATEGORIES), {}, PLAIN_ROWS),
    "torch": (None, DATASET.with_format("torch"), {}, labelled("yes", "no")),
    "numpy": (None, DATASET.with_format("numpy"), {}, labelled("yes", "no")),
    "pandas": (None, DATASET.with_format("pandas"), {}, labelled("yes", "no")),
    "gz": ("a.csv.gz", gzip.compress(PLAIN.encode()), {}, PLAIN_ROWS),
    "zst": ("a.csv.zst", zst(PLAIN), {}, PLAIN_ROWS),
    "zst, jsonl": ("a.jsonl.zst", zst(lines(rows())), {}, labelled("yes", "no")),
    "zst, cut": ("a.csv.zst", zst(PLAIN)[:-9], {}, ["a.csv.zst", "row 0", "whole copy"]),
    "zst, nothing of it": ("a.csv.zst", PLAIN, {}, ["a.csv.zst", "row 0", "whole copy"]),
    "blanks in the header": (
        "a.csv",
        PLAIN.replace(",h", ", h"),
        {},
        ["row 1", "premise, ' hypothesis', label. Do you"],
    ),
    "tabs in a csv file": ("a.csv", PLAIN.replace(",", "\t"), {}, ["a.csv", "by tabs in tsv"]),
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
    with refused(DataError, "row 1", "in measure, set quoting false"):
        heedful.measure(lambda inputs: ["yes"] * len(inputs), tmp_path / "a.csv", NAMES[:2])
    result = heedful.measure(lambda inputs: ["yes"] * len(inputs), tmp_path / "a.csv", NAMES[:2], quoting=False)
    assert settings_of({"quoting": "false"}, ["quoting"]) == {"quoting": False}
    assert next(value for key, value in result.numbers.items() if key.family == "accuracy")["n"] == 30
