"""What a server may do, and what a user reads of it."""

import base64
import gzip
import json
import logging
import socket
import sys
import threading
import time
from contextlib import suppress
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.lightning_modules.prompted.requests.secrets import Secrets
from heedful.lightning_modules.prompted.requests.server import Refused, Server, Unusable
from heedful.records import HeedfulError, ModelError, RunError

from fake_server import FakeServer, Fault
from refusals import refused

openai = pytest.importorskip("openai", reason="openai is not installed: pip install 'openai>=3.54'")
import httpx2  # noqa: E402, which comes with openai

from heedful.lightning_modules.prompted.requests import bounds  # noqa: E402, which needs it

SOON = {"retry-after-ms": "1"}
BODY = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
KEY = "sk-planted-0123456789"


@pytest.fixture
def waited(monkeypatch):
    """The waits between two tries, which take no time."""
    waits = []
    monkeypatch.setattr("openai._base_client.SyncAPIClient._sleep_for_retry", lambda self, **told: waits.append(told))
    return waits


def ask(rule, key=None, timeout=5.0, path="/chat/completions"):
    with FakeServer(rule) as fake:
        return Server(fake.url, key, timeout).post(path, BODY), fake


@pytest.mark.parametrize(
    "fault",
    [Fault(429, "{}", headers=SOON), Fault(500, "oops", headers=SOON), Fault(503, headers=SOON), Fault(closes=True)],
)
def test_what_passes_is_survived(waited, fault):
    answer, fake = ask(lambda body, n: fault if n < 8 else "yes")
    assert answer["choices"][0]["message"]["content"] == "yes"
    assert (len(fake.requests), len(waited)) == (9, 8)


def test_the_time_that_the_server_names_is_waited(monkeypatch):
    waits = []
    monkeypatch.setattr("time.sleep", waits.append)
    ask(lambda body, n: Fault(429, headers={"Retry-After": "7"}) if n < 2 else "yes")
    assert [wait for wait in waits if wait] == [7, 7]


@pytest.mark.parametrize(
    ("fault", "error", "facts"),
    [
        (Fault(401, '{"error": {"message": "bad key"}}'), ModelError, ["OPENAI_API_KEY", "HTTP 401 (bad key)."]),
        (Fault(403, "{}"), ModelError, ["OPENAI_API_KEY", "HTTP 403"]),
        (Fault(404, '{"detail": "no m"}'), ModelError, ["model m,", "HTTP 404 (no m).", "See model.name"]),
        (Fault(429, '{"error": "busy"}'), ModelError, ["9 times (busy).", "concurrency"]),
        (Fault(500, "oops\n\x1b[31m"), ModelError, ["9 times", r"HTTP 500 (oops \x1b[31m)."]),
        (Fault(500, "no", headers={"x-should-retry": "false"}), ModelError, ["failed: HTTP 500 (no)."]),
        (Fault(429, "", headers={"Retry-After": "300"}), ModelError, ["wait 300 s", "concurrency"]),
        (Fault(418, '{"error": {"message": "tea"}}'), ModelError, ["HTTP 418 (tea)."]),
        (Fault(seconds=0.5), ModelError, ["9 times (0.1 s).", "Raise model.timeout"]),
        (Fault(closes=True), ModelError, ["(Server disconnected", "OPENAI_BASE_URL"]),
    ],
)
def test_what_stays_is_one_sentence(waited, fault, error: type[HeedfulError], facts):
    with refused(error, "http://127.0.0.1:", *facts, "answers so far are kept"):
        ask(lambda body, n: fault, timeout=0.1 if fault.seconds else 5.0)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault(400, '{"error": {"message": "content_filter"}}'), r"refuses the request: HTTP 400 \(content_filter\)$"),
        (Fault(413, ""), r"refuses the request: HTTP 413$"),
        (Fault(422, '{"detail": [{"msg": "logprobs"}]}'), r"refuses the request: HTTP 422 \(.*logprobs.*\)$"),
    ],
)
def test_one_request_may_be_refused(waited, fault, said):
    with pytest.raises(Refused, match=said):
        ask(lambda body, n: fault)
    assert not waited


def test_a_server_that_is_not_there(waited):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with refused(ModelError, url, "refused", "OPENAI_BASE_URL"):
        Server(url, None, 5.0).post("/x", BODY)
    assert len(waited) == 8
    with refused(ModelError, url, "refused", "OPENAI_BASE_URL"):
        Server(url, None, 5.0).require_reachable()
    assert len(waited) == 8


