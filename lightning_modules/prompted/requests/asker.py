"""Asks a server for many answers at once, each of them once."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from queue import Empty, SimpleQueue
from typing import Any

from heedful.lightning_modules.prompted.requests.answers import KEPT, Answers, key_of
from heedful.lightning_modules.prompted.requests.meter import Meter
from heedful.lightning_modules.prompted.requests.reply import Reply, Request
from heedful.lightning_modules.prompted.requests.server import Refused, Unusable
from heedful.records import HeedfulError, ModelError, stopping

MOST_UNUSABLE = 4  # times that a request is sent whose answers cannot be read
MOST_EMPTY = 2  # times that a request is sent whose answers are empty
TICK = 0.1  # seconds between two looks at what else happens
BEAT = 60.0  # seconds between two signs of life
GRACE = 5.0  # seconds that requests on their way are waited for at the end: their answers are paid for
Send = Callable[[Request], Reply]


class Asker:
    """Gets answers from the file, and the others from the server.

    Args:
        send: Sends a request; called in several threads. It raises Unusable, Refused or HeedfulError.
        answers: The file.
        concurrency: Most requests on their way at once.
        meter: Counts what it costs.
        run: The name of the command.
        most: Most requests that the command sends; None for any number.
        beat: Called once a minute while there are questions.
    """

    def __init__(
        self,
        send: Send,
        answers: Answers,
        concurrency: int,
        meter: Meter,
        run: str,
        most: int | None = None,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self.send = send
        self.answers = answers
        self.concurrency = concurrency
        self.meter = meter
        self.run = run
        self.most = most
        self.beat = beat
        self._sent = 0
        self._beaten = time.monotonic()
        self._reused: set[str] = set()

    @property
    def reused(self) -> int:
        """How many answers came from the file, where another command had left them."""
        return len(self._reused)

    def replies(self, requests: Sequence[Request]) -> list[Reply | None]:
        """The answers to some requests; None where SIGTERM came before there was one.

        Raises:
            HeedfulError: The server fails, or the command may send no more requests.
        """
        self._beat()
        saved = self.saved(requests)
        self._reused |= {text for text, reply in saved.items() if reply.run != self.run}
        wanted = {request.text: request for request in requests if request.text not in saved}
        left = len(wanted) if self.most is None else self.most - self._sent
        replies = saved | self._asked(list(wanted.values())[:left])
        if len(wanted) > left and not stopping.requested():
            self._refuse()
        return [replies.get(request.text) for request in requests]

    def _beat(self) -> None:
        if time.monotonic() - self._beaten > BEAT:
            self.beat()
            self._beaten = time.monotonic()

    def saved(self, requests: Sequence[Request]) -> dict[str, Reply]:
        """The answers that are in the file, by the texts of their requests, but for empty ones of other commands.

        What was wrong with the server then may be mended.
        """
        texts = {key_of(request.text): request.text for request in requests}
        answers = self.answers.get(texts)
        saved = {key: _read(answer, self.answers) for key, answer in answers.items()}
        empty = {key for key, reply in saved.items() if reply.is_empty and reply.run != self.run}
        self.answers.forget({key: answers[key] for key in empty})
        return {texts[key]: reply for key, reply in saved.items() if key not in empty}

    def _refuse(self) -> None:
        raise ModelError(
            f"model.max_requests {self.most}: so many requests were sent, and more are needed. Raise "
            "model.max_requests; the answers so far are kept."
        )

    def _asked(self, requests: Sequence[Request]) -> dict[str, Reply]:
        """The answers to requests of which the file has none."""
        replies: dict[str, Reply] = {}
        if not requests:
            return replies
        with _crew(self.send, min(self.concurrency, len(requests))) as (jobs, results):
            failed = 0
            try:
                with self.meter.running() as tick:
                    self._collect(requests, replies, jobs, results, tick)
            except HeedfulError:
                failed = 1
                raise
            finally:
                self._collect_late(jobs, results, len(requests) - len(replies) - failed, replies)
        return replies

    def _collect(
        self,
        requests: Sequence[Request],
        replies: dict[str, Reply],
        jobs: SimpleQueue,
        results: SimpleQueue,
        tick: Callable[[], None],
    ) -> None:
        tries = dict.fromkeys((request.text for request in requests), 1)
        before = dict[str, Reply]()
        self._sent += len(requests)
        for request in requests:
            jobs.put(request)
        while len(replies) < len(requests) and not stopping.requested():
            self._beat()
            tick()
            try:
                request, result = results.get(timeout=TICK)
            except Empty:
                continue
            text = request.text
            if isinstance(result, HeedfulError):
                raise result
            self.meter.add(result)
            if isinstance(result, Reply):
                result = result.behind(before.get(text))  # the tokens of each try are paid for
                before[text] = result
            if isinstance(result, Reply) and (result.refusal or not result.is_empty or tries[text] >= MOST_EMPTY):
                self._keep(request, result, replies)
            elif isinstance(result, Unusable) and tries[text] >= MOST_UNUSABLE:
                raise ModelError(
                    f"{request.url}{request.path} sent, {tries[text]} times: {result}. Look at the log of the server, "
                    f"or take another model.read; {KEPT}."
                )
            elif self._sent == self.most:
                self._refuse()
            else:
                self._sent += 1
                tries[text] += 1
                jobs.put(request)

    def _collect_late(self, jobs: SimpleQueue, results: SimpleQueue, left: int, replies: dict[str, Reply]) -> None:
        """Keep the answers that come in a moment after the end of a run that failed or was stopped."""
        on_their_way = left - len(_emptied(jobs))
        end = time.monotonic() + GRACE
        while on_their_way > 0 and (rest := end - time.monotonic()) > 0:
            try:
                request, result = results.get(timeout=rest)
            except Empty:
                return
            on_their_way -= 1
            if isinstance(result, Reply) and not result.is_empty:
                self.meter.add(result)
                self._keep(request, result, replies)

    def _keep(self, request: Request, reply: Reply, replies: dict[str, Reply]) -> None:
        reply = replace(reply, at=datetime.now(UTC).isoformat(timespec="seconds"), run=self.run)
        stored = self.answers.put(key_of(request.text), request.text, reply.as_text())
        replies[request.text] = _read(stored, self.answers)


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


def _work(send: Send, jobs: SimpleQueue, results: SimpleQueue) -> None:
    while (request := jobs.get()) is not None:
        try:
            results.put((request, send(request)))
        except Refused as refused:
            results.put((request, Reply(refusal=str(refused))))
        except (Unusable, HeedfulError) as error:
            results.put((request, error))
        except BaseException as error:  # a thread that ends silently would be waited for
            wrong = f"{request.url}{request.path} cannot be asked, or its answer not be read ({type(error).__name__})."
            results.put((request, ModelError(f"{wrong} Look at the log of the server; {KEPT}.")))


def _read(answer: str, answers: Answers) -> Reply:
    try:
        return Reply.of_text(answer)
    except (ValueError, TypeError, KeyError):
        raise ModelError(
            f"model.cache {answers.path} holds an answer that is not of this version of Heedful. Move the file away, "
            "or name another with model.cache."
        ) from None
