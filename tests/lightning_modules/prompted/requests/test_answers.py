"""The file of answers: what is kept, by several commands at once too, and what is refused."""

import os
import signal
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.lightning_modules.prompted.requests import answers as module
from heedful.lightning_modules.prompted.requests.answers import Answers, key_of, sealed
from heedful.records import ModelError, RunError

from refusals import refused


@pytest.fixture
def two(tmp_path: Path) -> tuple[Answers, Answers]:
    """Two commands with one file."""
    return Answers(tmp_path / "a.sqlite"), Answers(tmp_path / "a.sqlite")


def test_of_two_commands_that_ask_the_same_both_get_the_answer_that_came_first(two):
    first, second = two
    assert first.put("k", "K", '"yes"') == '"yes"'
    assert second.put("k", "K", '"no"') == '"yes"'
    assert first.get("kl") == second.get("kl") == {"k": '"yes"'}


def test_what_is_forgotten_is_the_answer_that_was_read_and_no_later_one(two):
    first, second = two
    first.put("k", "K", '""')
    read = first.get("k"), second.get("k")
    first.forget(read[0])
    assert first.get("k") == {}
    assert first.put("k", "K", '"yes"') == '"yes"'
    second.forget(read[1])
    assert second.get("k") == {"k": '"yes"'}


def test_several_commands_that_write_at_once_lose_nothing(tmp_path):
    """Each has a process of its own, and one of them is killed in between."""
    path = tmp_path / "a.sqlite"
    children = []
    for child in range(3):
        children.append(os.fork())
        if not children[-1]:
            try:
                answers = Answers(path)
                for i in range(child, 150 + child):
                    answers.put(key_of(str(i)), str(i), f'"{i}"')
                if child == 1:
                    os.kill(os.getpid(), signal.SIGKILL)
            finally:
                os._exit(0)
    for pid in children:
        os.waitpid(pid, 0)
    keys = {key_of(str(i)): f'"{i}"' for i in range(152)}
    assert Answers(path).get(keys) == keys
    with sqlite3.connect(path) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    file.close()


@given(st.lists(st.sampled_from("abcdef"), min_size=1), st.integers(1, 3))
def test_many_keys_in_small_statements(keys, at_once):
    """As a dict that one process fills and reads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AT_ONCE", at_once)
        answers, reference = Answers(":memory:"), {}
        for i, key in enumerate(keys):
            assert answers.put(key, key.upper(), str(i)) == reference.setdefault(key, str(i))
        assert answers.get("abcdef") == reference
        answers.close()


def test_a_file_of_something_else_is_named(tmp_path):
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"SQLite format 3\x00" + bytes(range(256)) * 40)
    with refused(ModelError, "cache", "a.sqlite"):
        Answers(path)
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE answers (x)")
    other.close()
    with refused(ModelError, "a.sqlite", "this version"):
        Answers(path)
    for place in (tmp_path, path / "b.sqlite"):
        with refused(RunError, f"cache {place}"):
            Answers(place)


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "a.sqlite"
    answers = Answers(path)
    for i in range(200):
        answers.put(str(i), "x" * 500, str(i))
    answers.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with refused(ModelError, "a.sqlite"):
        Answers(path).get([str(i) for i in range(200)])


def test_keys_tell_any_difference():
    assert key_of("a") == key_of("a") != key_of("b")
    assert len(key_of("\ud800")) == 64


def of_folder(folder):
    """The bytes of each file, and its time."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
@pytest.mark.parametrize("tables", [True, False])
def test_a_file_of_others_stays_as_it_is(tmp_path, journal, tables):
    path = tmp_path / "foreign #1?.db"
    with sqlite3.connect(path) as other:
        other.execute(f"PRAGMA journal_mode = {journal}")
        other.execute("PRAGMA application_id = 7")
        if tables:
            other.execute("CREATE TABLE notes (x)")
            other.execute("INSERT INTO notes VALUES (1)")
    other.close()
    before = of_folder(tmp_path)
    with refused(ModelError, "foreign #1?.db", "this version"):
        Answers(path)
    assert of_folder(tmp_path) == before


