"""Many requests at once: each is sent once, and what fails is survived or named."""

import threading
import time
from collections import Counter
from contextlib import contextmanager

import pytest

from heedful.lightning_modules.prompted.requests import asker as module
from heedful.lightning_modules.prompted.requests.answers import Answers, key_of
from heedful.lightning_modules.prompted.requests.asker import Asker
from heedful.lightning_modules.prompted.requests.meter import Meter
from heedful.lightning_modules.prompted.requests.reply import Reply, Request
from heedful.lightning_modules.prompted.requests.server import Refused, Unusable
from heedful.records import ModelError

from refusals import refused


def requests(*names: str) -> list[Request]:
    return [Request("http://here", "/x", "written", {"prompt": name}) for name in names]


class Sent:
    """Answers with the prompt itself, or as ``first`` says at the first time; counts what it is asked."""

    def __init__(self, first=None):
        self.counts, self.first, self.lock = Counter(), first or {}, threading.Lock()
        self.now = self.most = 0

    def __call__(self, request):
        name = request.body["prompt"]
        with self.lock:
            self.counts[name] += 1
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.002)
        with self.lock:
            self.now -= 1
        told = self.first.get(name)
        if callable(told):
            told = told(self.counts[name])
        if isinstance(told, Exception):
            raise told
        return Reply(name, read=3, wrote=1) if told is None else told


@pytest.fixture
def ask(tmp_path):
    """Makes askers, one for each command, that share a file."""

    def make(send, concurrency=2, run="run", meter=None, **settings):
        return Asker(send, Answers(tmp_path / "a.sqlite"), concurrency, meter or Meter("m"), run, **settings)

    return make


def test_equal_requests_are_sent_once_and_a_second_time_never(ask):
    sent = Sent()
    asker = ask(sent, 3)
    names = ["a", "b", "a", "c", "d", "e", "b"]
    assert [reply.text for reply in asker.replies(requests(*names))] == names
    assert set(sent.counts.values()) == {1}
    assert 1 < sent.most <= 3
    again = ask(Sent({name: ModelError("Never. Look at the log of the server.") for name in names}), 3, "other")
    assert [reply.text for reply in again.replies(requests(*names))] == names
    assert again.meter.requests == 0
    again.replies(requests(*names))  # which were counted
    assert (asker.reused, again.reused) == (0, 5)


def test_a_repeat_is_another_request(ask):
    sent = Sent()
    (first,) = requests("a")
    ask(sent).replies([first, Request(first.url, first.path, first.way, first.body, 1)])
    assert sent.counts == {"a": 2}


def test_an_answer_that_cannot_be_read_is_asked_for_again(ask):
    sent = Sent({"a": lambda n: Unusable("nonsense") if n < 4 else Reply("yes"), "b": lambda n: Reply("" * n)})
    asker = ask(sent)
    assert [reply.text for reply in asker.replies(requests("a", "b"))] == ["yes", ""]
    assert sent.counts == {"a": 4, "b": 2}
    assert asker.meter.requests == 6
    asker = ask(Sent({"c": Unusable("nonsense")}))
    with refused(ModelError, "http://here/x", "4 times", "nonsense", "read", "answers so far are kept"):
        asker.replies(requests("c"))


def test_another_command_asks_anew_where_an_answer_is_empty(ask):
    """The same does not: an empty answer is asked for twice in all."""
    empty = Sent({"a": Reply("")})
    for _ in range(2):
        assert [reply.text for reply in ask(empty).replies(requests("a", "b"))] == ["", "b"]
    assert empty.counts == {"a": 2, "b": 1}
    mended = Sent()
    asker = ask(mended, run="other")
    assert len(asker.saved(requests("a", "b"))) == 1
    assert [reply.text for reply in asker.replies(requests("a", "b"))] == ["a", "b"]
    assert len(asker.saved(requests("a", "b", "b"))) == 2
    assert mended.counts == {"a": 1}
    assert (asker.reused, asker.meter.requests) == (1, 1)


def test_what_fails_leaves_the_other_answers(ask, monkeypatch):
    monkeypatch.setattr(module, "GRACE", 1.0)
    sent = Sent({"c": ModelError("No. Look at the log of the server."), "d": ValueError("a secret")})
    with refused(ModelError, "No."):
        ask(sent, 4).replies(requests("a", "b", "c", "e"))
    assert all(sent.counts[name] == 1 for name in "abe")
    healthy = Sent()
    assert [r.text for r in ask(healthy, 4).replies(requests("a", "b", "c", "e"))] == list("abce")
    assert healthy.counts == {"c": 1}
    with refused(ModelError, "http://here/x", "ValueError", "answers so far are kept") as caught:
        ask(sent).replies(requests("d"))
    assert "secret" not in str(caught.value)


