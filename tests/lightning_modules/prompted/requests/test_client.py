"""Tests of the client: each answer is paid for once, and failures of a server are one sentence."""

import logging
import socket
import sqlite3
import sys
import time
from collections import Counter

import pytest

from heedful.lightning_modules.prompted.requests import client as module
from heedful.lightning_modules.prompted.requests.client import Address, Cache, Client, Server
from heedful.lightning_modules.prompted.requests.replies import Reply, Request, Unusable
from heedful.records import HeedfulError, ModelError, RunError

from fake_server import FakeServer, Fault
from refusals import refused

pytest.importorskip("openai", reason="openai is not installed: pip install 'openai>=3.54'")
KEY = "sk-planted-0123456789"


@pytest.fixture
def waited(monkeypatch):
    """Records the waits between retries, and skips them."""
    waits = []
    monkeypatch.setattr("openai._base_client.SyncAPIClient._sleep_for_retry", lambda self, **told: waits.append(told))
    return waits


@pytest.fixture
def client_of(tmp_path):
    """Makes clients that share a file of answers, one per command."""

    def make(fake, key=None, concurrency=4, most=None, timeout=5.0, names=("url", "key"), beat=lambda: None):
        server = Server(Address(fake if isinstance(fake, str) else fake.url, key, names), timeout)
        return Client(server, str(tmp_path / "a.sqlite"), concurrency, most, beat)

    return make


def requests(names, repeat=0):
    return [Request("/completions", {"model": "m", "prompt": name}, repeat) for name in names]


def parse(answer):
    try:
        return Reply(answer["choices"][0]["text"], model="m", tokens_read=3, tokens_written=1)
    except (KeyError, IndexError, TypeError):
        raise Unusable(answer.get("error", "no choices")) from None


def texts(client, names, repeat=0):
    replies = client.replies(requests(names, repeat), parse)
    return [None if reply is None else reply.failure or reply.text for reply in replies]


def echo(body, n):
    return body["prompt"]


def sent(fake):
    return Counter(body["prompt"] for body in fake.requests)


def test_equal_requests_are_sent_once_and_a_second_time_never(client_of):
    def slow(body, n):
        time.sleep(0.02)
        return body["prompt"]

    with FakeServer(slow) as fake:
        client = client_of(fake)
        assert texts(client, "abacdeb") == list("abacdeb")
        assert fake.most_at_once > 1
        assert (str(client), client.has_cached_replies) == ("5 requests sent, 15 tokens read and 5 written", False)
        again = client_of(fake)
        assert texts(again, "abcdef") == list("abcdef")
        assert (again.requests_sent, again.has_cached_replies) == (1, True)
        assert set(sent(fake).values()) == {1}


def test_repeats_are_kept_for_a_run_that_goes_on_and_forgotten_at_its_end(client_of):
    with FakeServer(echo) as fake:
        texts(client_of(fake), "ab")
        texts(client_of(fake), "ab", repeat=1)  # the run is killed before forget_repeats
        client = client_of(fake)
        texts(client, "ab", repeat=1)
        assert client.requests_sent == 0
        client.forget_repeats()
        texts(client_of(fake), "ab")
        texts(client_of(fake), "ab", repeat=1)
        assert sent(fake) == {"a": 3, "b": 3}


def test_what_is_no_answer_is_sent_once_in_a_command_and_again_in_the_next(client_of):
    rules = {"a": "", "b": {"choices": []}, "c": Fault(400, '{"error": {"message": "filter"}}'), "d": Fault(body="<p>")}
    with FakeServer(lambda body, n: rules.get(body["prompt"], "yes")) as fake:
        client = client_of(fake)
        for _ in range(2):
            failures = ["", "no choices", "HTTP 400 (filter)", "something else than JSON", "yes"]
            assert texts(client, "abcde") == failures
        assert sent(fake) == Counter("abcde")
        rules.clear()
        assert texts(client_of(fake), "abcde") == ["yes"] * 5
        assert sent(fake) == Counter("abcdabcde")


def test_a_command_ends_before_it_sends_too_much(client_of):
    with FakeServer(echo) as fake:
        client = client_of(fake, most=3)
        with refused(ModelError, "max_requests 3", "answers so far are kept"):
            texts(client, "abcde")
        with refused(ModelError, "max_requests 3"):
            texts(client, "e")
        assert texts(client, "ac") == ["a", "c"]
        assert fake.counted.total() == 3
        assert texts(client_of(fake), "abcde") == list("abcde")
        assert fake.counted.total() == 5
        with refused(ModelError, "max_requests 0"):
            texts(client_of(fake, most=0), "y")


