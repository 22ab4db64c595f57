"""A folder belongs to one process, as long as that lives."""

import errno
import fcntl
import os
import signal
import time
from pathlib import Path

import pytest

from heedful.records import HeedfulError, RunError
from heedful.records.storage.claim import LOCK, claim, release

from forked import in_child
from refusals import refused, refused_output


@pytest.fixture(autouse=True)
def _nothing_is_kept():
    yield
    release()


def test_two_processes_cannot_have_one_folder(tmp_path):
    claim(tmp_path / "run", "--output run")
    claim(tmp_path / "run", "--output run")  # this process has it
    status, message = in_child(lambda: claim(tmp_path / "run", "--output run"))
    assert status == 1
    refused_output(message, "output run", f"process {os.getpid()} on ")
    assert in_child(lambda: claim(tmp_path / "other", "--output other")) == (0, "")
    release()
    assert in_child(lambda: claim(tmp_path / "run", "--output run")) == (0, "")


def test_of_many_that_start_together_one_gets_it(tmp_path):
    (go, start), (told, tell), (held, let_go) = os.pipe(), os.pipe(), os.pipe()
    children = []
    for _ in range(8):
        children.append(os.fork())
        if not children[-1]:
            os.close(start)
            os.close(let_go)
            os.read(go, 1)  # until the parent closes the other end
            try:
                claim(tmp_path / "a" / "b", "x")
                os.write(tell, b"1")
            except HeedfulError:
                os.write(tell, b"0")
            os.read(held, 1)  # all keep what they have until each has tried
            os._exit(0)
    os.close(start)
    results = b"".join(os.read(told, 1) for _ in children)
    os.close(let_go)
    for child in children:
        os.waitpid(child, 0)
    assert sorted(results) == sorted(b"1" + b"0" * 7)


def test_a_killed_process_leaves_nothing_that_stops_the_next_even_while_its_children_live(tmp_path):
    read, write = os.pipe()
    owner = os.fork()
    if not owner:
        claim(tmp_path / "run", "x")
        worker = os.fork()
        if not worker:
            time.sleep(60)
            os._exit(0)
        os.write(write, str(worker).encode())
        time.sleep(60)
    worker = int(os.read(read, 20))
    try:
        with refused(RunError, f"process {owner} on "):
            claim(tmp_path / "run", "x")
        os.kill(owner, signal.SIGKILL)
        os.waitpid(owner, 0)
        claim(tmp_path / "run", "x")
    finally:
        os.kill(worker, signal.SIGKILL)


def test_what_was_made_goes_and_what_was_there_or_holds_something_stays(tmp_path):
    claim(tmp_path / "a" / "b", "x")
    (tmp_path / "there").mkdir()
    claim(tmp_path / "there", "x")
    claim(tmp_path / "c" / "d", "x")
    (tmp_path / "c" / "file").touch()
    assert (tmp_path / "a" / "b" / LOCK).is_file()
    release()
    assert sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")) == ["c", "c/file", "there"]
    release()


def test_a_folder_that_was_removed_and_made_again_is_claimed_again(tmp_path):
    claim(tmp_path / "run", "x")
    (tmp_path / "run" / LOCK).unlink()
    (tmp_path / "run").rmdir()
    claim(tmp_path / "run", "x")
    assert in_child(lambda: claim(tmp_path / "run", "x"))[0] == 1


@pytest.mark.parametrize("below", ["", "/b", "/b/c"])
def test_a_file_is_not_a_folder(tmp_path, below):
    (tmp_path / "file").touch()
    with refused(RunError, f"output f{below}: {tmp_path}/file "):
        claim(Path(f"{tmp_path}/file{below}"), f"--output f{below}")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOSPC])
@pytest.mark.parametrize("where", ["mkdir", "open"])
def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path, monkeypatch, where, number):
    def refuse(*args, **kwargs):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(*((Path, "mkdir") if where == "mkdir" else (os, "open")), refuse)
    with refused(RunError, "output x", os.strerror(number)):
        claim(tmp_path / "x" / "y", "--output x")
    monkeypatch.undo()
    assert not list(tmp_path.iterdir())


def test_without_locks_a_word_is_said(tmp_path, monkeypatch, capsys):
    def unsupported(handle, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    claim(tmp_path, "x")
    assert (
        capsys.readouterr().err == f"{tmp_path}: no locks (No locks available), so let no other process write there.\n"
    )