def test_a_command_stops_before_it_sends_too_much(ask):
    sent = Sent({"z": lambda n: Reply("")})
    asker = ask(sent, most=3)
    with refused(ModelError, "max_requests 3", "answers so far are kept"):
        asker.replies(requests(*"abcde"))
    with refused(ModelError, "max_requests 3"):
        asker.replies(requests("e"))
    assert [r.text for r in asker.replies(requests("a", "c"))] == ["a", "c"]
    assert sent.counts.total() == 3
    assert sorted(r.text for r in ask(sent).replies(requests(*"abcde"))) == list("abcde")
    assert sent.counts == Counter("abcde")
    with refused(ModelError, "max_requests 1"):  # an empty answer would be asked for once more
        ask(sent, most=1).replies(requests("z"))
    assert sent.counts["z"] == 1
    with refused(ModelError, "max_requests 0"):
        ask(sent, most=0).replies(requests("y"))
    assert not sent.counts["y"]


@pytest.mark.parametrize("end", ["SIGTERM", "Ctrl-C"])
def test_what_is_on_its_way_when_a_run_is_stopped_is_kept_and_nothing_is_made_up(ask, monkeypatch, end):
    class Interrupting(Meter):
        """A meter whose line is where Ctrl-C comes."""

        @contextmanager
        def running(self):
            def tick():
                if sent.counts:
                    raise KeyboardInterrupt

            yield tick

    names = [f"{i}" for i in range(200)]
    sent = Sent()
    if end == "SIGTERM":
        monkeypatch.setattr(module.stopping, "requested", lambda: bool(sent.counts))
        replies = ask(sent, 4).replies(requests(*names))
        assert None in replies
        assert [name for name, reply in zip(names, replies, strict=True) if reply] == sorted(sent.counts, key=int)
        assert all(reply is None or reply.text == name for name, reply in zip(names, replies, strict=True))
        monkeypatch.undo()
    else:
        with pytest.raises(KeyboardInterrupt):
            ask(sent, 4, meter=Interrupting("m")).replies(requests(*names))
    assert 0 < sent.counts.total() < 200
    assert [reply.text for reply in ask(sent, 4).replies(requests(*names))] == names
    assert set(sent.counts.values()) == {1}


def test_the_tokens_of_each_try_are_paid_for(ask):
    sent = Sent({"a": lambda n: Reply("" if n == 1 else "yes", read=10, wrote=2), "b": Reply(read=10, wrote=2)})
    asker = ask(sent)
    replies = asker.replies(requests("a", "b", "c"))
    assert [(reply.read, reply.wrote) for reply in replies] == [(20, 4), (20, 4), (3, 1)]
    assert (asker.meter.requests, asker.meter.read, asker.meter.wrote) == (5, 43, 9)


def test_who_waits_hears_now_and_then_that_requests_are_on_their_way(ask, monkeypatch):
    monkeypatch.setattr(module, "BEAT", 0.0)
    beats = []
    ask(Sent(), beat=lambda: beats.append(1)).replies(requests(*"abc"))
    assert beats
    beats.clear()
    ask(Sent(), beat=lambda: beats.append(1)).replies(requests(*"abc"))
    assert beats  # where all answers are there, too


def test_many_short_batches_are_a_minute_together(ask, monkeypatch):
    """Else whoever waits would hear nothing of an evaluation of an hour, each of whose batches takes a second."""
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    beats = []
    asker = ask(Sent(), beat=lambda: beats.append(now[0]))
    asker.replies(requests("a"))
    for second in range(1, 151):
        now[0] = float(second)
        asker.replies(requests("a"))
    assert beats == [61, 122]


def test_the_answer_that_another_command_brought_first_is_that_of_both(ask):
    """Else the file and the rows of a run would differ."""
    sent = Sent({"a": lambda n: ask(Sent({"a": Reply("first")}), run="other").replies(requests("a"))[0] and None})
    (reply,) = ask(sent).replies(requests("a"))
    assert (reply.text, reply.run) == ("first", "other")


def test_what_the_server_refuses_is_sent_once_in_a_command(ask):
    sent = Sent({"a": Refused("HTTP 400")})
    for _ in range(2):
        assert [r.refusal for r in ask(sent).replies(requests("a", "b"))] == ["HTTP 400", ""]
    assert sent.counts == {"a": 1, "b": 1}
    mended = Sent()
    asker = ask(mended, run="other")
    assert [r.text for r in asker.replies(requests("a", "b"))] == ["a", "b"]
    assert mended.counts == {"a": 1}


def test_an_answer_of_another_version_is_refused(ask, tmp_path):
    (request,) = requests("a")
    Answers(tmp_path / "a.sqlite").put(key_of(request.text), request.text, '{"answer": "yes"}')
    with refused(ModelError, "a.sqlite", "this version"):
        ask(Sent()).replies([request])