def test_a_file_of_others_that_is_in_use_stays_in_its_journal_mode(tmp_path):
    path = tmp_path / "foreign.db"
    other = sqlite3.connect(path)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE notes (x)")
    other.commit()
    content = path.read_bytes()
    with refused(ModelError, "foreign.db", "this version"):
        Answers(path)
    assert path.read_bytes() == content
    other.close()


def test_a_file_of_ours_that_is_in_use_is_shared(tmp_path):
    first = Answers(tmp_path / "a.sqlite")
    first.put("k", "K", '"yes"')
    assert Answers(tmp_path / "a.sqlite").get(["k"]) == {"k": '"yes"'}


@pytest.mark.parametrize("kept", [sealed("k", '"no"')[:17] + '"yes"', sealed("l", '"yes"'), '"yes"'])
def test_an_answer_that_is_not_the_one_that_was_kept_is_refused(tmp_path, kept):
    answers = Answers(tmp_path / "a.sqlite")
    answers.put("k", "K", '"no"')
    with sqlite3.connect(tmp_path / "a.sqlite") as file:
        file.execute("UPDATE answers SET answer = ?", (kept,))
    file.close()
    with refused(ModelError, "a.sqlite", "the request k "):
        answers.get(["k"])


CLAIMED = """
CREATE TABLE answers (key TEXT PRIMARY KEY, request TEXT NOT NULL, answer TEXT, run TEXT NOT NULL, holder TEXT NOT NULL,
until REAL NOT NULL, sent INTEGER NOT NULL, read INTEGER NOT NULL DEFAULT 0, wrote INTEGER NOT NULL DEFAULT 0)
"""


def earlier(path: Path, version: int, **kept: str | None) -> None:
    """Make a file as an earlier version did, with these answers by key."""
    with sqlite3.connect(path) as file:
        file.execute(CLAIMED)
        file.execute("CREATE INDEX of_run ON answers (run)")
        file.executemany("INSERT INTO answers VALUES (?, 'x', ?, 'run', 'host 1 2', 0, 1, 0, 0)", kept.items())
        file.execute(f"PRAGMA application_id = {module.OURS}")
        file.execute(f"PRAGMA user_version = {version}")
    file.close()


def test_a_file_of_an_earlier_version_is_taken_over_with_its_answers(tmp_path):
    kept = {"k": sealed("k", '"no"'), "l": sealed("l", '"yes"'), "asked": None}
    earlier(tmp_path / "two.sqlite", 2, **kept)
    earlier(tmp_path / "one.sqlite", 1, **kept | {"k": '"no"'})  # whose answers had no checksum at first
    for name in ("one", "two"):
        for _ in range(2):
            answers = Answers(tmp_path / f"{name}.sqlite")
            assert answers.get(["k", "l", "asked"]) == {"k": '"no"', "l": '"yes"'}
        assert answers.put("asked", "x", '"?"') == '"?"'
    earlier(tmp_path / "damaged.sqlite", 2, k='"no"')
    with refused(ModelError, "damaged.sqlite", "the request k "):
        Answers(tmp_path / "damaged.sqlite").get("k")


def test_a_file_that_another_process_is_making_is_no_foreign_file(tmp_path, monkeypatch):
    path = tmp_path / "a.sqlite"
    begun = sqlite3.connect(path)
    begun.execute("PRAGMA journal_mode = WAL")  # the first thing that is written into a new file
    others = []

    class Watched(sqlite3.Connection):
        def execute(self, sql, *arguments):
            rows = super().execute(sql, *arguments)
            if "application_id" in sql and not others:
                others.append(None)
                others.append(Answers(path))  # between two reads of what is in the file
            return rows

    connect = sqlite3.connect
    monkeypatch.setattr(module.sqlite3, "connect", lambda *given, **named: connect(*given, **named, factory=Watched))
    assert Answers(path).put("k", "K", '"yes"') == '"yes"'
    assert len(others) == 2
    begun.close()
