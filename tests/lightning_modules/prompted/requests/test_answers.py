"""The file of answers: who asks, who waits, and what is counted."""

import os
import signal
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.lightning_modules.prompted.requests import answers as module
from heedful.lightning_modules.prompted.requests.answers import LEASE, Answers, Totals, key_of, sealed
from heedful.records import HeedfulError


class Clock:
    """A time that a test sets."""

    now = 1e9

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def two(tmp_path: Path, clock: Clock) -> tuple[Answers, Answers]:
    """Two processes of a run."""
    return Answers(tmp_path / "a.sqlite", "run", clock), Answers(tmp_path / "a.sqlite", "run", clock)


def test_who_claims_first_asks_and_the_other_waits(two):
    first, second = two
    assert first.claim({"k": "K", "l": "L"}) == ({}, ["k", "l"], False)
    assert second.claim({"k": "K", "m": "M"}) == ({}, ["m"], False)
    first.put("k", '"yes"', 10, 2)
    assert second.claim({"k": "K", "m": "M"}) == ({"k": '"yes"'}, [], False)
    assert second.totals() == first.totals() == Totals(1, 10, 2)


def test_a_claim_that_nobody_renews_is_taken_over(two, clock):
    first, second = two
    first.claim({"k": "K"})
    clock.now += LEASE - 1
    first.renew(["k"])
    clock.now += LEASE - 1
    assert second.claim({"k": "K"}).mine == []
    clock.now += 2
    assert second.claim({"k": "K"}).mine == ["k"]
    assert first.claim({"k": "K"}).mine == []
    second.put("k", '"yes"')
    assert first.totals().requests == 2  # it was sent twice


def test_a_claim_that_is_released_is_free_at_once(two):
    first, second = two
    first.claim({"k": "K", "l": "L"})
    second.release(["l"])  # which is not its own
    first.release(["k"])
    assert second.claim({"k": "K", "l": "L"}).mine == ["k"]


def test_the_claims_of_a_process_that_was_killed_are_free_at_once(tmp_path):
    child = os.fork()
    if not child:
        Answers(tmp_path / "a.sqlite", "dead").claim({"k": "K"})
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert Answers(tmp_path / "a.sqlite", "run").claim({"k": "K"}).mine == ["k"]


def test_a_run_sends_no_more_than_it_may(two):
    first, second = two
    assert first.claim({"k": "K", "l": "L"}, 3).mine == ["k", "l"]
    assert second.claim({"m": "M", "n": "N"}, 3) == ({}, ["m"], True)
    assert second.claim({"n": "N"}, 3) == ({}, [], True)
    assert not second.again("m", 3)
    assert second.again("m", 4)
    second.put("m", '"yes"')
    assert first.totals().requests == 2
    assert first.claim({"n": "N"}, 4) == ({}, [], True)


def test_another_run_counts_for_itself(tmp_path):
    first, second = (Answers(tmp_path / "a.sqlite", run) for run in ("first", "second"))
    first.claim({"k": "K", "l": "L"})
    first.put("k", '"yes"', 5, 1)
    first.release(["l"])
    assert second.claim({"k": "K", "l": "L"}) == ({"k": '"yes"'}, ["l"], False)
    assert (first.totals(), second.totals()) == (Totals(1, 5, 1), Totals(0, 0, 0))
    assert second.claim({"m": "M"}, 1).over


