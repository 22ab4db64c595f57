"""Files are whole or absent, and JSON is strict."""

import errno
import gc
import os
import pickle
import tempfile

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import DataError, RunError, Spool, atomic_path, read_json, write_json, writing

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


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_json_cannot_say_is_refused_and_the_old_file_stays(tmp_path, number):
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})
    with pytest.raises(ValueError):
        write_json(path, {"deep": [{"inside": number}]})
    assert read_json(path) == {"old": 1}
    assert list(tmp_path.iterdir()) == [path]


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


def test_only_errors_about_the_written_path_are_converted(tmp_path):
    for below in ("a/none/b", ".a.temporary/b"):
        with refused(RunError, tmp_path / "a", os.strerror(errno.ENOENT)), writing(tmp_path / "a"):
            (tmp_path / below).touch()
    for path in (tmp_path / "x" / "a", tmp_path / "a"):
        with pytest.raises(FileNotFoundError), writing(path):
            (tmp_path / "none" / "b").touch()


@pytest.mark.parametrize(
    "error",
    [
        ConnectionError("refused"),
        TimeoutError(errno.ETIMEDOUT, "timed out"),
        OSError("the tokenizer cannot be loaded"),
        OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)),
        DataError(f"b.csv cannot be read: {os.strerror(errno.EACCES)}."),
    ],
)
def test_errors_that_are_not_about_files_are_raised_as_they_are(tmp_path, error):
    with pytest.raises(type(error)) as raised, atomic_path(tmp_path / "a"):
        raise error
    assert raised.value is error


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
