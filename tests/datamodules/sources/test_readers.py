"""Local files: what was written is read, and what is broken is named by file and row."""

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules.sources.readers import SUFFIXES, kind, read
from heedful.records import DataError, HeedfulError

from refusals import refused

ROWS = [
    {"premise": 'He said "stop", twice.', "hypothesis": "Two\nlines,\r\nor three.", "label": "0"},
    {"premise": "tab\there", "hypothesis": "line\u2028separator, next\x85line, form\x0cfeed", "label": "NA"},
    {"premise": "È vero — 100 % 🙂", "hypothesis": " spaces stay ", "label": "null"},
]
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


def write(path: Path, rows: list[dict], newline: str = "\n", encoding: str = "utf-8") -> Path:
    """Write rows in the format of the path's suffix, compressed where it ends in .gz."""
    form = kind(path)
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
        return path
    opened = gzip.open if path.name.endswith(".gz") else open
    with opened(path, "wt", encoding=encoding, newline="") as file:
        if form == "jsonl":
            file.writelines(json.dumps(row, ensure_ascii=False) + newline for row in rows)
        elif form == "json":
            json.dump(rows, file, ensure_ascii=False)
        else:
            delimiter = "\t" if form == "tsv" else ","
            writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter, lineterminator=newline)
            writer.writeheader()
            writer.writerows(rows)
    return path


def refuses(path: Path, error: type[HeedfulError], *facts: str, **options: Any) -> str:
    """The message with which a file is refused; it names the file."""
    with refused(error, path.name, *facts) as caught:
        list(read(path, **options))
    return str(caught.value)


@pytest.mark.parametrize("name", [*(f"a.{s}" for s in SUFFIXES), *(f"a.{s}.gz" for s in SUFFIXES if s != "parquet")])
def test_every_format_gives_back_the_rows_as_they_were(tmp_path: Path, name: str) -> None:
    """Quotes, line feeds inside fields, unicode line separators and texts like "NA" all stay as they are."""
    assert list(read(write(tmp_path / name, ROWS))) == list(enumerate(ROWS, 1))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl"])
@given(texts=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, suffix: str, texts: list[tuple[str, str]]) -> None:
    rows = [{"a": a, "b": b} for a, b in texts]
    path = write(tmp_path_factory.mktemp("any") / f"a.{suffix}", rows, newline="\r\n")
    assert [columns for _, columns in read(path)] == rows


def test_the_suffix_is_read_without_regard_to_case(tmp_path: Path) -> None:
    (tmp_path / "A.CSV").write_text("a,b\n1,2\n")
    assert list(read(tmp_path / "A.CSV")) == [(1, {"a": "1", "b": "2"})]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.parquet"])
def test_numbers_are_text_in_csv_and_numbers_elsewhere(tmp_path: Path, name: str) -> None:
    (_, row), *_ = read(write(tmp_path / name, [{"label": 1, "share": 0.5}]))
    assert row == ({"label": "1", "share": "0.5"} if "csv" in name else {"label": 1, "share": 0.5})


def test_types_of_parquet_and_json_are_kept(tmp_path: Path) -> None:
    rows = [{"label": -1, "gold": None, "list": ["a"], "flag": True}]
    for name in ("a.parquet", "a.json", "a.jsonl"):
        assert list(read(write(tmp_path / name, rows))) == [(1, rows[0])]


def test_a_last_line_without_a_line_feed_is_a_row(tmp_path: Path) -> None:
    for name, text in [("a.csv", "a\n1\n2"), ("a.jsonl", '{"a": "1"}\n{"a": "2"}')]:
        (tmp_path / name).write_text(text)
        assert list(read(tmp_path / name)) == [(1, {"a": "1"}), (2, {"a": "2"})]


def test_blank_lines_between_rows_are_passed_over_and_counted(tmp_path: Path) -> None:
    """A row number of a jsonl file is what an editor shows."""
    (tmp_path / "a.jsonl").write_text('{"a": 1}\n\n  \n{"a": 2}\n')
    (tmp_path / "a.csv").write_text("a\n1\n\n2\n")
    assert [row for row, _ in read(tmp_path / "a.jsonl")] == [1, 4]
    assert [row for row, _ in read(tmp_path / "a.csv")] == [1, 2]


def test_a_carriage_return_before_the_line_end_is_no_line_of_its_own(tmp_path: Path) -> None:
    """Some distributions end their lines in two carriage returns and a line feed."""
    (tmp_path / "a.jsonl").write_bytes(b'{"a": 1}\r\r\n{"a":\r 2}\r\r\n')
    assert list(read(tmp_path / "a.jsonl")) == [(1, {"a": 1}), (2, {"a": 2})]


