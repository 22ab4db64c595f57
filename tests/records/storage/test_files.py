"""Files are whole or absent, and JSON is strict."""

import errno
import gc
import json
import os
import pickle
import re
import tempfile

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import HeedfulError, Spool, atomic_path, read_json, write_json


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("before", [None, "old"])
def test_an_exception_leaves_what_was_there_and_no_temporary_file(tmp_path, error, before):
    path = tmp_path / "file.txt"
    if before is not None:
        path.write_text(before)
    with pytest.raises(error), atomic_path(path) as temporary:  # noqa: PT012
        temporary.write_text("half of the n")
        raise error
    assert [f.name for f in tmp_path.iterdir()] == ([] if before is None else ["file.txt"])
    assert before is None or path.read_text() == before


def test_until_the_end_a_reader_sees_the_old_file(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert temporary.parent == path.parent
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_made_as_needed(tmp_path):
    with atomic_path(str(tmp_path / "a" / "b" / "file.txt")) as temporary:
        temporary.write_text("text")
    assert (tmp_path / "a" / "b" / "file.txt").read_text() == "text"


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_the_file_has_the_permissions_of_any_new_file(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_json(tmp_path / "a.json", {})
        assert os.umask(umask) == umask  # writing left it alone
    finally:
        os.umask(before)
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o666 & ~umask


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(values)
def test_json_round_trip(tmp_path_factory, value):
    path = tmp_path_factory.mktemp("json") / "value.json"
    write_json(path, value)
    assert read_json(path) == value


def test_json_is_sorted_readable_and_ends_in_a_newline(tmp_path):
    write_json(tmp_path / "a.json", {"b": 1, "a": {"d": "é", "c": 2}})
    write_json(tmp_path / "b.json", {"a": {"c": 2, "d": "é"}, "b": 1})
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert text == '{\n  "a": {\n    "c": 2,\n    "d": "é"\n  },\n  "b": 1\n}\n'
    assert (tmp_path / "b.json").read_bytes() == (tmp_path / "a.json").read_bytes()


def test_floats_keep_every_bit(tmp_path):
    numbers = [0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0]
    write_json(tmp_path / "a.json", numbers)
    assert [x.hex() for x in read_json(tmp_path / "a.json")] == [x.hex() for x in numbers]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_json_cannot_say_is_refused_and_the_old_file_stays(tmp_path, number):
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})
    with pytest.raises(ValueError):
        write_json(path, {"deep": [{"inside": number}]})
    assert read_json(path) == {"old": 1}
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(HeedfulError, match="gone.json does not exist"):
        read_json(tmp_path / "gone.json")


@pytest.mark.parametrize("content", [b"", b'{"a": 1', b"{'a': 1}", b"\xff\xfe", b"{} {}"])
def test_what_is_no_json_is_named(tmp_path, content):
    (tmp_path / "bad.json").write_bytes(content)
    with pytest.raises(HeedfulError, match="bad.json is not valid JSON"):
        read_json(tmp_path / "bad.json")


def test_a_path_through_a_file_or_to_a_folder_is_named(tmp_path):
    (tmp_path / "results.json").write_text(json.dumps({}))
    for path in (tmp_path / "results.json" / "results.json", tmp_path):  # a file given as a run folder, and a folder
        with pytest.raises(HeedfulError, match=path.name):
            read_json(path)


def test_a_spool_gives_back_what_was_written_and_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table = pa.table({"a": ["x", None, "y"]})
    spool = Spool(table.schema)
    spool.write(table)
    spool.write(table.slice(1))
    assert spool.finish().to_pydict() == {"a": ["x", None, "y", None, "y"]}
    assert not list(tmp_path.iterdir())
    assert Spool(table.schema).finish().num_rows == 0


def test_a_table_outlives_its_spool_and_other_processes_read_it():
    table = pa.table({"a": [str(i) for i in range(9)]})
    spool = Spool(table.schema)
    for start in range(0, 9, 3):
        spool.write(table.slice(start, 3))
    found = spool.finish()
    del spool
    gc.collect()
    child = os.fork()
    if not child:
        os._exit(0 if found.equals(table) and pickle.loads(pickle.dumps(found)).equals(table) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert found.equals(table)
    assert pickle.loads(pickle.dumps(found)).equals(table)


def test_a_process_forked_while_a_spool_is_open_does_not_disturb_it():
    table = pa.table({"a": ["x", "y"]})
    spool = Spool(table.schema)
    spool.write(table)
    child = os.fork()
    if not child:
        del spool
        gc.collect()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    spool.write(table)
    assert spool.finish().to_pydict() == {"a": ["x", "y", "x", "y"]}


def test_what_is_spooled_takes_no_memory_of_the_process():
    table = pa.table({"a": ["x" * 1000] * 1000})
    spool = Spool(table.schema)
    spool.write(table)
    before = pa.total_allocated_bytes()
    found = spool.finish()
    assert found.nbytes > 1_000_000
    assert pa.total_allocated_bytes() - before < 100_000


FULL = f"^{re.escape(tempfile.gettempdir())}: No space left on device; let TMPDIR name a folder with more room.$"


@pytest.mark.parametrize("length", [1, 100_000], ids=["within a buffer", "beyond a buffer"])
def test_a_full_disk_is_one_sentence(monkeypatch, length):
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: open("/dev/full", "rb+"))  # noqa: SIM115
    spool = Spool(pa.schema([("a", pa.string())]))
    with pytest.raises(HeedfulError, match=FULL):
        spool.write(pa.table({"a": ["x" * length]}))
    with pytest.raises(HeedfulError, match=FULL):
        Spool(pa.schema([("a", pa.string())])).finish()


def test_a_disk_that_is_full_when_the_spool_is_finished_is_one_sentence(monkeypatch):
    class Full:
        def close(self):
            raise OSError(errno.ENOSPC, "No space left on device")

    spool = Spool(pa.schema([("a", pa.string())]))
    monkeypatch.setattr(spool, "_writer", Full())
    with pytest.raises(HeedfulError, match=FULL):
        spool.finish()
