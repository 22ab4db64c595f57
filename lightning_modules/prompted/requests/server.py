"""The server: where it is, how it is asked, and in which words it is told that it could not be."""

import ipaddress
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from heedful.lightning_modules.prompted.requests.answers import KEPT
from heedful.lightning_modules.prompted.requests.secrets import Secrets
from heedful.records import HeedfulError, ModelError, RunError

URL, KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
USUAL = "https://api.openai.com/v1"
RETRIES = 8  # of one request, after HTTP 408, 409, 429, 5xx, a time-out or a broken connection; Retry-After is honoured
ONE = (400, 413, 422)  # HTTP statuses of one request that is refused, while others may be answered
PATIENCE = 10.0  # seconds in which a server shows that it is there
REFUSES = " refuses the request: "
QUOTES = "'", '"'
LONGEST = 150  # characters of what a server says that a message repeats


class Unusable(Exception):
    """What came back is no answer, and may come right when it is asked for once more."""


class Refused(Exception):
    """The server does not answer this one request, such as one that is too long or that a filter holds back."""


class Named(NamedTuple):
    """What messages call the address and the key: what the user would change."""

    url: str = URL
    key: str = KEY


IN_ENVIRONMENT = Named()
IN_PYTHON = Named("url=", "key=")


@dataclass(frozen=True)
class Address:
    """Where a server is, and the key for it. They are no settings, and are never shown: not in a ``repr`` either.

    Attributes:
        url: Its base URL; None for the one in OPENAI_BASE_URL, or else that of OpenAI.
        key: The key; None for the one in OPENAI_API_KEY, if there is one, and "" for none.
    """

    url: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)

    @property
    def named(self) -> Named:
        """What messages call them: arguments of Python where they were given there, or else the environment's names."""
        is_own = self.key is not None or (self.url is not None and not os.environ.get(KEY))
        return Named(URL if self.url is None else IN_PYTHON.url, IN_PYTHON.key if is_own else KEY)

    def server(self, timeout: float, allow_redirects: bool = False) -> "Server":
        """The server there; see :class:`Server`."""
        url = (os.environ.get(URL) or USUAL) if self.url is None else self.url
        key = os.environ.get(KEY) if self.key is None else self.key
        return Server(url, key or None, timeout, RETRIES, allow_redirects, self.named)