def test_without_quoting_a_quote_is_a_character(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text('a\tb\n"open\t5" disk\n"Yes," he said.\tx\n')
    assert [columns for _, columns in read(path, quoting=False)] == [
        {"a": '"open', "b": '5" disk'},
        {"a": '"Yes," he said.', "b": "x"},
    ]


def test_a_file_is_read_row_by_row(tmp_path: Path) -> None:
    """Rows before a broken one are yielded before the error."""
    for name, text in [("a.jsonl", '{"a": "1"}\n{"a": \n'), ("a.csv", "a,b\n1,2\n3\n")]:
        (tmp_path / name).write_text(text)
        rows = read(tmp_path / name)
        assert next(rows)[0] == 1
        with refused(DataError if "json" in name else DataError, name, "row 2"):
            next(rows)


@pytest.mark.parametrize(
    ("name", "text", "error", "facts"),
    [
        ("a.jsonl", '{"a": 1}\n{"a": 1\n{"a": 1}\n', DataError, ["row 2"]),
        ("a.jsonl", '{"a": 1}\n{"a": 1} {"a": 2}\n', DataError, ["row 2"]),
        ("a.jsonl", '{"a": 1}\n\n[1, 2]\n', DataError, ["row 3", "[1, 2]"]),
        ("a.jsonl", '"text"\n', DataError, ["row 1", "'text'"]),
        ("a.json", '[{"a": 1}, {"a": 1]', DataError, ["JSON"]),
        ("a.json", '{"data": []}', DataError, ["no rows"]),
        ("a.json", "1", DataError, [" 1"]),
        ("a.json", '[{"a": 1}, "b"]', DataError, ["row 2", "'b'"]),
        ("a.json", '{"a": 1}\n{"a": 2\n', DataError, ["row 2"]),
        ("a.csv", "a,b\n1,2\n1,2,3\n", DataError, ["row 2", " 3", " 2"]),
        ("a.csv", "a,b\n1,2\n1\n", DataError, ["row 2", " 1", " 2"]),
        ("a.tsv", "a\tb\n1\t2\n\n1 2\n", DataError, ["row 2", " 1", " 2"]),
        ("a.tsv", 'a\tb\n"Yes," he said.\tx\n', DataError, ["row 1", "quoting false"]),
        ("a.csv", "a,b,a\n1,2,3\n", DataError, ["'a', 'b', 'a'"]),
        ("a.csv", "a,,b\n1,2,3\n", DataError, ["'a', '', 'b'"]),
        ("a.tsv", 'p\th\tl\nA\t"B c\tx\nD\te"\ty\nF\tG\tz\n', DataError, ["row 1", "lines", "quoting false"]),
        ("a.csv", ",,\n1,2,3\n", DataError, ["'', '', ''", "columns"]),
        ("a.csv", "\n\n", DataError, []),
        ("a.csv", "a,b\n", DataError, ["no rows"]),
        ("a.tsv", "a\tb", DataError, ["no rows"]),
        ("a.json", "[]", DataError, ["no rows"]),
        ("a.jsonl", "\n \n", DataError, ["no rows"]),
        *[(f"a.{suffix}", "", DataError, []) for suffix in SUFFIXES],
        ("a.jsonl.gz", "", DataError, []),
    ],
)
def test_broken_files_are_named_with_the_row(
    tmp_path: Path, name: str, text: str, error: type[HeedfulError], facts: list[str]
) -> None:
    (tmp_path / name).write_text(text)
    refuses(tmp_path / name, error, *facts)


@pytest.mark.parametrize(
    "text", ["\ta\tb\n0\t1\t2\n", "a\tb\t\t\n1\t2\tx\t\n", "\ta\tb\t\n0\t1\t2\t\n", "a\tb\n1\t2\n"]
)
def test_columns_without_a_name_are_left_out_at_the_ends(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.tsv").write_text(text)
    assert list(read(tmp_path / "a.tsv")) == [(1, {"a": "1", "b": "2"})]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json", "a.tsv", "a.csv.gz"])
def test_text_that_is_not_utf_8_is_refused(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, [{"a": "x"}, {"a": "é"}], encoding="latin-1")
    refuses(path, DataError, "UTF-8")


def test_the_row_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", [{"a": "x"}, {"a": "y"}, {"a": "é"}, {"a": "z"}], encoding="latin-1")
    refuses(path, DataError, "row 3")


def test_utf_16_is_refused(tmp_path: Path) -> None:
    refuses(write(tmp_path / "a.csv", ROWS, encoding="utf-16"), DataError, "UTF-8")


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz"])
@pytest.mark.parametrize("damage", ["cut", "header", "middle"])
def test_damaged_gzip_files_are_refused(tmp_path: Path, name: str, damage: str) -> None:
    path = write(tmp_path / name, [{"a": f"{i * 7919 % 10007} {i}"} for i in range(2000)])
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "header":
        content[:2] = b"{}"
    else:
        content[len(content) // 2 : len(content) // 2 + 64] = bytes(64)
    path.write_bytes(content)
    refuses(path, DataError)


@pytest.mark.parametrize("damage", ["cut", "magic", "page"])
def test_damaged_parquet_files_are_refused(tmp_path: Path, damage: str) -> None:
    path = write(tmp_path / "a.parquet", [{"a": f"{i * 7919 % 10007} {i}"} for i in range(2000)])
    content = bytearray(path.read_bytes())
    if damage == "cut":
        content = content[: len(content) // 2]
    elif damage == "magic":
        content[-4:] = b"PAR2"
    else:
        content[4:64] = bytes(60)
    path.write_bytes(content)
    refuses(path, DataError)


def test_a_parquet_file_without_rows_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([], pa.string())}), tmp_path / "a.parquet")
    refuses(tmp_path / "a.parquet", DataError, "no rows")


@pytest.mark.parametrize("name", ["a.doc", "a", "a.csv.zip", "a.gz", "a.xlsx"])
def test_other_suffixes_are_refused_with_the_list_of_known_ones(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a\n1\n")
    refuses(tmp_path / name, DataError, *SUFFIXES)


@pytest.mark.parametrize("name", [f"a.{suffix}" for suffix in SUFFIXES])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    refuses(tmp_path / name, DataError)


def test_a_folder_with_the_name_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    refuses(tmp_path / "a.csv", DataError, "folder")


# what would be lost or would fill the memory


def test_a_quote_that_does_not_close_does_not_swallow_rows(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('a\tb\nx\t"To be\ny\tor not\nz\t5 disks\n')
    refuses(tmp_path / "a.tsv", DataError, "row 1", "quoting false")
    assert "quoting" not in refuses(tmp_path / "a.tsv", DataError, header=("a", "b", "c"), quoting=False)


def test_quotes_inside_fields_are_characters(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text('a\tb\n5" disk\t"all of it"\n')
    assert list(read(tmp_path / "a.tsv")) == [(1, {"a": '5" disk', "b": "all of it"})]


def test_parquet_is_read_batch_by_batch(tmp_path: Path) -> None:
    """Of a file with 30 MB of text, the first row takes less than a tenth of it."""
    pq.write_table(pa.table({"a": [f"{i} " * 100 for i in range(50_000)]}), tmp_path / "a.parquet", row_group_size=5000)
    before = pa.total_allocated_bytes()
    rows = read(tmp_path / "a.parquet")
    assert next(rows)[1]["a"].startswith("0 0")
    assert pa.total_allocated_bytes() - before < 10 * 2**20
    rows.close()


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "a.csv").write_text("a\n1\n")
    monkeypatch.setattr("builtins.open", forbidden)
    refuses(tmp_path / "a.csv", DataError, "Permission denied")


HEADLESS = [(1, {"one": "A dog ran .", "two": "It ran .", "gold": "0"}), (2, {"one": "a", "two": "b", "gold": "1"})]


@pytest.mark.parametrize(("name", "by"), [("a.txt", "\t"), ("a.tsv", "\t"), ("a.csv", ",")])
def test_columns_may_be_named_where_no_header_does(tmp_path: Path, name: str, by: str) -> None:
    lines = [by.join(row.values()) for _, row in HEADLESS]
    (tmp_path / name).write_text("\n".join(lines) + "\n")
    assert list(read(tmp_path / name, header=("one", "two", "gold"))) == HEADLESS
    refuses(tmp_path / name, DataError, "row 1", " 3", "columns names 2", header=("one", "two"))
    (tmp_path / name).write_text("\n".join([by.join(("one", "two", "gold")), *lines]) + "\n")
    assert list(read(tmp_path / name)) == HEADLESS
    refuses(tmp_path / name, DataError, "row 1", "columns", header=("one", "two", "gold"))


def test_a_broken_row_of_a_file_without_a_header_has_its_number(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('a,b\n"c,d\n')
    refuses(tmp_path / "a.csv", DataError, "row 2", header=("x", "y"))