def test_a_server_that_is_there_need_not_list_its_models():
    with FakeServer(lambda body, n: "yes") as fake:  # which knows no GET
        server = Server(fake.url, None, 5.0)
        server.require_reachable()
    server.require_reachable()  # once is enough


@pytest.mark.parametrize("body", ['{"choices": [', "<html>", ""])
def test_what_is_not_json_may_come_right(body):
    with pytest.raises(Unusable, match=r"^something else than JSON$"):
        ask(lambda given, n: Fault(body=body))


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://x/v1", "http://", "http://h:port/v1"])
def test_an_address_that_is_none(url):
    with refused(ModelError, "OPENAI_BASE_URL", "http://localhost:8000"):
        Server(url, "k", 1.0)


def test_another_machine_wants_a_key():
    with refused(ModelError, "OPENAI_API_KEY", "https://example.org/v1", "OPENAI_BASE_URL"):
        Server("https://example.org/v1/", None, 1.0)
    assert Server("https://example.org/v1/", "k", 1.0).url == "https://example.org/v1"
    for host in ("localhost", "127.0.0.1:80", "[::1]:8000"):
        assert Server(f"http://{host}/v1", None, 1.0).url == f"http://{host}/v1"


def test_secrets_are_sent_and_not_shown():
    with FakeServer(lambda body, n: "yes") as fake:
        Server(fake.url, KEY, 5.0).post("/chat/completions", BODY)
        at = fake.url.replace("http://", "http://me:pass%20word-123@") + "?token=query-secret-1"
        server = Server(at, None, 5.0)
        server.post("/chat/completions", BODY)
    assert server.url == fake.url
    basic = base64.b64encode(b"me:pass word-123").decode()
    assert [headers["authorization"] for headers in fake.headers] == [f"Bearer {KEY}", f"Basic {basic}"]
    assert fake.paths[1].endswith("/chat/completions?token=query-secret-1")
    told = f"{basic} me:pass%20word-123 pass word-123 query-secret-1"
    assert server.secrets.hide(told) == "*** *** *** ***"


def test_a_server_that_repeats_the_key_is_not_repeated(caplog, waited):
    def echo(body, n):
        headers = {"x-request-id": f"of {KEY}"}
        return Fault(400, f'{{"error": {{"message": "wrong key {KEY}"}}}}', headers=headers)

    with caplog.at_level(logging.DEBUG), pytest.raises(Refused) as raised:
        ask(echo, KEY)
    assert "wrong key ***" in str(raised.value)
    assert raised.value.__cause__ is None
    assert "request_id: of ***" in caplog.text
    assert KEY not in caplog.text
    answer, _ = ask(lambda body, n: f"My key is {KEY}.", KEY)
    assert answer["choices"][0]["message"]["content"] == "My key is ***."


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_key_that_comes_back_escaped_is_hidden(status, waited):
    key = "sk-planted/0123+456789"
    escaped = key.replace("/", r"\/").replace("+", r"\u002B")
    body = f'{{"error": {{"message": "no {escaped}", "{escaped}": ["{escaped}"]}}}}'
    assert json.loads(body)["error"]["message"] == f"no {key}"
    try:
        told = json.dumps(ask(lambda sent, n: Fault(status, body), key)[0])
    except (HeedfulError, Refused) as error:
        told = str(error)
    assert "***" in told
    assert not any(form in told for form in (key, key[10:], escaped))


def test_placeholders_are_not_secrets():
    assert Secrets(["EMPTY", "none"]).hide("none is EMPTY") == "none is EMPTY"


def test_lines_of_a_log_that_fit_no_arguments_stay(caplog):
    Secrets([KEY]).hide_in_logs()
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("openai").debug("%d of %s", KEY)
    assert "%d of %s" in caplog.text
    assert KEY not in caplog.text


QUOTED = '"sk-planted-0123456789"'


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (f"{QUOTED}\r", "holds a line break"),
        (f"{KEY}\n", "holds a line break"),
        ("sk-pl\u00e4nted-0123", "holds a line break"),
        (QUOTED, "stands in quotes"),
        (f"'{KEY}'", "stands in quotes"),
    ],
)
def test_a_key_that_no_header_holds_is_refused_before_anything_is_sent(key, said):
    with refused(ModelError, f"OPENAI_API_KEY {said}", "nothing was sent") as raised:
        Server("http://127.0.0.1:9/v1", key, 1.0)
    assert "0123" not in str(raised.value)


