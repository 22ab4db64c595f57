"""What is kept of an answer of a server, and the checks that it passes first."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from heedful.lightning_modules.prompted.requests.server import REFUSES, Unusable
from heedful.records.prompts.wording import without_thoughts

LONGEST_NAME = 200  # characters of what a server calls a model


@dataclass(frozen=True)
class Request:
    """A request: all that decides the answer.

    Attributes:
        url: The server, without secrets.
        path: The address below it.
        way: How the answer is read.
        body: What is sent.
        repeat: 0; or a text that begins with the name of the run, where an earlier answer does not do.
    """

    url: str
    path: str
    way: str
    body: Mapping[str, Any]
    repeat: int | str = 0

    @cached_property
    def text(self) -> str:
        """The request as JSON, the same text for the same request."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Reply:
    """An answer of a server.

    Attributes:
        text: What was written; "" for nothing.
        tokens: The most probable first tokens, with their log-probabilities; None where they were not asked for.
        probabilities: The text of a label to its probability; None where they were not asked for.
        read: Tokens that the server read, as it says.
        wrote: Tokens that it wrote.
        refusal: Why the server does not answer the request; "" where it does.
        model: The model that answered, as the server calls it; "" where it does not say.
        fingerprint: Of what the model ran on, as the server says.
        at: When it came, in UTC; "" where that is not known.
        run: The run that asked; "" where that is not known.
    """

    text: str = ""
    tokens: tuple[tuple[str, float], ...] | None = None
    probabilities: Mapping[str, float] | None = None
    read: int = 0
    wrote: int = 0
    refusal: str = ""
    model: str = ""
    fingerprint: str = ""
    at: str = ""
    run: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing at all, but for what a model thinks aloud."""
        return not without_thoughts(self.text).strip() and not self.tokens and not self.probabilities

    @property
    def said(self) -> str:
        """The answer for people: its text or probabilities, or why there is none, without the address of the server."""
        listed = ", ".join(f"{text} {p:.2g}" for text, p in (self.probabilities or {}).items())
        return self.refusal.partition(REFUSES)[2] or self.refusal or self.text or listed

    def behind(self, earlier: "Reply | None") -> "Reply":
        """This answer with the tokens of an earlier one to the same request, too."""
        if earlier is None:
            return self
        return replace(self, read=self.read + earlier.read, wrote=self.wrote + earlier.wrote)

    def as_text(self) -> str:
        """The answer as JSON."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def of_text(cls, text: str) -> "Reply":
        """The answer that :meth:`as_text` wrote."""
        saved = json.loads(text)
        if saved["tokens"] is not None:
            saved["tokens"] = tuple((token, value) for token, value in saved["tokens"])
        return cls(**saved)


def sound(text: str) -> str:
    """A text without halves of characters, which JSON may hold and no file takes."""
    return text.encode("utf-8", "replace").decode()


def at(answer: Any, *path: str | int) -> Any:
    """A value inside JSON; None where there is none."""
    for step in path:
        if isinstance(step, str) and isinstance(answer, Mapping):
            answer = answer.get(step)
        elif isinstance(step, int) and isinstance(answer, list) and step < len(answer):
            answer = answer[step]
        else:
            return None
    return answer


def about(answer: Any) -> dict[str, Any]:
    """What a server says of its answer: the tokens that it read and wrote, else 0, and which model it is."""
    names = {"read": ("prompt_tokens", "input_tokens"), "wrote": ("completion_tokens", "output_tokens")}
    counts = {key: [at(answer, "usage", name) for name in several] for key, several in names.items()}
    tokens = {key: next((n for n in several if type(n) is int and n >= 0), 0) for key, several in counts.items()}
    said = {"model": at(answer, "model"), "fingerprint": at(answer, "system_fingerprint")}
    return tokens | {key: sound(text)[:LONGEST_NAME] for key, text in said.items() if isinstance(text, str)}


def choice(answer: Any) -> Mapping[str, Any]:
    """The one choice of the answer.

    Raises:
        Unusable: There is none, or more than one.
    """
    first = at(answer, "choices", 0)
    if not isinstance(first, Mapping):
        raise Unusable(f"an answer without choices{_told(answer)}")
    if len(answer["choices"]) > 1:
        raise Unusable(f"{len(answer['choices'])} choices in place of one answer, see model.extra")
    return first


def checked(probabilities: Mapping[str, Any], texts: tuple[str, ...]) -> dict[str, float]:
    """Probabilities of the labels' texts, in their order, as they came.

    Raises:
        Unusable: One is missing or is not a probability, or they do not sum to 1.
    """
    values = [probabilities.get(text) for text in texts]
    if any(isinstance(v, bool) or not isinstance(v, int | float) or not math.isfinite(v) for v in values):
        raise Unusable("probabilities that are not finite, or not one for each label")
    if min(values) < 0 or abs(sum(values) - 1) > 0.02:
        raise Unusable(f"probabilities that sum to {sum(values):.3g}, not to 1")
    return dict(zip(texts, map(float, values), strict=True))


def _told(answer: Any) -> str:
    error = at(answer, "error", "message") or at(answer, "error")
    return f" ({str(error)[:200]})" if error else ""
