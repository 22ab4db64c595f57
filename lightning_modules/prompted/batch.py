"""An endpoint whose answers are those of a batch: nothing is sent."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

from heedful.lightning_modules.prompted.endpoint import Endpoint
from heedful.lightning_modules.prompted.requests.asker import Asker
from heedful.lightning_modules.prompted.requests.reply import Reply, Request
from heedful.lightning_modules.prompted.requests.server import Unusable
from heedful.records import DataError, SettingError

READ = "written", "first_token"  # the ways to read an answer that a batch can be asked in


class BatchEndpoint(Endpoint):
    """A model behind a server that was asked by a batch.

    Args:
        responses: Function of a request that returns the body of its response, and the place of it for messages.
        **settings: Those of :class:`Endpoint`.
    """

    def __init__(self, responses: Any = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.responses = responses

    def replies(self, requests: Sequence[Request]) -> list[Reply]:
        """The answers to requests, in the place of an :class:`Asker`.

        Raises:
            HeedfulError: A response is not an answer, or there is none to a request.
        """
        return [self._reply(*self.responses(request)) for request in requests]

    def _reply(self, body: Any, where: str) -> Reply:
        try:
            return replace(self.way.reply(body, self.prompt), run=self.run)
        except Unusable as reason:
            raise DataError(f"{where}: {reason}. Have the model answer this request again.") from None

    def _begin(self, questions: Sequence[str]) -> None:
        self._require_answers(self.replies([self._request(question) for question in questions]))
        self._has_begun = True

    def _probe(self, asker: Asker, requests: Sequence[Request]) -> None:
        """There is no server to try out."""

    def _ask(self) -> Asker:
        return cast(Asker, self)

    def _request(self, question: str, repeat: int | str = 0) -> Request:
        return Request("", self.way.path, self.read, self._body(question))

    def require_weights(self) -> None:
        """There is no server to look for."""

    @property
    def server(self) -> str:
        return sha256(b"a batch").hexdigest()[:12]

    def hidden(self, text: str) -> str:
        return text

    def finish(self) -> None:
        """It cost nothing."""


def require_batch(endpoint: Endpoint) -> None:
    """Refuse a way to read answers that batches do not have.

    Raises:
        HeedfulError: It is a typed decision.
    """
    if endpoint.read not in READ:
        raise SettingError(
            f"model.read {endpoint.read}: servers take typed decisions one by one. Use model.read written or "
            "first_token."
        )
