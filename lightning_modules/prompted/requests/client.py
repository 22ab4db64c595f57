"""Client of a server with the OpenAI protocol: sends requests concurrently, and stores their answers."""

import ipaddress
import json
import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from heedful.lightning_modules.prompted.requests.answers import Answers
from heedful.lightning_modules.prompted.requests.replies import Reply, Request, Unusable
from heedful.records import ModelError, RunError
from heedful.stopping import requested

URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
USUAL = "https://api.openai.com/v1"
RETRIES = 8  # retries by the openai client after HTTP 408, 409, 429, 5xx, a time-out or a broken connection
FIRST_RETRIES = 4  # retries of the first request, which take some seven seconds
REFUSED = 400, 413, 422  # HTTP statuses that concern one request; others may be answered
LIBRARIES = "openai", "httpx2", "httpcore2", "httpx", "httpcore"  # their logs quote addresses and responses
SHORTEST, SHORTEST_IN_PATH = 4, 8  # fewest characters of a secret: "x" and "v1" are none
LONGEST = 600  # characters of a server's message that an error quotes
TICK, BEAT, GRACE = 0.1, 60.0, 5.0  # seconds: between checks, between heartbeats, to wait for requests at the end
SAVED = "the answers so far are kept"


@dataclass(frozen=True)
class Address:
    """The address of a server and its key. They are not settings, and are never written to files, logs or ``repr``.

    Attributes:
        url: Base URL; None for the value of OPENAI_BASE_URL, or else the URL of OpenAI.
        key: The key; None for the value of OPENAI_API_KEY, and "" for no key.
        names: Names of the URL and the key in messages.
    """

    url: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)
    names: tuple[str, str] = (URL, KEY)


