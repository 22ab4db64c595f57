"""Client of a server with the OpenAI protocol: sends requests concurrently, and caches their replies in a file."""

import json
import logging
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from heedful.lightning_modules.prompted.requests.replies import Reply, Request, Unusable
from heedful.records import ModelError, RunError
from heedful.stopping import requested

URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
USUAL = "https://api.openai.com/v1"
LOCAL = "localhost", "127.", "::1"  # beginnings of hosts that need no key
RETRIES = 8  # retries by the openai client after HTTP 408, 409, 429, 5xx, a time-out or a broken connection
FIRST_RETRIES = 4  # retries of the first request, which take some seven seconds
REFUSED = 400, 413, 422  # HTTP statuses that concern one request; others may be answered
LIBRARIES = "openai", "httpx2", "httpcore2", "httpx", "httpcore"  # their logs quote addresses and headers
LONGEST = 600  # characters of a server's message that an error quotes
TICK, BEAT, GRACE = 0.1, 60.0, 5.0  # seconds: between checks, between heartbeats, to wait for requests at the end
PATIENCE = 60.0  # seconds to wait for the lock of another process on the cache
SAVED = "the answers so far are kept"


@dataclass(frozen=True)
class Address:
    """The address of a server and its key, which are no settings, and are never written to files, logs or ``repr``."""

    url: str | None = field(default=None, repr=False)  # None for the value of OPENAI_BASE_URL, or else OpenAI
    key: str | None = field(default=None, repr=False)  # None for the value of OPENAI_API_KEY; "" for none
    names: tuple[str, str] = (URL, KEY)  # of the URL and the key in messages


class Server:
    """Connection to a server with the OpenAI protocol; thread-safe.

    Attributes:
        url: The base URL without user and password, used only in hashes.
        origin: Scheme, host and port: all of the address that messages show.
    """

    def __init__(self, address: Address, timeout: float) -> None:
        self.names = address.names
        url = (os.environ.get(URL) or USUAL) if address.url is None else address.url
        key = ((os.environ.get(KEY) or "") if address.key is None else address.key).strip()
        parts = urlsplit(url)
        user, _, place = parts.netloc.rpartition("@")
        if parts.scheme not in ("http", "https") or not re.fullmatch(r"(\[.+\]|[^:]+)(:\d+)?", place):
            raise ModelError(f"{self.names[0]} is no address of a server. Give one, such as http://localhost:8000/v1.")
        self.origin = f"{parts.scheme}://{place}"
        if not key and not user and not parts.hostname.startswith(LOCAL):
            url, key = self.names
            raise ModelError(f"{key} is not set, and {self.origin} is not on this machine. Set it, or another {url}.")
        self.url = urlunsplit((parts.scheme, place, parts.path.rstrip("/"), parts.query, ""))
        try:
            import openai
        except ImportError:
            raise RunError("A model behind a server needs openai: pip install 'openai>=3.54'.") from None
        for name in LIBRARIES:
            logging.getLogger(name).setLevel(logging.WARNING)
        self._client = openai.OpenAI(
            base_url=urlunsplit((parts.scheme, parts.netloc, parts.path, "", "")),
            default_query=dict(parse_qsl(parts.query)),
            api_key=key or "none",
            timeout=timeout,
        )

    def response(self, request: Request, retries: int = RETRIES) -> Any:
        """Send a request, and return the JSON of the response, after at most ``retries`` further attempts.

        Raises:
            Unusable: The server refuses this request, or the response is not JSON.
            ModelError: The server cannot be reached, fails, or refuses the key or the model.
        """
        client = self._client.with_options(max_retries=retries)
        resource: Any = client.chat.completions if request.path.startswith("/chat") else client.completions
        arguments = {name: value for name, value in request.body.items() if name in ("model", "messages", "prompt")}
        extra = {name: value for name, value in request.body.items() if name not in arguments}
        try:
            response = resource.with_raw_response.create(**arguments, extra_body=extra).http_response
        except Exception as error:  # its text may contain the key
            status = getattr(error, "status_code", 0)
            reason = _quoted(error) if status else type(error.__cause__ or error).__name__
            if status in REFUSED:
                raise Unusable(reason) from None
            url, key = self.names
            failure = {
                0: f"cannot be reached ({reason}). Start the server, set another {url} or {key}, or raise timeout",
                401: f"refuses the key: HTTP 401. Set another {key}",  # the response may repeat the key
                403: f"refuses the key: HTTP 403. Set another {key}",
                404: f"has no model {arguments['model']}, or no such address: {reason}. See name and {url}",
                429: f"had too many requests: {reason}. Lower concurrency, or wait",
            }.get(status, f"failed: {reason}. Look at its log")
            raise ModelError(f"{self.origin} {failure}; {SAVED}.") from None
        try:
            return response.json()
        except ValueError:
            raise Unusable("something else than JSON") from None


