"""What a server may take: so many bytes, so much time, and no place but its own."""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any

import httpx2

from heedful.lightning_modules.prompted.requests.answers import KEPT
from heedful.records import ModelError

MOST_BYTES = 8 * 2**20  # of an answer, packed and unpacked; those to prompts have some thousands
WHOLE = 10  # times the seconds that a server may be silent: all that one request may take
SILENT = 600  # seconds that a server may be silent where nobody says
FRAMING = "content-encoding", "content-length", "transfer-encoding"  # headers that say how the content was sent


class BoundedClient(httpx2.Client):
    """An HTTP client whose answers are read whole, within bounds, and from one host unless others are allowed.

    Args:
        url: The address of the server.
        allow_redirects: Whether another host may answer.
        **settings: As for httpx.
    """

    def __init__(self, url: str, allow_redirects: bool, **settings: Any) -> None:
        self._own = httpx2.URL(url)
        self._allow_redirects = allow_redirects
        super().__init__(event_hooks={"request": [self._require_own]}, follow_redirects=True, **settings)

    def _require_own(self, request: httpx2.Request) -> None:
        """Called before each request, also those to where a server redirects.

        Raises:
            HeedfulError: It goes to another host.
        """
        url = request.url
        is_same = (url.host, url.port) == (self._own.host, self._own.port) and url.scheme in ("https", self._own.scheme)
        if not self._allow_redirects and not is_same:
            raise ModelError(
                f"It redirects to another server, {url.scheme}://{url.netloc.decode()}. Name that in OPENAI_BASE_URL, "
                "or add model.allow_redirects true."
            )

    def send(self, request: httpx2.Request, *, stream: bool = False, **settings: Any) -> httpx2.Response:
        """Send a request and read the answer.

        It is read in a thread of its own, which is left alone where it takes too long: a byte now and then keeps any
        time-out of a socket from coming.

        Raises:
            HeedfulError: The answer is too large, takes too long, or is another host's.
        """
        whole = WHOLE * (request.extensions.get("timeout", {}).get("read") or SILENT)
        read: SimpleQueue[Any] = SimpleQueue()
        is_late = Event()
        fetch = super().send

        def work() -> None:
            try:
                read.put(_read(fetch(request, stream=True, **settings), is_late.is_set))
            except BaseException as error:  # raised below, in the thread that waits
                read.put(error)

        Thread(target=work, daemon=True).start()
        try:
            response = read.get(timeout=whole)
        except Empty:
            is_late.set()
            raise ModelError(f"It took more than {whole:g} s for one answer. Raise model.timeout; {KEPT}.") from None
        if isinstance(response, BaseException):
            raise response
        return response


def _read(response: httpx2.Response, is_late: Callable[[], bool]) -> httpx2.Response:
    """The response with its content, unpacked.

    Raises:
        HeedfulError: That is too large.
    """
    content = bytearray()
    try:
        for chunk in response.iter_bytes():
            content += chunk
            if max(len(content), response.num_bytes_downloaded) > MOST_BYTES:
                raise ModelError(
                    f"It sent an answer of more than {MOST_BYTES // 2**20} MiB. Look at the log of the server; {KEPT}."
                )
            if is_late():
                break
    finally:
        response.close()
    headers = [(name, value) for name, value in response.headers.multi_items() if name.lower() not in FRAMING]
    return httpx2.Response(response.status_code, headers=headers, content=bytes(content), request=response.request)
