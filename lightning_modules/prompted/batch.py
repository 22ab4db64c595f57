"""A model whose answers come from a file of the batch API of a server, instead of requests."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from heedful.lightning_modules.prompted.endpoint import Endpoint
from heedful.lightning_modules.prompted.requests.replies import Reply, Request, Unusable
from heedful.records import DataError


class BatchEndpoint(Endpoint):
    """A model whose answers come from a file of the batch API of a server.

    Args:
        responses: Function from a request to the JSON of its response and the place of the response in a file.
        **settings: As for :class:`Endpoint`.
    """

    def __init__(self, responses: Any = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.responses = responses
        self.capabilities = replace(self.capabilities, repeats=0)  # a file has one response per request

    def _replies(self, requests: Sequence[Request]) -> list[Reply | None]:
        return [self._reply(*self.responses(request)) for request in requests]

    def _reply(self, body: Any, place: str) -> Reply:
        try:
            return self.way.reply(body)
        except Unusable as reason:
            raise DataError(f"{place}: {reason}. Have the model answer this request again.") from None

    def require_weights(self) -> None:
        """Require nothing: answers come from a file, not from a server."""

    @property
    def server(self) -> str:
        return sha256(b"a batch").hexdigest()[:12]

    def hidden(self, text: str) -> str:
        return text
