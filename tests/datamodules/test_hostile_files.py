"""Files made to fill a memory or to hide rows are refused in one sentence, and soon."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heedful.datamodules.sources import arrow_files, readers, values
from heedful.datamodules.sources.arrow_files import weight
from heedful.datamodules.sources.hub_and_local import Local
from heedful.datamodules.sources.readers import read

from refusals import refused

MIB = 2**20


@pytest.fixture
def bounded() -> Iterator[None]:
    """Arrow takes no more than 512 MiB at any moment of the test (or than it took before)."""
    pool = pa.default_memory_pool()
    before = pool.max_memory()
    yield
    assert pool.max_memory() <= max(before, 512 * MIB)


def refuses(path: Path, code: str, *facts: str) -> None:
    with refused(code, path.name, *facts):
        for _ in read(path):
            pass


def repeated(text: str, times: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), pa.array([text]))


def lists(text: str, times: int) -> pa.Array:
    """One row with a list of the same text."""
    return pa.ListArray.from_arrays([0, times], repeated(text, times))


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("stored", [True, False])
def test_one_long_text_for_many_rows_is_not_written_out(tmp_path: Path, stored: bool) -> None:
    """1.4 kB that want 40 GB."""
    table = pa.table({"a": repeated("x" * 10 * MIB, 4096)})
    pq.write_table(table, path := tmp_path / "a.parquet", compression="zstd", store_schema=stored)
    assert path.stat().st_size < 5000
    refuses(path, "too-large", "1,024 MiB", "200 times")


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("kind", ["list", "struct", "map"])
def test_one_long_text_within_lists_is_not_written_out(tmp_path: Path, kind: str) -> None:
    text = lists("x" * 8 * MIB, 2000)
    if kind == "struct":
        text = pa.StructArray.from_arrays([text], ["deep"])
    if kind == "map":
        text = pa.MapArray.from_arrays([0, 2000], pa.array(range(2000)), repeated("x" * 8 * MIB, 2000))
    pq.write_table(pa.table({"a": text}), path := tmp_path / "a.parquet", compression="zstd", store_schema=False)
    refuses(path, "too-large", "200 times")


def test_rows_without_end_are_seen_in_the_footer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_files, "most_unpacked", lambda path: values.most_unpacked(path, MIB))
    monkeypatch.setattr(arrow_files, "_rows_at_a_time", None)  # nothing is unpacked
    pq.write_table(pa.table({"a": pa.repeat(7, 4 * MIB)}), tmp_path / "a.parquet")
    refuses(tmp_path / "a.parquet", "too-large", "200 times")


def test_a_row_that_is_larger_than_a_line_may_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_files, "LONGEST_LINE", 1000)
    pq.write_table(pa.table({"a": ["x", "x" * 900, "x" * 1100]}), tmp_path / "a.parquet")
    refuses(tmp_path / "a.parquet", "too-large", "row 3")


@pytest.mark.parametrize(
    ("rows", "least"),
    [
        (pa.array(["a" * 100] * 10), 1000),
        (repeated("a" * 100, 10), 1000),
        (pa.array([["a" * 100] * 10]), 1000),
        (lists("a" * 100, 10), 1000),
        (pa.array([[("k", "b" * 500)], [("k", "a" * 100)] * 10], pa.map_("str", "str")).slice(1), 1000),
        (pa.StructArray.from_arrays([repeated("a" * 100, 10)], ["x"]), 1000),
        (pa.RunEndEncodedArray.from_arrays([10], ["a" * 100]), 1000),
        (pa.array(["a" * 100] * 10, pa.string_view()), 1000),
        (pa.array(range(10)), 80),
        (pa.nulls(10), 0),
        (pa.DictionaryArray.from_arrays([0] * 10, pa.array([1.5])), 80),
    ],
)
def test_weight_counts_what_is_shared_as_often_as_it_is_read(rows: pa.Array, least: int) -> None:
    assert least <= weight(rows) <= 1.5 * least + 200


SOUND = {
    "kinds": {"a": pa.array(["x"] * 5000).dictionary_encode(), "b": pa.array([[["y"]]] * 5000), "c": pa.nulls(5000)},
    "long": {"a": repeated("é" * 100_000, 3000), "b": pa.array(range(3000))},
    "maps": {"a": pa.array([[("k", "v" * 9)]] * 100, pa.map_("str", "str")), "b": pa.array([b"\0\1"] * 100)},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_sound_files_of_any_kind_are_read_as_arrow_reads_them(tmp_path: Path, name: str) -> None:
    table = pa.table(SOUND[name])
    pq.write_table(table, tmp_path / "a.parquet", store_schema=False)
    for i, (row, columns) in enumerate(read(tmp_path / "a.parquet")):
        assert row == i + 1
        assert columns == table.slice(i, 1).to_pylist()[0]
    assert row == len(table)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz"])
def test_rows_without_end_in_a_small_file_are_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "UNPACKED", MIB // 4)
    monkeypatch.setattr(readers, "most_unpacked", lambda path, least=MIB // 4: values.most_unpacked(path, least))
    line = b'{"a": 1}\n' if "json" in name else b"1\n"
    with gzip.open(tmp_path / name, "wb") as file:
        file.write((b"" if "json" in name else b"a\n") + line * 200_000)
    refuses(tmp_path / name, "too-large", "MiB", "200 times")


def test_a_json_list_is_bounded_by_what_it_unpacks_to(tmp_path: Path) -> None:
    """Half a megabyte that parses to gigabytes."""
    with gzip.open(tmp_path / "a.json.gz", "wb", compresslevel=9) as file:
        file.write(b"[")
        for _ in range(20):
            file.write(b"{}," * (MIB // 3))
        file.write(b"{}]")
    refuses(tmp_path / "a.json.gz", "too-large", "16 MiB")


def test_text_that_compresses_well_is_read(tmp_path: Path) -> None:
    rows = [{"a": f"the same text again {i}"} for i in range(30_000)]
    for name, text in (("a.json.gz", json.dumps(rows)), ("a.jsonl.gz", "\n".join(map(json.dumps, rows)))):
        with gzip.open(tmp_path / name, "wt") as file:
            file.write(text)
        assert [columns for _, columns in read(tmp_path / name)] == rows


NULS = {
    "a.csv": (b"a,b\n1,2\nx\0\0,3\n4,5\n", "bad-text", "row 2"),
    "b.csv": (b"a,b\n1,2\n3,\0\n", "bad-text", "row 2"),
    "c.csv": (b"a\0,b\n1,2\n", "bad-text", "header"),
    "d.csv": (b'a,b\n1,"2\n\n\0"\n', "bad-text", "row 1"),
    "a.tsv": (b"a\tb\n1\t2\n3\t4\0\n", "bad-text", "row 2"),
    "a.jsonl": (b'{"a": "1"}\n{"a": "x\\u0000y"}\n', "bad-text", "row 2: the column 'a'"),
    "b.jsonl": (b'{"a": "1"}\n{"a": [{"b": "\\u0000"}]}\n', "bad-text", "row 2: the column 'a'"),
    "c.jsonl": (b'{"a": "1"}\n{"a": 1, "\\u0000": 2}\n', "bad-text", "row 2: the column '\\x00'"),
    "d.jsonl": (b'{"a": "1"}\n{"a": "\0"}\n', "damaged-file", "row 2"),
    "a.json": (b'[{"a": "1"}, {"a": "\\u0000"}]', "bad-text", "row 2: the column 'a'"),
}


@pytest.mark.parametrize("name", NULS)
def test_nul_is_not_text_in_any_format(tmp_path: Path, name: str) -> None:
    content, code, place = NULS[name]
    (tmp_path / name).write_bytes(content)
    refuses(tmp_path / name, code, place, *["NUL"] * (code == "bad-text"))


def test_nul_is_not_text_in_parquet_and_in_saved_data_sets(tmp_path: Path) -> None:
    import datasets

    table = {"picture": [b"\0", b"\0"], "a": ["x", "y\0"]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    refuses(tmp_path / "a.parquet", "bad-text", "row 2", "'a'", "NUL")
    datasets.Dataset.from_dict(table).save_to_disk(tmp_path / "saved")
    with refused("bad-text", "row 2", "'a'", "NUL"):
        list(Local(tmp_path / "saved").rows("train", ())[1])


@pytest.mark.parametrize("text", ['{"a": 1}', '{"a": 1}\n', '\n{"a": 1}\n', '{\n  "a": 1\n}\n', '[{"a": 1}]'])
def test_one_object_is_one_row(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert list(read(tmp_path / "a.json")) == [(1, {"a": 1})]