def test_what_fails_leaves_the_other_answers(client_of):
    with FakeServer(lambda body, n: Fault(401, "{}") if body["prompt"] == "c" else body["prompt"]) as fake:
        with refused(ModelError, "refuses the key", "HTTP 401"):
            texts(client_of(fake), "abce")
        fake.rule = echo
        assert texts(client_of(fake), "abce") == list("abce")
        assert sent(fake) == Counter("abcec")


@pytest.mark.parametrize("end", ["SIGTERM", "Ctrl-C"])
def test_what_is_on_its_way_when_a_run_ends_is_kept(client_of, monkeypatch, end):
    names = [f"{i}" for i in range(60)]

    def interrupt():
        if len(fake.requests) > 5:
            raise KeyboardInterrupt

    def rule(body, n):
        time.sleep(0.02)
        return body["prompt"]

    with FakeServer(rule) as fake, monkeypatch.context() as patch:
        if end == "SIGTERM":
            patch.setattr(module, "requested", lambda: len(fake.requests) > 5)
            found = texts(client_of(fake), names)
            assert None in found
            assert all(text in (None, name) for name, text in zip(names, found, strict=True))
        else:
            patch.setattr(module, "BEAT", -1.0)
            with pytest.raises(KeyboardInterrupt):
                texts(client_of(fake, beat=interrupt), names)
        assert 5 < len(fake.requests) < 60
        patch.undo()
        assert texts(client_of(fake), names) == names
        assert set(sent(fake).values()) == {1}


def read(path, query):
    with sqlite3.connect(path) as file:
        found = file.execute(query).fetchall()
    file.close()
    return found


def test_the_answer_that_another_command_wrote_first_is_that_of_both(tmp_path):
    first, second = Cache(tmp_path / "a.sqlite"), Cache(tmp_path / "a.sqlite")
    assert first.put("k", Reply("yes", [["a", 0.5]], "m", tokens_read=3)) == Reply("yes", [["a", 0.5]], "m")
    assert second.put("k", Reply("no")).text == "yes"
    assert second.get(["k", *map(str, range(1200))]).keys() == {"k"}
    second.remove(["k", "l"])
    assert first.get("k") == {}


def test_a_file_of_something_else(tmp_path):
    (tmp_path / "text").write_bytes(b"no database, but a text that is long enough " * 50)
    read(tmp_path / "table", "CREATE TABLE answers (k)")
    for name in ("text", "table", "text/a.sqlite"):
        with refused(RunError, "cache", tmp_path / name, "another file"):
            Cache(tmp_path / name)


# failures


@pytest.mark.parametrize("fault", [Fault(429), Fault(500, "oops"), Fault(closes=True)])
def test_what_passes_is_survived(client_of, waited, fault):
    """The first request has fewer retries."""
    with FakeServer(lambda body, n: fault if n < (4 if body["prompt"] == "a" else 8) else "yes") as fake:
        assert texts(client_of(fake), "ab") == ["yes", "yes"]
        assert (sent(fake), len(waited)) == ({"a": 5, "b": 9}, 12)


SENTENCES = [
    (Fault(401, '{"error": {"message": "bad key"}}'), ["refuses the key: HTTP 401.", "another key"]),
    (Fault(403, "{}"), ["refuses the key", "HTTP 403"]),
    (Fault(404, '{"detail": "no m"}'), ["no model m,", "HTTP 404 (no m).", "url"]),
    (Fault(429, '{"error": "busy"}'), ["HTTP 429 (busy).", "concurrency"]),
    (Fault(500, "oops\n\x1b[31m"), [r"failed: HTTP 500 (oops \x1b[31m)."]),
    (Fault(500, "no", headers={"x-should-retry": "false"}), ["failed: HTTP 500 (no)."]),
    (Fault(418, '{"error": {"message": "tea {}"}}'), ["HTTP 418 (tea {})."]),
    (Fault(seconds=0.5), ["cannot be reached (", "raise timeout"]),
    (Fault(closes=True), ["cannot be reached (RemoteProtocolError)", "url"]),
]


@pytest.mark.parametrize(("fault", "facts"), SENTENCES)
def test_what_stays_is_one_sentence(client_of, waited, fault, facts):
    with (
        FakeServer(lambda body, n: fault) as fake,
        refused(ModelError, fake.url.removesuffix("/v1"), *facts, "answers so far are kept"),
    ):
        texts(client_of(fake, timeout=0.1 if fault.seconds else 5.0), "ab")