@given(st.lists(st.sampled_from("abcdef"), min_size=1), st.integers(1, 3))
def test_many_keys_in_small_statements(keys, at_once):
    """As a dict that one process fills and reads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AT_ONCE", at_once)
        answers, reference = Answers(":memory:", "run"), {}
        for i, key in enumerate(keys):
            claimed = answers.claim({key: key.upper()})
            assert (claimed.answers, claimed.mine) == (({key: reference[key]}, []) if key in reference else ({}, [key]))
            if key not in reference:
                reference[key] = str(i)
                answers.put(key, str(i))
        assert answers.get("abcdef") == reference
        answers.close()


def test_a_file_of_something_else_is_named(tmp_path):
    path = tmp_path / "a.sqlite"
    path.write_bytes(b"SQLite format 3\x00" + bytes(range(256)) * 40)
    with pytest.raises(HeedfulError, match=r"cache .*a\.sqlite is damaged, or not an SQLite file \(.*\): move it away"):
        Answers(path, "run")
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE answers (x)")
    other.close()
    with pytest.raises(HeedfulError, match=r"a\.sqlite is not a file of answers of this version of Heedful"):
        Answers(path, "run")
    with pytest.raises(HeedfulError, match="cannot be used"):
        Answers(tmp_path, "run")


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "a.sqlite"
    answers = Answers(path, "run")
    answers.claim({str(i): "x" * 500 for i in range(200)})
    answers.close()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(HeedfulError, match=r"a\.sqlite is damaged"):
        Answers(path, "run").get([str(i) for i in range(200)])


def test_keys_tell_any_difference():
    assert key_of("a") == key_of("a") != key_of("b")
    assert len(key_of("\ud800")) == 64


def test_an_answer_that_one_process_forgets_is_forgotten_by_all(tmp_path, two):
    """Else the second process of a run would take what the first has dropped."""
    old = Answers(tmp_path / "a.sqlite", "earlier")
    old.claim({"k": "K", "l": "L"})
    old.put("k", '""')
    first, second = two
    assert first.get(["k"]) == second.get(["k"]) == {"k": '""'}
    assert (first.forget(["k"]), second.forget(["k"])) == ({"k"}, {"k"})
    first.claim({"k": "K"})
    first.put("k", '"yes"')
    assert second.forget(["k"]) == set()


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
    with pytest.raises(HeedfulError, match="is not a file of answers of this version of Heedful: name another file"):
        Answers(path, "run")
    assert of_folder(tmp_path) == before


def test_a_file_of_others_that_is_in_use_stays_in_its_journal_mode(tmp_path):
    path = tmp_path / "foreign.db"
    other = sqlite3.connect(path)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE notes (x)")
    other.commit()
    content = path.read_bytes()
    with pytest.raises(HeedfulError, match="is not a file of answers"):
        Answers(path, "run")
    assert path.read_bytes() == content
    other.close()


def test_a_file_of_ours_that_is_in_use_is_shared(tmp_path):
    first = Answers(tmp_path / "a.sqlite", "run")
    first.claim({"k": "K"})
    first.put("k", '"yes"')
    assert Answers(tmp_path / "a.sqlite", "run").get(["k"]) == {"k": '"yes"'}


@pytest.mark.parametrize("kept", [sealed("k", '"no"')[:17] + '"yes"', sealed("l", '"yes"'), '"yes"'])
def test_an_answer_that_is_not_the_one_that_was_kept_is_refused(tmp_path, kept):
    answers = Answers(tmp_path / "a.sqlite", "run")
    answers.claim({"k": "K"})
    answers.put("k", '"no"')
    with sqlite3.connect(tmp_path / "a.sqlite") as file:
        file.execute("UPDATE answers SET answer = ?", (kept,))
    file.close()
    for get in (lambda: answers.get(["k"]), lambda: answers.claim({"k": "K"})):
        with pytest.raises(HeedfulError, match=r"a\.sqlite is damaged: the answer to the request k is not the one"):
            get()


def test_answers_of_an_earlier_version_have_no_checksum(tmp_path):
    answers = Answers(tmp_path / "a.sqlite", "run")
    answers.claim({"k": "K", "l": "L"})
    answers.put("k", '"no"')
    answers.close()
    with sqlite3.connect(tmp_path / "a.sqlite") as file:
        file.execute("UPDATE answers SET answer = ? WHERE key = 'k'", ('"no"',))
        file.execute("PRAGMA user_version = 1")
    file.close()
    old = Answers(tmp_path / "a.sqlite", "run")
    old.put("l", '"yes"')
    assert old.get("kl") == {"k": '"no"', "l": '"yes"'}


def test_a_file_that_another_process_is_making_is_no_foreign_file(tmp_path, clock, monkeypatch):
    path = tmp_path / "a.sqlite"
    begun = sqlite3.connect(path)
    begun.execute("PRAGMA journal_mode = WAL")  # the first thing that is written into a new file
    others = []

    class Watched(sqlite3.Connection):
        def execute(self, sql, *arguments):
            rows = super().execute(sql, *arguments)
            if "application_id" in sql and not others:
                others.append(None)
                others.append(Answers(path, "run", clock))  # between two reads of what is in the file
            return rows

    connect = sqlite3.connect
    monkeypatch.setattr(module.sqlite3, "connect", lambda *given, **named: connect(*given, **named, factory=Watched))
    assert Answers(path, "run", clock).claim({"k": "K"}).mine == ["k"]
    assert len(others) == 2
    begun.close()