class Server:
    """Connection to a server with the OpenAI protocol; its methods are thread-safe.

    Args:
        address: Address and key.
        timeout: Seconds without a byte before the client sends a request again.

    Attributes:
        url: The base URL without user and password, used only in hashes.
        origin: Scheme, host and port.

    Raises:
        HeedfulError: The URL is invalid, there is no key for a remote server, or openai is not installed.
    """

    def __init__(self, address: Address, timeout: float) -> None:
        self.names, self.timeout = address.names, timeout
        url = (os.environ.get(URL) or USUAL) if address.url is None else address.url
        key = ((os.environ.get(KEY) or "") if address.key is None else address.key).strip()
        parts = urlsplit(url)
        user, _, place = parts.netloc.rpartition("@")
        if parts.scheme not in ("http", "https") or not _host(parts):
            raise ModelError(f"{self.names[0]} is no address of a server. Give one, such as http://localhost:8000/v1.")
        self.origin = f"{parts.scheme}://{place}"
        if not key and not user and not _is_loopback(_host(parts)):
            raise ModelError(
                f"{self.names[1]} is not set, and {self.origin} is not on this machine. Set it, or another "
                f"{self.names[0]}."
            )
        query = dict(parse_qsl(parts.query))
        self.url = urlunsplit((parts.scheme, place, parts.path.rstrip("/"), parts.query, ""))
        secrets = {key, user, unquote(user), *user.split(":"), *unquote(user).split(":"), *query.values()}
        secrets |= {part for part in unquote(parts.path).split("/") if len(part) >= SHORTEST_IN_PATH}
        self._secrets = sorted((s for s in secrets if len(s) >= SHORTEST), key=len, reverse=True)
        base = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
        settings = {"api_key": key or "none", "default_query": query, "timeout": timeout}
        try:
            import openai
        except ImportError:
            raise RunError(
                "A model behind a server needs the package openai. Install it with pip install 'openai>=3.54'."
            ) from None
        for name in LIBRARIES:
            logging.getLogger(name).setLevel(logging.WARNING)
        self._openai, self._client = openai, openai.OpenAI(base_url=base, max_retries=RETRIES, **settings)

    def hide(self, message: str) -> str:
        """Return a message with asterisks in place of secrets. Answers of the model are never passed to this method."""
        for secret in self._secrets:
            message = message.replace(secret, "***")
        return message

    def post(self, request: Request, retries: int = RETRIES) -> Any:
        """Send a request, and return the JSON of the response.

        Args:
            request: The request.
            retries: Largest number of further attempts.

        Raises:
            Unusable: The server refuses this request, or the response is not JSON.
            ModelError: The server cannot be reached, fails, or refuses the key or the model.
        """
        import httpx2

        try:
            response = self._client.post(
                request.path, body=dict(request.body), cast_to=httpx2.Response, options={"max_retries": retries}
            )
        except self._openai.APIError as error:
            status = getattr(error, "status_code", 0)
            reason = f"HTTP {status}{self._reason(error)}" if status else type(error.__cause__ or error).__name__
            if status in REFUSED:
                raise Unusable(reason) from None
            is_late = isinstance(error, self._openai.APITimeoutError)
            raise ModelError(self._failure_message(status, reason, is_late, request.body.get("model"))) from None
        except Exception as error:  # its text may contain the key
            name = type(error).__name__
            raise ModelError(f"{self.origin} cannot be asked ({name}). See {', '.join(self.names)}; {SAVED}.") from None
        try:
            return json.loads(response.text)
        except ValueError:
            raise Unusable("something else than JSON") from None

    def _failure_message(self, status: int, reason: str, is_late: bool, model: Any) -> str:
        """Return the error message for a failed request.

        Args:
            status: HTTP status; 0 if the server did not respond.
            reason: Cause of the failure.
            is_late: Whether the request timed out.
            model: Name of the requested model.
        """
        url, key = self.names
        if is_late:
            return f"{self.origin} gave no answer within {self.timeout:g} s. Raise timeout; {SAVED}."
        if status == 0:
            return (
                f"{self.origin} cannot be reached ({reason}). Start the server, or set another {url} or {key}; {SAVED}."
            )
        what, advice = {
            401: ("refuses the key", f"Set another {key}"),
            403: ("refuses the key", f"Set another {key}"),
            404: (f"has no model {model}, or no such address", f"See the name of the model, and {url}"),
            429: ("had too many requests", "Lower concurrency, or wait"),
        }.get(status, ("failed", "Look at its log"))
        return f"{self.origin} {what}: {reason}. {advice}; {SAVED}."

    def _reason(self, error: Any) -> str:
        """Return the server's own error message in brackets, for the end of a sentence; "" if it is empty."""
        try:
            body = json.loads(error.response.text)
            for name in ("error", "message", "detail"):
                body = body.get(name, body) if isinstance(body, Mapping) else body
            text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        except ValueError:
            text = error.response.text
        text = " ".join(self.hide(text).split())[:LONGEST].rstrip(".")
        return f" ({text})" if text else ""