def test_addresses_that_cannot_be_asked(client_of, waited, monkeypatch):
    """No server, no URL, a remote server without a key, and a missing package."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with refused(ModelError, url.removesuffix("/v1"), "(ConnectError)", "set another url"):
        texts(client_of(url), "a")
    assert len(waited) == 4
    for url in ("localhost:8000", "ftp://x/v1", "http://", "http://h:port/v1", "x"):
        with refused(ModelError, "OPENAI_BASE_URL", "http://localhost:8000"):
            Server(Address(url, "k"), 1.0)
    for names in (("url", "key"), ("OPENAI_BASE_URL", "OPENAI_API_KEY")):
        with refused(ModelError, f"{names[1]} is not set", "https://example.org ", f"another {names[0]}"):
            Server(Address("https://example.org/secret-path/v1/", "", names), 1.0)
    assert Server(Address("https://example.org/v1/", "k"), 1.0).origin == "https://example.org"
    for host in ("localhost", "127.0.0.1:80", "[::1]:8000"):
        assert Server(Address(f"http://{host}/v1", ""), 1.0).origin == f"http://{host}"
    monkeypatch.setitem(sys.modules, "openai", None)
    with refused(RunError, "openai", "pip install 'openai>=3.54'"):
        Server(Address("http://127.0.0.1:9/v1", KEY), 1.0)


def test_deployments_behind_one_address_have_their_own_answers(client_of, tmp_path):
    with FakeServer(echo) as fake:
        for name, sent in (("first-model", 2), ("second-model", 4), ("first-model", 4)):
            assert texts(client_of(f"{fake.url}?deployment={name}"), "ab") == ["a", "b"]
            assert len(fake.requests) == sent
    assert not any(b"first-model" in file.read_bytes() for file in tmp_path.iterdir())


# secrets


def test_secrets_are_sent(client_of):
    with FakeServer(echo) as fake:
        texts(client_of(fake, f" {KEY}\n"), "a")
        url = fake.url.replace("http://", "http://me:pass%20word-123@") + "?token=query-secret-1"
        texts(client_of(url), "a")
    assert [headers["authorization"] for headers in fake.headers] == [
        f"Bearer {KEY}",
        "Basic bWU6cGFzcyB3b3JkLTEyMw==",
    ]
    assert fake.paths[1].endswith("/completions?token=query-secret-1")


ADDRESSES = {
    "key": ("http://{}/v1", KEY, KEY),
    "user": ("http://me:pass%20word-1@{}/v1", None, "pass%20word-1"),
    "path": ("http://{}/planted-path-7/v1", None, "planted-path-7"),
    "query": ("http://{}/v1?k=planted-query-7", None, "planted-query-7"),
}


@pytest.mark.parametrize("case", ADDRESSES)
@pytest.mark.parametrize("fault", [Fault(401), Fault(403), Fault(500, "no"), Fault(closes=True)])
def test_key_and_address_are_written_nowhere(case, fault, client_of, waited, tmp_path, caplog):
    """A response that refuses a key may repeat the key, so it is not quoted."""
    form, key, secret = ADDRESSES[case]

    def rule(body, n):
        return fault._replace(body=fault.body or secret) if body["prompt"] == "fails" else "yes"

    with caplog.at_level(logging.DEBUG), FakeServer(rule) as fake:
        url = form.format(fake.url.removeprefix("http://").removesuffix("/v1"))
        client = client_of(url, key)
        assert texts(client, "a") == ["yes"]
        with refused(ModelError) as caught:
            texts(client, ["fails"])
    assert caught.value.__cause__ is None
    assert not [path for path in tmp_path.iterdir() if secret.encode() in path.read_bytes()]
    assert secret not in f"{caplog.text} {caught.value} {client.server!r} {Address(url, key)!r}"


def test_answers_are_stored_as_they_came(client_of):
    """Words of an answer may equal a key or a part of the address."""
    answer = "none of the towns has deployments"
    with FakeServer(lambda body, n: answer) as fake:
        url = f"{fake.url}/openai/deployments"
        assert texts(client_of(url, "none"), "a") == [answer]
        assert texts(client_of(url, "none"), "a") == [answer]  # from the file
        assert len(fake.requests) == 1


def test_a_key_that_fits_no_header(client_of, waited):
    with FakeServer(echo) as fake:
        for key in ("sk-pl\u00e4nted-0123", "sk-planted\n-0123"):
            with refused(HeedfulError, "key", "127.0.0.1") as caught:
                texts(client_of(fake, key), "a")
            assert "0123" not in str(caught.value)


def test_processes_that_wait_hear_of_requests(client_of, monkeypatch):
    now, beats = [0.0], []
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    with FakeServer(echo) as fake:
        client = client_of(fake, beat=lambda: beats.append(now[0]))
        texts(client, "a")
        for second in range(1, 151):
            now[0] = float(second)
            texts(client, "a")
    assert beats == [61, 122]
