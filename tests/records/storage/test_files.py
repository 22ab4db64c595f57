"""Files are whole or absent, and JSON is strict."""

import errno
import gc
import json
import os
import pickle
import tempfile

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import DataError, RunError, Spool, atomic_path, open_file, read_json, write_json

from refusals import refused


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
    with refused(DataError, tmp_path / "gone.json"):
        read_json(tmp_path / "gone.json")


@pytest.mark.parametrize("content", [b"", b'{"a": 1', b"{'a': 1}", b"\xff\xfe", b"{} {}"])
def test_what_is_no_json_is_named(tmp_path, content):
    (tmp_path / "bad.json").write_bytes(content)
    with refused(DataError, tmp_path / "bad.json"):
        read_json(tmp_path / "bad.json")


def test_a_path_through_a_file_or_to_a_folder_is_named(tmp_path):
    (tmp_path / "results.json").write_text(json.dumps({}))
    for path in (tmp_path / "results.json" / "results.json", tmp_path):  # a file given as a run folder, and a folder
        with refused(DataError, path):
            read_json(path)


@pytest.mark.parametrize("name", ["a\0b", "x" * 300])
def test_a_name_that_no_file_can_have_is_named(tmp_path, name):
    with refused(DataError, "config x"):
        open_file(tmp_path / name, "--config x")


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    write_json(tmp_path / "a.json", {})
    monkeypatch.setattr("builtins.open", refuse)
    with refused(DataError, tmp_path / "a.json", os.strerror(errno.EACCES)):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES])
@pytest.mark.parametrize("how", ["in its words", "behind it"])
def test_a_library_that_hides_the_fault_of_the_disk_is_seen_through(tmp_path, number, how):
    """As safetensors does, and torch."""
    with refused(RunError, tmp_path / "a", os.strerror(number)), atomic_path(tmp_path / "a"):
        if how == "in its words":
            raise RuntimeError(f"I/O error: {os.strerror(number)} (os error {number})")
        try:
            raise OSError(number, os.strerror(number))
        except OSError as error:
            raise RuntimeError("unexpected pos 704 vs 598") from error
    assert not list(tmp_path.iterdir())


def test_without_a_folder_for_temporary_files_a_spool_says_so(monkeypatch):
    def refuse(**kwargs):
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with refused(RunError, "/tmp", "TMPDIR"):
        Spool(pa.schema([]))


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


FULL = RunError, tempfile.gettempdir(), os.strerror(errno.ENOSPC), "TMPDIR"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="only Linux has a file that is always full")
@pytest.mark.parametrize("length", [1, 100_000], ids=["within a buffer", "beyond a buffer"])
def test_a_full_disk_is_one_sentence(monkeypatch, length):
    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: open("/dev/full", "rb+"))  # noqa: SIM115
    spool = Spool(pa.schema([("a", pa.string())]))
    with refused(*FULL):
        spool.write(pa.table({"a": ["x" * length]}))
    with refused(*FULL):
        Spool(pa.schema([("a", pa.string())])).finish()


def test_a_disk_that_is_full_when_the_spool_is_finished_is_one_sentence(monkeypatch):
    class Full:
        def close(self):
            raise OSError(errno.ENOSPC, "No space left on device")

    spool = Spool(pa.schema([("a", pa.string())]))
    monkeypatch.setattr(spool, "_writer", Full())
    with refused(*FULL):
        spool.finish()
