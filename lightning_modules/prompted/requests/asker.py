"""Asks a server for many answers at once, each of them once."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import Any

from heedful.lightning_modules.prompted.requests.answers import LEASE, Answers, key_of
from heedful.lightning_modules.prompted.requests.meter import Meter
from heedful.lightning_modules.prompted.requests.reply import Reply, Request
from heedful.lightning_modules.prompted.requests.server import KEPT, Refused, Unusable
from heedful.records import HeedfulError, stopping

MOST_UNUSABLE = 4  # times that a request is sent whose answers cannot be read
MOST_EMPTY = 2  # times that a request is sent whose answers are empty
TICK = 0.1  # seconds between two looks at what else happens
GRACE = 5.0  # seconds that requests on their way are waited for at the end: their answers are paid for
Send = Callable[[Request], Reply]


class Asker:
    """Gets answers from the file, and the others from the server.

    Args:
        send: Sends a request; called in several threads. It raises Unusable, Refused or HeedfulError.
        answers: The file.
        concurrency: Most requests on their way at once.
        most: Most requests that the run sends; None for any number.
        meter: Shows what it costs.
    """

    def __init__(
        self, send: Send, answers: Answers, concurrency: int, most: int | None = None, meter: Meter | None = None
    ) -> None:
        self.send = send
        self.answers = answers
        self.concurrency = concurrency
        self.most = most
        self.meter = meter
        self._reused: set[str] = set()

    @property
    def reused(self) -> int:
        """How many answers of this process came from the file, where an earlier run had left them."""
        return len(self._reused)

    def replies(self, requests: Sequence[Request]) -> list[Reply | None]:
        """The answers to some requests; None where SIGTERM came before there was one.

        Raises:
            HeedfulError: The server fails, or the run may send no more requests.
        """
        texts = [request.text for request in requests]
        keys = [key_of(text) for text in texts]
        by_key = dict(zip(keys, requests, strict=True))
        wanted = dict(zip(keys, texts, strict=True))
        replies = {}
        while wanted:
            claimed = self.answers.claim(wanted, self.most)
            saved = self._saved(claimed.answers)
            replies |= saved
            self._reused |= {key for key, reply in saved.items() if reply.run != self.answers.run}
            if claimed.mine:
                replies |= self._asked({key: by_key[key] for key in claimed.mine})
            elif claimed.over:
                self._refuse()
            wanted = {key: text for key, text in wanted.items() if key not in replies}
            if stopping.requested():
                break
            if wanted and not claimed.mine:
                time.sleep(TICK)  # another process asks
        return [replies.get(key) for key in keys]

    def saved(self, requests: Sequence[Request]) -> dict[str, Reply]:
        """The answers that are in the file, by the texts of their requests."""
        texts = {key_of(request.text): request.text for request in requests}
        return {texts[key]: reply for key, reply in self._saved(self.answers.get(texts)).items()}

    def _saved(self, answers: Mapping[str, str]) -> dict[str, Reply]:
        """Answers from the file, but for empty ones of other runs: what was wrong with the server may be mended."""
        saved = {key: _read(answer, self.answers) for key, answer in answers.items()}
        forgotten = self.answers.forget([key for key, reply in saved.items() if reply.is_empty])
        return {key: reply for key, reply in saved.items() if key not in forgotten}

    def _refuse(self) -> None:
        raise HeedfulError(f"§model.max_requests {self.most}: so many requests were sent, and more are needed. {KEPT}")

    def _asked(self, requests: Mapping[str, Request]) -> dict[str, Reply]:
        """The answers to requests that this process has claimed."""
        replies: dict[str, Reply] = {}
        with _crew(self.send, min(self.concurrency, len(requests))) as (jobs, results):
            failed = 0
            try:
                with self.meter.running() if self.meter else _nothing() as tick:
                    self._collect(requests, replies, jobs, results, tick)
            except HeedfulError:
                failed = 1
                raise
            finally:
                try:
                    self._collect_late(jobs, results, len(requests) - len(replies) - failed, replies)
                finally:
                    if left := [key for key in requests if key not in replies]:
                        self.answers.release(left)
        return replies

    def _collect(
        self,
        requests: Mapping[str, Request],
        replies: dict[str, Reply],
        jobs: SimpleQueue,
        results: SimpleQueue,
        tick: Callable[[], None],
    ) -> None:
        tries = dict.fromkeys(requests, 1)
        before = dict[str, Reply]()
        for key, request in requests.items():
            jobs.put((key, request))
        renewed = time.monotonic()
        while len(replies) < len(requests) and not stopping.requested():
            if time.monotonic() - renewed > LEASE / 3:
                self.answers.renew([key for key in requests if key not in replies])
                renewed = time.monotonic()
            tick()
            try:
                key, result = results.get(timeout=TICK)
            except Empty:
                continue
            if isinstance(result, Reply):
                result = result.behind(before.get(key))  # the tokens of each try are paid for
                before[key] = result
            if isinstance(result, Reply) and (result.refusal or not result.is_empty or tries[key] >= MOST_EMPTY):
                self._keep(key, result, replies)
            elif isinstance(result, HeedfulError):
                raise result
            elif isinstance(result, Unusable) and tries[key] >= MOST_UNUSABLE:
                raise HeedfulError(
                    f"{requests[key].url}{requests[key].path} sent, {tries[key]} times: {result}. {KEPT}"
                )
            elif not self.answers.again(key, self.most):
                self._refuse()
            else:
                tries[key] += 1
                jobs.put((key, requests[key]))

    def _collect_late(self, jobs: SimpleQueue, results: SimpleQueue, left: int, replies: dict[str, Reply]) -> None:
        """Keep the answers that come in a moment after the end of a run that failed or was stopped."""
        on_their_way = left - len(_emptied(jobs))
        end = time.monotonic() + GRACE
        while on_their_way > 0 and (rest := end - time.monotonic()) > 0:
            try:
                key, result = results.get(timeout=rest)
            except Empty:
                return
            on_their_way -= 1
            if isinstance(result, Reply) and not result.is_empty:
                self._keep(key, result, replies)

    def _keep(self, key: str, reply: Reply, replies: dict[str, Reply]) -> None:
        reply = replace(reply, at=datetime.now(UTC).isoformat(timespec="seconds"), run=self.answers.run)
        self.answers.put(key, reply.as_text(), reply.read, reply.wrote)
        replies[key] = reply


@contextmanager
def _crew(send: Send, n: int) -> Iterator[tuple[SimpleQueue, SimpleQueue]]:
    """Threads that send what stands in a queue. They end with the process, whatever they wait for."""
    jobs = SimpleQueue()
    results = SimpleQueue()
    for _ in range(n):
        threading.Thread(target=_work, args=(send, jobs, results), daemon=True).start()
    try:
        yield jobs, results
    finally:
        _emptied(jobs)
        for _ in range(n):
            jobs.put(None)


def _emptied(jobs: SimpleQueue) -> list[Any]:
    """What nobody has begun with yet, taken out of a queue."""
    taken: list[Any] = []
    while not jobs.empty():
        try:
            taken.append(jobs.get_nowait())
        except Empty:
            break
    return taken


@contextmanager
def _nothing() -> Iterator[Callable[[], None]]:
    yield lambda: None


def _work(send: Send, jobs: SimpleQueue, results: SimpleQueue) -> None:
    while (job := jobs.get()) is not None:
        key, request = job
        try:
            results.put((key, send(request)))
        except Refused as refused:
            results.put((key, Reply(refusal=str(refused))))
        except (Unusable, HeedfulError) as error:
            results.put((key, error))
        except BaseException as error:  # a thread that ends silently would be waited for
            results.put((key, HeedfulError(f"{request.url}{request.path}: {type(error).__name__}. {KEPT}")))


def _read(answer: str, answers: Answers) -> Reply:
    try:
        return Reply.of_text(answer)
    except (ValueError, TypeError, KeyError):
        raise HeedfulError(f"§model.cache {answers.path} holds an answer that is none: move the file away.") from None