class Client:
    """Returns replies from the file of stored answers, and requests missing replies from a server.

    Args:
        server: The server.
        cache: Path of the file of stored answers.
        concurrency: Most requests at once.
        most: Most requests that are sent; None for any number.
        beat: Heartbeat, called regularly while other processes wait.

    Attributes:
        sent: Number of requests sent.
        read: Number of tokens that the server read.
        wrote: Number of tokens that the server generated.
        found: Whether replies of earlier commands were used.
    """

    def __init__(
        self, server: Server, cache: str, concurrency: int, most: int | None, beat: Callable[[], None] = lambda: None
    ) -> None:
        self.server, self.concurrency, self.most, self.beat = server, concurrency, most, beat
        self.sent = self.read = self.wrote = 0
        self.found = False
        self._answers = Answers(cache)
        self._own: dict[str, Reply | None] = {}  # keys that this command sent; replies that are not stored
        self._repeats: set[str] = set()
        self._last = time.monotonic()
        self._lock = Lock()

    def replies(self, requests: Sequence[Request], parse: Callable[[Any], Reply]) -> list[Reply | None]:
        """Return the reply to each request; None if SIGTERM arrived before the reply.

        Args:
            requests: The requests; equal requests are sent once.
            parse: Parses the JSON of a response to a reply, or raises Unusable.

        Raises:
            ModelError: The server fails, or more requests are needed than the limit allows.
        """
        self._beat()
        keys = [request.key(self.server.url) for request in requests]
        wanted = dict(zip(keys, requests, strict=True))
        self._repeats |= {key for key, request in wanted.items() if request.repeat}
        replies = self._answers.get(wanted)
        self.found = self.found or any(key not in self._own for key in replies)
        replies |= {key: reply for key in wanted if (reply := self._own.get(key))}
        missing = [key for key in wanted if key not in replies]
        allowed = len(missing) if self.most is None else max(0, self.most - self.sent)
        new = [(key, wanted[key]) for key in missing[:allowed]]
        ask = partial(self._ask, parse)
        if new and not self.sent:  # the first request reveals a fault of the server
            replies |= self._at_once(partial(ask, FIRST_RETRIES), [new.pop(0)])
        replies |= self._at_once(partial(ask, RETRIES), new)
        if len(missing) > allowed and not requested():
            raise ModelError(f"max_requests {self.most}: more requests are needed. Raise max_requests; {SAVED}.")
        return [replies.get(key) for key in keys]

    def _at_once(self, ask: Callable[..., tuple[str, Reply]], requests: list[tuple[str, Request]]) -> dict[str, Reply]:
        """Send (key, request) pairs concurrently by the function ``ask``, and return the replies by key."""
        replies: dict[str, Reply] = {}
        pool = ThreadPoolExecutor(self.concurrency)
        pending = {pool.submit(ask, *request) for request in requests}
        try:
            while pending and not requested():
                self._beat()
                done, pending = wait(pending, TICK, FIRST_COMPLETED)
                replies |= [future.result() for future in done]
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            wait([future for future in pending if future.running()], GRACE)  # requests under way are paid for
        return replies

    def _ask(self, parse: Callable[[Any], Reply], retries: int, key: str, request: Request) -> tuple[str, Reply]:
        """Send a request, store the reply, and return its key and the reply.

        Nothing is sent if another command has stored a reply meanwhile.
        """
        if reply := self._answers.get([key]).get(key):
            return key, reply
        with self._lock:
            self.sent += 1
        self._own[key] = None
        try:
            reply = parse(self.server.post(request, retries))
        except Unusable as reason:
            reply = Reply(failure=self.server.hide(str(reason)))  # may quote an error message of the server
        with self._lock:
            self.read += reply.read
            self.wrote += reply.wrote
        if not reply.failure and not reply.is_empty:
            return key, self._answers.put(key, reply)
        self._own[key] = reply
        return key, reply

    def _beat(self) -> None:
        if time.monotonic() - self._last > BEAT:
            self.beat()
            self._last = time.monotonic()

    def forget(self, requests: Sequence[Request]) -> None:
        """Remove the stored replies to some requests."""
        self._answers.remove(request.key(self.server.url) for request in requests)

    def forget_repeats(self) -> None:
        """Remove the stored replies to requests of the null control, since each evaluation repeats its own requests."""
        self._answers.remove(self._repeats)
        self._repeats.clear()

    def __str__(self) -> str:
        return f"{self.sent:,} requests sent, {self.read:,} tokens read and {self.wrote:,} written"


def cost(read: float, wrote: float, prices: Sequence[float]) -> float:
    """Return the cost in US dollars of tokens read and written, given the two prices per million tokens.

    Example:
        >>> cost(2_000_000, 500_000, [0.5, 2.0])
        2.0
    """
    return (read * prices[0] + wrote * prices[1]) / 1e6


def _host(parts: Any) -> str:
    try:
        return parts.hostname or "" if parts.port is None or parts.port else ""
    except ValueError:  # the port is not a number
        return ""


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost" or host.endswith(".localhost")
