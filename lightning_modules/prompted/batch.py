"""An endpoint whose answers stand in the results of a batch: nothing is sent."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

import numpy as np

from heedful.lightning_modules.prompted.endpoint import Endpoint
from heedful.lightning_modules.prompted.requests.asker import Asker
from heedful.lightning_modules.prompted.requests.reply import Reply, Request
from heedful.lightning_modules.prompted.requests.server import Unusable
from heedful.records import ModelError, keys

PATHS = "/chat/completions", "/completions"  # of the protocol that take a batch


class Replies:
    """The answers to requests, which stand where an :class:`Asker` gets them from a server."""

    reused = 0

    def __init__(self) -> None:
        self._replies: dict[int, Reply] = {}

    def add(self, key: int, reply: Reply) -> None:
        """Add the answer to the request of this key."""
        self._replies[key] = reply

    def saved(self, requests: Sequence[Request]) -> dict[str, Reply]:
        """Each request, as a text, to its answer; all are there."""
        return {request.text: self._replies[key] for request, key in zip(requests, keys_of(requests), strict=True)}

    def replies(self, requests: Sequence[Request]) -> list[Reply | None]:
        """The answers to some requests."""
        saved = self.saved(requests)
        return [saved[request.text] for request in requests]


def keys_of(requests: Sequence[Request]) -> np.ndarray:
    """A 64-bit hash of all that decides the answer to each request: uint64 [requests]."""
    return keys(request.text for request in requests)


class BatchEndpoint(Endpoint):
    """A model behind a server that was asked by a batch; its settings are those of :class:`Endpoint`.

    Attributes:
        unanswered: How many inputs have no answer.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.unanswered = 0
        self._recorded = Replies()

    def add(self, keys: np.ndarray, answers: Sequence[Any], rows: Sequence[int]) -> dict[int, str]:
        """Add answers: bodies of responses to what :meth:`Endpoint.requests` asks.

        Args:
            keys: uint64 [answers], of the requests.
            answers: The bodies.
            rows: Where each stands in its file.

        Returns:
            The place of each that is not an answer, and why.
        """
        way = self.way
        unusable = {}
        for place, (key, body) in enumerate(zip(keys.tolist(), answers, strict=True)):
            try:
                self._recorded.add(key, replace(way.reply(body, self.prompt), run=self.run))
            except Unusable as why:
                unusable[place] = str(why)
        return unusable

    def finish(self) -> None:
        """All that was added is found."""

    def require_weights(self) -> None:
        """No server is asked."""

    @property
    def server(self) -> str:
        return sha256(b"a batch").hexdigest()[:12]

    def hidden(self, text: str) -> str:
        return text

    def _ask(self) -> Asker:
        return cast(Asker, self._recorded)

    def _request(self, question: str, repeat: int | str = 0) -> Request:
        return Request("", self.way.path, self.read, self._body(question))

    def on_validation_end(self) -> None:
        """It took nothing."""

    def counts_of(self, counted: Mapping[tuple[str, str], int]) -> dict[str, Any]:
        return super().counts_of(counted) | ({"unanswered": self.unanswered} if self.unanswered else {})


def require_batch(endpoint: Endpoint) -> None:
    """Refuse a way to ask that takes no batch.

    Raises:
        HeedfulError: It is a typed decision.
    """
    if endpoint.way.path not in PATHS:
        raise ModelError(
            f"model.read {endpoint.read} asks for typed decisions, which servers take one by one. Take model.read "
            "written or first_token."
        )
