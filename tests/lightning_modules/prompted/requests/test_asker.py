"""Many requests at once: each is sent once, and what fails is survived or named."""

import threading
import time
from collections import Counter
from contextlib import contextmanager

import pytest

from heedful.lightning_modules.prompted.requests import asker as module
from heedful.lightning_modules.prompted.requests.answers import Answers
from heedful.lightning_modules.prompted.requests.asker import Asker
from heedful.lightning_modules.prompted.requests.reply import Reply, Request
from heedful.lightning_modules.prompted.requests.server import Refused, Unusable
from heedful.records import HeedfulError


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
def answers(tmp_path):
    return Answers(tmp_path / "a.sqlite", "run")


def test_equal_requests_are_sent_once_and_a_second_time_never(answers, tmp_path):
    sent = Sent()
    asker = Asker(sent, answers, 3)
    names = ["a", "b", "a", "c", "d", "e", "b"]
    assert [reply.text for reply in asker.replies(requests(*names))] == names
    assert set(sent.counts.values()) == {1}
    assert 1 < sent.most <= 3
    again = Asker(Sent({name: HeedfulError("never") for name in names}), Answers(tmp_path / "a.sqlite", "other"), 3)
    assert [reply.text for reply in again.replies(requests(*names))] == names
    assert again.answers.totals().requests == 0
    again.replies(requests(*names))  # which were counted
    assert (asker.reused, again.reused) == (0, 5)


def test_a_repeat_is_another_request(answers):
    sent = Sent()
    (first,) = requests("a")
    Asker(sent, answers, 3).replies([first, Request(first.url, first.path, first.way, first.body, 1)])
    assert sent.counts == {"a": 2}


def test_two_processes_send_nothing_twice(answers, tmp_path):
    sent, names = Sent(), [f"{i}" for i in range(40)]
    results = {}

    def process(number):
        asker = Asker(sent, Answers(tmp_path / "a.sqlite", "run"), 2)
        results[number] = [r.text for start in range(0, 40, 8) for r in asker.replies(requests(*names)[start:][:8])]

    threads = [threading.Thread(target=process, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == dict.fromkeys(range(3), names)
    assert sent.counts == Counter(names)


def test_an_answer_that_cannot_be_read_is_asked_for_again(answers):
    sent = Sent({"a": lambda n: Unusable("nonsense") if n < 4 else Reply("yes"), "b": lambda n: Reply("" * n)})
    asker = Asker(sent, answers, 2)
    assert [reply.text for reply in asker.replies(requests("a", "b"))] == ["yes", ""]
    assert sent.counts == {"a": 4, "b": 2}
    assert answers.totals().requests == 6
    asker = Asker(Sent({"c": Unusable("nonsense")}), answers, 2)
    with pytest.raises(HeedfulError, match=r"^http://here/x sent, 4 times: nonsense\. The answers so far are kept"):
        asker.replies(requests("c"))


def test_another_run_asks_anew_where_an_answer_is_empty(answers, tmp_path):
    """The same run does not: an empty answer is asked for twice in all."""
    empty = Sent({"a": Reply("")})
    for _ in range(2):
        assert [reply.text for reply in Asker(empty, answers, 2).replies(requests("a", "b"))] == ["", "b"]
    assert empty.counts == {"a": 2, "b": 1}
    mended, other = Sent(), Answers(tmp_path / "a.sqlite", "other")
    asker = Asker(mended, other, 2)
    assert len(asker.saved(requests("a", "b"))) == 1
    assert [reply.text for reply in asker.replies(requests("a", "b"))] == ["a", "b"]
    assert len(asker.saved(requests("a", "b", "b"))) == 2
    assert mended.counts == {"a": 1}
    assert (asker.reused, other.totals().requests) == (1, 1)


def test_what_fails_leaves_the_other_answers(answers, monkeypatch):
    monkeypatch.setattr(module, "GRACE", 1.0)
    sent = Sent({"c": HeedfulError("no"), "d": ValueError("a secret")})
    with pytest.raises(HeedfulError, match="^no$"):
        Asker(sent, answers, 4).replies(requests("a", "b", "c", "e"))
    assert all(sent.counts[name] == 1 for name in "abe")
    healthy = Sent()
    assert [r.text for r in Asker(healthy, answers, 4).replies(requests("a", "b", "c", "e"))] == list("abce")
    assert healthy.counts == {"c": 1}
    with pytest.raises(HeedfulError, match=r"^http://here/x: ValueError\. The answers"):
        Asker(sent, answers, 4).replies(requests("d"))


def test_a_run_stops_before_it_sends_too_much(answers):
    sent = Sent({"z": lambda n: Reply("")})
    asker = Asker(sent, answers, 2, most=3)
    with pytest.raises(
        HeedfulError, match=r"^max_requests 3: so many requests were sent, and more are needed\. The ans"
    ):
        asker.replies(requests(*"abcde"))
    assert sent.counts.total() == 3
    assert sorted(r.text for r in Asker(sent, answers, 2).replies(requests(*"abcde"))) == list("abcde")
    assert sent.counts == Counter("abcde")
    with pytest.raises(HeedfulError, match="max_requests 6"):  # an empty answer would be asked for once more
        Asker(sent, answers, 2, most=6).replies(requests("z"))
    assert sent.counts["z"] == 1


@pytest.mark.parametrize("end", ["SIGTERM", "Ctrl-C"])
def test_what_is_on_its_way_when_a_run_is_stopped_is_kept_and_nothing_is_made_up(answers, monkeypatch, end):
    class Interrupting:
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
        replies = Asker(sent, answers, 4).replies(requests(*names))
        assert None in replies
        assert [name for name, reply in zip(names, replies, strict=True) if reply] == sorted(sent.counts, key=int)
        assert all(reply is None or reply.text == name for name, reply in zip(names, replies, strict=True))
        monkeypatch.undo()
    else:
        with pytest.raises(KeyboardInterrupt):
            Asker(sent, answers, 4, meter=Interrupting()).replies(requests(*names))
    assert 0 < sent.counts.total() < 200
    assert [reply.text for reply in Asker(sent, answers, 4).replies(requests(*names))] == names
    assert set(sent.counts.values()) == {1}


def test_the_tokens_of_each_try_are_paid_for(answers):
    sent = Sent({"a": lambda n: Reply("" if n == 1 else "yes", read=10, wrote=2), "b": Reply(read=10, wrote=2)})
    Asker(sent, answers, 2).replies(requests("a", "b", "c"))
    assert answers.totals() == (5, 43, 9)


def test_what_the_server_refuses_is_sent_once_in_a_run(answers, tmp_path):
    sent = Sent({"a": Refused("HTTP 400")})
    for _ in range(2):
        assert [r.refusal for r in Asker(sent, answers, 2).replies(requests("a", "b"))] == ["HTTP 400", ""]
    assert sent.counts == {"a": 1, "b": 1}
    mended = Sent()
    asker = Asker(mended, Answers(tmp_path / "a.sqlite", "other"), 2)
    assert [r.text for r in asker.replies(requests("a", "b"))] == ["a", "b"]
    assert mended.counts == {"a": 1}