def test_the_value_of_a_header_is_never_repeated(waited):
    """Whatever the client makes of it: user and password go into a header, too."""
    server = Server("http://127.0.0.1:9/v1", KEY, 1.0)
    error = openai.APIConnectionError(request=None)
    for cause in (ValueError, httpx2.LocalProtocolError):
        error.__cause__ = cause(f"Illegal value b'Bearer {KEY[:9]} {KEY[9:]}'")
        assert server._cause(error) == f" ({cause.__name__})"


def test_without_its_package_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with refused(RunError, "openai", "pip install 'openai>=3.54'"):
        Server("http://127.0.0.1:9/v1", KEY, 1.0)


KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=9, max_size=30)


@given(KEYS.filter(lambda key: key == key.strip(" \t\r\n'\"")))
def test_a_secret_is_hidden_in_every_form(key):
    raw = key.encode()
    forms = [
        key,
        repr(key),
        ascii(key),
        repr(raw),
        json.dumps(key),
        f'"{key}"\r',
        raw.hex(),
        quote(key),
        quote(key, ""),
    ]
    forms += [quote_plus(key), quote(key, "").lower() if key.islower() else key, base64.b64encode(raw).decode()]
    forms += ["".join(f"%{byte:02x}" for byte in raw), "".join(f"%{byte:02X}" for byte in raw)]
    secrets = Secrets([key])
    for form in forms:
        told = secrets.hide(f"a {form} b")
        assert "***" in told
        assert key not in told
        assert repr(raw)[2:-1] not in told


@pytest.mark.parametrize("key", ["entailment", "contradiction", "Not_entailment", "2024-02-01"])
def test_a_key_that_is_a_common_word_stays_in_answers(key):
    answer, _ = ask(lambda body, n: f"{key}.", key)
    assert answer["choices"][0]["message"]["content"] == f"{key}."
    with pytest.raises(Refused, match=r"\(wrong key \*\*\*\)"):
        ask(lambda body, n: Fault(400, json.dumps({"error": {"message": f"wrong key {key}"}})), key)


@pytest.mark.slow
def test_an_answer_is_no_larger_than_it_may_be(monkeypatch):
    monkeypatch.setattr(bounds, "MOST_BYTES", 2**20)
    large = json.dumps({"x": "y" * 2**20}).encode()
    packed = gzip.compress(json.dumps({"x": "y" * 2**26}).encode())
    assert len(packed) < 2**17
    faults = [Fault(body=large), Fault(body=packed, headers={"Content-Encoding": "gzip"})]
    with FakeServer(lambda body, n: faults[n]) as fake:
        server = Server(fake.url, None, 5.0)
        for _ in faults:
            with refused(ModelError, f"{fake.url}/chat/completions", "1 MiB"):
                server.post("/chat/completions", BODY)
    small = gzip.compress(json.dumps({"x": "y" * 1000}).encode())
    assert ask(lambda sent, n: Fault(body=small, headers={"Content-Encoding": "gzip"}))[0] == {"x": "y" * 1000}


@pytest.mark.slow
def test_a_request_takes_no_longer_than_it_may(waited):
    """A byte now and then is not silence."""
    with refused(ModelError, "/chat/completions", "more than 1 s", "timeout"):
        ask(lambda body, n: Fault(body="{}" + " " * 60, byte_seconds=0.05), timeout=0.1)


@pytest.mark.slow
def test_headers_that_never_end_take_no_longer(waited):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def trickle():
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
                for _ in range(600):
                    connection.sendall(b"y")
                    time.sleep(0.05)

        threading.Thread(target=trickle, daemon=True).start()
        server = Server(f"http://127.0.0.1:{listener.getsockname()[1]}/v1", None, 0.1)
        with refused(ModelError, "/chat/completions", "more than 1 s", "timeout"):
            server.post("/chat/completions", BODY)


def test_a_redirect_to_another_server_is_followed_where_it_is_allowed():
    with FakeServer(lambda body, n: "elsewhere") as other:
        to = Fault(307, headers={"Location": f"{other.url}/chat/completions?k={KEY}"})
        with FakeServer(lambda body, n: to) as fake:
            with refused(ModelError, fake.url, f"{other.url[:-3]}.", "OPENAI_BASE_URL", "allow_redirects true"):
                Server(fake.url, KEY, 5.0).post("/chat/completions", BODY)
            assert not other.requests
            answer = Server(fake.url, KEY, 5.0, allow_redirects=True).post("/chat/completions", BODY)
            assert answer["choices"][0]["message"]["content"] == "elsewhere"
            assert "authorization" not in other.headers[0]


def test_a_redirect_on_the_same_server_is_followed():
    answers = [Fault(307, headers={"Location": "/v1/other"}), "here"]
    assert ask(lambda body, n: answers.pop(0))[0]["choices"]