class Server:
    """A server that speaks the OpenAI protocol; its methods may be called in several threads.

    Args:
        url: Its base URL; user info and a query are sent, and never shown.
        key: The key; None for none.
        timeout: Seconds for which the server may be silent.
        retries: How often the client itself repeats a request.
        allow_redirects: Whether the server may redirect to another host.
        named: What messages call the address and the key.

    Attributes:
        url: Without user info and query.
        known_as: The same with a hash of the query, which may name the model behind it.

    Raises:
        HeedfulError: The URL is none, there is no key for another machine, the key cannot be sent, or openai is not
            installed.
    """

    def __init__(
        self,
        url: str,
        key: str | None,
        timeout: float,
        retries: int = RETRIES,
        allow_redirects: bool = False,
        named: Named = IN_ENVIRONMENT,
    ) -> None:
        given = urlsplit(url)
        host = _host(given)
        if given.scheme not in ("http", "https") or not host:
            raise ModelError(f"{named.url} is not the address of a server. Set one, such as http://localhost:8000/v1.")
        at = given.netloc.rpartition("@")
        self.url = urlunsplit((given.scheme, at[2], given.path, "", "")).rstrip("/")
        if not key and not at[0] and not _is_loopback(host):
            raise ModelError(
                f"{named.key} is not set, and {self.url} is not on this machine. Set it, or {named.url} for another "
                "server."
            )
        if wrong := _unfit(key or ""):
            raise ModelError(f"{named.key} {wrong}; nothing was sent. Set it to the key alone.")
        query = dict(parse_qsl(given.query))
        self.known_as = f"{self.url}?{sha256(given.query.encode()).hexdigest()[:8]}" if query else self.url
        self.secrets = Secrets([*filter(None, (key, at[0], *query.values()))])
        self.timeout = timeout
        self.named = named
        self._is_reached = False
        self._openai, self._client = self._connect(key, at[0], query, retries, allow_redirects)

    def _connect(
        self, key: str | None, user: str, query: Mapping[str, str], retries: int, allow_redirects: bool
    ) -> tuple[Any, Any]:
        try:
            import openai

            from heedful.lightning_modules.prompted.requests.bounds import BoundedClient
        except ImportError:
            raise RunError(
                "A model behind a server needs the package openai. Install it with pip install 'openai>=3.54'."
            ) from None
        self.secrets.hide_in_logs()
        name, _, password = user.partition(":")
        settings = {"auth": (unquote(name), unquote(password))} if user else {}
        client = openai.OpenAI(
            base_url=self.url,
            api_key=key or "none",
            timeout=self.timeout,
            max_retries=retries,
            default_query=query or None,
            http_client=BoundedClient(self.url, allow_redirects, **settings),
        )
        return openai, client

    def require_reachable(self) -> None:
        """Say at once that nothing listens there, and not after all retries; asked once, and of any path.

        Raises:
            HeedfulError: There is no such machine, or it takes no connection.
        """
        import httpx2

        if self._is_reached:
            return
        try:
            once = self._client.with_options(max_retries=0, timeout=min(self.timeout, PATIENCE))
            once.get("/models", cast_to=httpx2.Response)
        except self._openai.APIConnectionError as error:
            if isinstance(error.__cause__, httpx2.ConnectError):
                raise self._refusal(-1, self._cause(error)) from None
        except Exception:  # the question itself will show what is wrong
            pass
        self._is_reached = True

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send a request, and give the JSON that comes back; secrets in it are hidden.

        Raises:
            Unusable: It is not JSON.
            Refused: The server does not answer this request.
            HeedfulError: The server cannot be reached, refuses the key or the model, or goes out of bounds.
        """
        import httpx2

        try:
            response = self._client.post(path, body=dict(body), cast_to=httpx2.Response)
            return self.secrets.hide_inside(json.loads(response.text))
        except ValueError:
            raise Unusable("something else than JSON") from None
        except HeedfulError as error:  # out of bounds
            raise type(error)(self.secrets.hide(str(error))).at(f"{self.url}{path}") from None
        except self._openai.APIStatusError as error:
            said = self._said(error)
            status = error.status_code
            times = _times(error)
        except self._openai.APITimeoutError as error:
            said = f" ({self.timeout:g} s)"
            status = 0
            times = _times(error)
        except self._openai.APIConnectionError as error:
            said = self._cause(error)
            status = -1
            times = ""
        if status in ONE:
            raise Refused(f"{self.url}{path}{REFUSES}HTTP {status}{said}")
        raise self._refusal(status, said, path, str(body.get("model")), times)

    def _cause(self, error: Exception) -> str:
        """Why there is no connection, in brackets; never the value of a header, which may be the key in any form."""
        import httpx2

        cause = error.__cause__ or error
        is_of_network = isinstance(cause, httpx2.NetworkError | httpx2.RemoteProtocolError)
        told = self.secrets.hide(str(cause))[:LONGEST] if is_of_network else ""
        return f" ({told or type(cause).__name__})"

    def _said(self, error: Any) -> str:
        """What a server says of its refusal, in brackets."""
        try:
            told = json.loads(error.response.text)
            for name in ("error", "message", "detail"):
                if isinstance(told, Mapping) and name in told:
                    told = told[name]
            told = self.secrets.hide_inside(told)
            text = told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)
        except ValueError:
            text = error.response.text
        text = " ".join(self.secrets.hide(text).split())[:LONGEST].rstrip(".")
        return f" ({text})" if text else ""

    def _refusal(self, status: int, said: str, path: str = "", model: str = "", times: str = "") -> HeedfulError:
        """The error for an HTTP status; 0 for a time-out, -1 for no connection."""
        where = f"{self.url}{path}"
        look = f"Look at the log of the server; {KEPT}."
        if status == -1:
            return ModelError(f"{self.url} cannot be reached{said}. Start the server, or set {self.named.url}; {KEPT}.")
        if status == 0:
            return ModelError(f"{where} gave no answer in time{times}{said}. Raise model.timeout; {KEPT}.")
        if status in (401, 403):
            return ModelError(
                f"{where} refuses the key in {self.named.key}: HTTP {status}{said}. Set another key; {KEPT}."
            )
        if status == 404:
            return ModelError(
                f"{where} has no model {model}, or there is no such address: HTTP 404{said}. See model.name and "
                f"{self.named.url}; {KEPT}."
            )
        if status == 429:
            return ModelError(f"{where} had too many requests{times}{said}. Lower model.concurrency, or wait; {KEPT}.")
        if status >= 500:
            return ModelError(f"{where} failed{times}: HTTP {status}{said}. {look}")
        return ModelError(f"{where}{REFUSES}HTTP {status}{said}. {look}")


def _times(error: Any) -> str:
    """How often a request was sent, and how long the server asks to wait, which may be longer than the client does."""
    again = error.request.headers.get("x-stainless-retry-count", "0")
    response = getattr(error, "response", None)
    wait = response.headers.get("retry-after", "") if response is not None else ""
    times = f", {int(again) + 1} times" if again.isdecimal() and int(again) else ""
    return f"{times}, and asks to wait {wait} s" if wait.isdecimal() else times


def _unfit(key: str) -> str:
    """Why a key cannot be that of a header, in words that follow its name; "" where it can."""
    if any(not "!" <= character <= "~" for character in key):
        return "holds a line break, a space or another character that no header may hold"
    return "stands in quotes" if key[:1] in QUOTES or key[-1:] in QUOTES else ""


def _host(given: Any) -> str:
    try:
        return given.hostname or "" if given.port is None or given.port else ""
    except ValueError:  # of a port that is no number
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
