"""An HTTP server on localhost that speaks the OpenAI protocol, with answers that a test defines."""

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Fault(NamedTuple):
    """A response that is no answer: an HTTP status with a body, a delay, or a closed connection."""

    status: int = 200
    body: str | bytes = ""
    seconds: float = 0.0
    closes: bool = False
    headers: Mapping[str, str] = {}


def question_of(body: Mapping[str, Any]) -> str:
    """The last message of a chat, or the last paragraph of a text prompt."""
    if "messages" in body:
        return body["messages"][-1]["content"]
    return body["prompt"].split("\n\n")[-1]


def written(text: str | None, body: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON of a response with a text."""
    usage = {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": 1}
    choice = {"text": text} if "prompt" in body else {"message": {"role": "assistant", "content": text}}
    return {"choices": [{"index": 0, "finish_reason": "stop", **choice}], "usage": usage}


def share_of(text: str) -> float:
    """A pseudo-random number from 0 to 1, a hash of the text."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:6], "big") / 2**48


def answer_or_refusal(body: Mapping[str, Any], n: int = 0) -> str:
    """A rule whose answer is a label or a refusal, by the hash of the question; the frozen runs use it."""
    share = share_of(question_of(body))
    return "I cannot say." if share > 0.9 else ("neutral" if share < 0.3 else "entailment")


class Listener(ThreadingHTTPServer):
    """An HTTP server that queues 128 connections; the default of five would delay clients by a second."""

    request_queue_size = 128
    daemon_threads = True


class FakeServer:
    """Answers each request by ``rule(body, n)``, where n counts equal requests from 0.

    A rule returns a text, a JSON object, or a :class:`Fault`.

    Attributes:
        requests: Bodies of the requests.
        headers: Headers of the requests, with names in lower case.
        paths: Paths of the requests.
    """

    def __init__(self, rule: Callable[[dict[str, Any], int], Any]) -> None:
        self.rule, self.requests, self.headers, self.paths = rule, [], [], []
        self._lock, self._seen = threading.Lock(), Counter()
        self.at_once = self.most_at_once = 0
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                owner.handle(self)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = Listener(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        """Base URL of the server."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def counted(self) -> Counter[str]:
        """Number of times that each request came."""
        return Counter(self._seen)

    def __enter__(self) -> "FakeServer":
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def handle(self, http: BaseHTTPRequestHandler) -> None:
        body = json.loads(http.rfile.read(int(http.headers["Content-Length"])))
        with self._lock:
            text = json.dumps([http.path, body], sort_keys=True)
            n = self._seen[text]
            self._seen[text] += 1
            self.requests.append(body)
            self.headers.append({name.lower(): value for name, value in http.headers.items()})
            self.paths.append(http.path)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            fault = self._answer(body, n)
        finally:
            with self._lock:  # before it is sent: whoever has the answer may ask again at once
                self.at_once -= 1
        with suppress(BrokenPipeError, ConnectionResetError):  # nobody waits any more
            self._send(http, fault)

    def _answer(self, body: dict[str, Any], n: int) -> Fault:
        answer = self.rule(body, n)
        if not isinstance(answer, Fault):
            told = answer if isinstance(answer, dict) else written(answer, body)
            return Fault(body=json.dumps(told))
        time.sleep(answer.seconds)
        return answer

    def _send(self, http: BaseHTTPRequestHandler, fault: Fault) -> None:
        if fault.closes:
            http.close_connection = True
            http.connection.close()
            return
        content = fault.body if isinstance(fault.body, bytes) else fault.body.encode()
        http.send_response(fault.status)
        for name, value in {"Content-Type": "application/json", **fault.headers}.items():
            http.send_header(name, value)
        http.send_header("Content-Length", str(len(content)))
        http.end_headers()
        http.wfile.write(content)