def _quoted(error: Any) -> str:
    """Return the HTTP status and the server's own error message."""
    body = error.body
    if isinstance(body, Mapping):
        body = body.get("message") or body.get("detail") or body
    text = " ".join((body if isinstance(body, str) else json.dumps(body)).split())[:LONGEST].rstrip(".")
    return f"HTTP {error.status_code}" + (f" ({text})" if text else "")


class Cache:
    """SQLite file of the reply to each request, by the key of the request; several commands may use it at once.

    A reply is on disk when :meth:`put` returns; later replies with the same key are ignored.

    Raises:
        RunError: The file is damaged, is not a file of answers, or cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path, self._lock = Path(path), Lock()
        self._execute("CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, reply TEXT NOT NULL)")
        self.get([])

    @cached_property
    def _file(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = sqlite3.connect(self.path, PATIENCE, isolation_level=None, check_same_thread=False)
        file.execute("PRAGMA synchronous = NORMAL")
        if file.execute("PRAGMA journal_mode").fetchone() != ("wal",):  # a switch needs a lock
            file.execute("PRAGMA journal_mode = WAL")
        return file

    def _execute(self, query: str, *values: str) -> list[Any]:
        try:
            with self._lock:
                return self._file.execute(query, values).fetchall()
        except (sqlite3.Error, OSError) as error:
            raise RunError(
                f"cache {self.path} cannot be used ({error}). Move it away if it is damaged or from another version, "
                "or name another file with cache, on a disk of this machine."
            ) from None

    def get(self, keys: Iterable[str]) -> dict[str, Reply]:
        """Return the stored replies to the requests with these keys, by key; keys without a reply are left out."""
        query = "SELECT key, reply FROM answers WHERE key IN (SELECT value FROM json_each(?))"
        return {key: Reply(**json.loads(reply)) for key, reply in self._execute(query, json.dumps([*keys]))}

    def put(self, key: str, reply: Reply) -> Reply:
        """Store a reply, and return the stored reply, which another command may have written first."""
        entry = {name: value for name, value in asdict(reply).items() if name in ("text", "scores", "model")}
        text = json.dumps(entry, ensure_ascii=False)
        self._execute("INSERT OR IGNORE INTO answers (key, reply) VALUES (?, ?)", key, text)
        return self.get([key]).get(key, reply)

    def remove(self, keys: Iterable[str]) -> None:
        """Remove the replies with these keys, so that they are requested again."""
        self._execute("DELETE FROM answers WHERE key IN (SELECT value FROM json_each(?))", json.dumps([*keys]))


class Client:
    """Returns replies from the cache at a path, and requests missing replies from a server.

    It sends at most ``max_requests`` requests, ``concurrency`` at once, and calls ``beat`` while other processes wait.

    Attributes:
        has_cached_replies: Whether replies of earlier commands were used.
    """

    def __init__(
        self, server: Server, cache: str, concurrency: int, max_requests: int | None, beat: Callable[[], None]
    ) -> None:
        self.server, self.concurrency, self.max_requests, self.beat = server, concurrency, max_requests, beat
        self.requests_sent = self.tokens_read = self.tokens_written = 0
        self.has_cached_replies = False
        self._cache = Cache(cache)
        self._own: dict[str, Reply] = {}  # replies to the requests of this command; not all of them are cached
        self._repeats: set[str] = set()
        self._last = time.monotonic()
        self._lock = Lock()

    def replies(self, requests: Sequence[Request], parse: Callable[[Any], Reply]) -> list[Reply | None]:
        """Return the reply to each request; None if SIGTERM arrived before the reply. Equal requests are sent once.

        Raises:
            ModelError: The server fails, or more requests are needed than the limit allows.
        """
        self._beat()
        keys = [request.key(self.server.url) for request in requests]
        wanted = dict(zip(keys, requests, strict=True))
        self._repeats |= {key for key, request in wanted.items() if request.repeat}
        cached = self._cache.get(key for key in wanted if key not in self._own)
        self.has_cached_replies = self.has_cached_replies or bool(cached)
        new = [(key, wanted[key]) for key in wanted if key not in self._own and key not in cached]
        allowed = len(new) if self.max_requests is None else max(0, self.max_requests - self.requests_sent)
        first = bool(new[:allowed]) and not self.requests_sent  # the first request reveals a fault of the server
        self._send(partial(self._ask, parse, FIRST_RETRIES), new[: int(first)])
        self._send(partial(self._ask, parse, RETRIES), new[int(first) : allowed])
        if len(new) > allowed and not requested():
            raise ModelError(f"max_requests {self.max_requests}: more requests are needed. Raise it; {SAVED}.")
        return [cached.get(key) or self._own.get(key) for key in keys]

    def _send(self, ask: Callable[[str, Request], None], requests: Sequence[tuple[str, Request]]) -> None:
        """Send (key, request) pairs concurrently by the function ``ask``."""
        pool = ThreadPoolExecutor(self.concurrency)
        pending = {pool.submit(ask, *request) for request in requests}
        try:
            while pending and not requested():
                self._beat()
                done, pending = wait(pending, TICK, FIRST_COMPLETED)
                for future in done:
                    future.result()  # raises the error of the request
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            wait([future for future in pending if future.running()], GRACE)  # requests under way are paid for

    def _ask(self, parse: Callable[[Any], Reply], retries: int, key: str, request: Request) -> None:
        with self._lock:
            self.requests_sent += 1
        try:
            reply = parse(self.server.response(request, retries))
        except Unusable as reason:
            reply = Reply(failure=str(reason))
        with self._lock:
            self.tokens_read += reply.tokens_read
            self.tokens_written += reply.tokens_written
        is_answer = not reply.failure and not reply.is_empty
        self._own[key] = self._cache.put(key, reply) if is_answer else reply

    def _beat(self) -> None:
        if time.monotonic() - self._last > BEAT:
            self.beat()
            self._last = time.monotonic()

    def forget(self, requests: Iterable[Request]) -> None:
        """Remove the replies to some requests, so that they are sent again."""
        self._forget({request.key(self.server.url) for request in requests})

    def forget_repeats(self) -> None:
        """Remove the replies to requests of the null control, since each evaluation repeats its own requests."""
        self._forget(self._repeats)
        self._repeats = set()

    def _forget(self, keys: set[str]) -> None:
        self._cache.remove(keys)
        self._own = {key: reply for key, reply in self._own.items() if key not in keys}

    def __str__(self) -> str:
        tokens = f"{self.tokens_read:,} tokens read and {self.tokens_written:,} written"
        return f"{self.requests_sent:,} requests sent, {tokens}"


def cost(tokens_read: float, tokens_written: float, prices: Sequence[float]) -> float:
    """Return the cost in US dollars of tokens read and written, given the two prices per million tokens."""
    return (tokens_read * prices[0] + tokens_written * prices[1]) / 1e6
