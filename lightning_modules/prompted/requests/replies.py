"""Requests to a server, and two ways to read its responses: the written text, or the scores of the first token."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from heedful.records import NO_LABEL, ModelError, Task, listing
from heedful.records.answers import without_surrogates
from heedful.records.prompts import Prompt, bare

LISTED = {True: 20, False: 5}  # log-probabilities to request, of a chat and of a text; servers allow no more
TOO_LITTLE = 0.01  # largest probability of a token that begins two labels; smallest of all labels together
SAME = 1e-9  # probabilities that differ by less are equal
ROUNDED = 0.02  # rounding error of a sum of probabilities
BESIDE = "reasoning_content", "reasoning", "refusal"  # fields that may hold a text in place of the content
EMPTY = "an empty content"  # begins the failure of such an answer
QUOTED = 80  # characters of such a text that a failure quotes
Scores = Sequence[tuple[str, float]]


class Unusable(Exception):
    """Raised if the response of a server holds no answer to the request."""


@dataclass(frozen=True)
class Request:
    """A request to a server.

    Attributes:
        path: The path below the base URL.
        body: The content of the request.
        repeat: 1 for the second request of the null control, which repeats inputs; otherwise 0.
    """

    path: str
    body: Mapping[str, Any]
    repeat: int = 0

    def key(self, url: str) -> str:
        """Return the hash of the request and the base URL, under which the reply is stored."""
        text = json.dumps([url, self.path, self.body, self.repeat], sort_keys=True, ensure_ascii=False)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Reply:
    """The answer of a server to a request.

    Attributes:
        text: The text that the model wrote.
        scores: The most probable first tokens with their log-probabilities.
        model: Name of the model that answered; "" if the server does not name it.
        failure: Why there is no answer; "" if there is one. Failures are not stored.
        read: Number of tokens that the server read.
        wrote: Number of tokens that the model wrote.
    """

    text: str = ""
    scores: Scores | None = None
    model: str = ""
    failure: str = ""
    read: int = 0
    wrote: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether the reply has neither a text nor a score."""
        return not self.text.strip() and not self.scores

    @property
    def shown(self) -> str:
        """The answer as messages show it, or the reason why there is none."""
        return self.failure or self.text


def look_up(answer: Any, *path: str | int) -> Any:
    """Look up a path of keys and indices in nested JSON; None if a key is missing."""
    for step in path:
        try:
            answer = answer[step] if isinstance(answer, dict | list) else None
        except (KeyError, IndexError, TypeError):
            return None
    return answer


class Written:
    """Reads an answer from the text that a model generates; :class:`FirstToken` reads it from log-probabilities
    instead.

    Args:
        settings: Entries of a request apart from the prompt.
        chat: Whether to send the prompt as the turns of a chat; otherwise as one text.
    """

    name = "written"
    has_probabilities = False

    def __init__(self, settings: Mapping[str, Any], chat: bool) -> None:
        self.settings = dict(settings)
        self.chat = chat
        self.path = "/chat/completions" if chat else "/completions"

    def require(self, prompt: Prompt, task: Task) -> None:
        """Check that this class can read the answers to a task.

        Here nothing is checked, since generated text is read for all tasks. A subclass may raise an error.
        """

    def body(self, prompt: Prompt, question: str) -> dict[str, Any]:
        """Return the JSON of the request that asks a question."""
        content = {"messages": prompt.messages(question)} if self.chat else {"prompt": prompt.text(question)}
        return {**self.settings, **content}

    def reply(self, answer: Any) -> Reply:
        """Convert the JSON of a response to a reply.

        Raises:
            Unusable: The response holds no answer.
        """
        choices = look_up(answer, "choices")
        choices = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
        if (n := len(choices)) != 1:
            error = look_up(answer, "error", "message") or look_up(answer, "error")
            raise Unusable(f"{n} choices in place of one answer" + (f" ({str(error)[:200]})" if error else ""))
        message = look_up(choices[0], "message") if self.chat else choices[0]
        text = _text_of(look_up(message, "content" if self.chat else "text"))
        counts = (look_up(answer, "usage", name) for name in ("prompt_tokens", "completion_tokens"))
        read, wrote = (n if type(n) is int else 0 for n in counts)
        model = look_up(answer, "model")
        named = model if isinstance(model, str) else ""
        failure = "" if text.strip() else _text_beside(message)
        return Reply(without_surrogates(text), model=named, failure=failure, read=read, wrote=wrote)

    def read(self, reply: Reply, prompt: Prompt) -> tuple[str, list[float] | None]:
        """Return the answer in a reply: a label, :data:`.NO_LABEL` or a text; and the label probabilities or None."""
        return prompt.read(reply.text), None


class FirstToken(Written):
    """Computes label probabilities from the probabilities that the server lists for the first token of an answer.

    A listed token counts for a label if the label's text begins with the token, or the token begins with the text,
    without regard to case and outer spaces. The probability of a label is the sum over these tokens. A label without a
    listed token gets the smallest listed probability, which is an upper bound. Probabilities are then divided by their
    sum. If all labels together have less than 0.01, there is no answer.
    """

    name = "first_token"
    has_probabilities = True

    def __init__(self, settings: Mapping[str, Any], chat: bool) -> None:
        super().__init__(settings, chat)
        n = LISTED[chat]
        listed = {"logprobs": True, "top_logprobs": n} if chat else {"logprobs": n}
        self.settings = {**self.settings, "max_tokens": 1, **listed}

    def require(self, prompt: Prompt, task: Task) -> None:
        if not task.kind.has_labels:
            raise ModelError("read first_token chooses among labels, and these answers are texts. Take read written.")
        first = [next(iter(_comparable(text).split()), "") for text in prompt.answers]
        if len(set(first)) < len(first) or "" in first:
            raise ModelError(
                f"read first_token cannot tell the answers {listing(prompt.answers)} apart: they have one "
                "beginning. Take read written, or other answers in the prompt."
            )

    def reply(self, answer: Any) -> Reply:
        written = super().reply(answer)
        if written.failure:
            return written
        choice = answer["choices"][0]
        listed = look_up(choice, "logprobs", "content", 0, "top_logprobs")
        if isinstance(listed, list):
            pairs = [(look_up(entry, "token"), look_up(entry, "logprob")) for entry in listed]
            # tokens that are parts of a character have the same text, and differ in their bytes
            tokens = {(str(look_up(entry, "token")), str(look_up(entry, "bytes"))) for entry in listed}
        else:
            of_text = look_up(choice, "logprobs", "top_logprobs", 0)
            pairs = list(of_text.items()) if isinstance(of_text, dict) else []
            tokens = {(str(token), "") for token, _ in pairs}
        if len(tokens) < len(pairs):
            raise Unusable("the same first token twice")
        pairs = [(t, float(v)) for t, v in pairs if isinstance(t, str) and isinstance(v, int | float) and v > -math.inf]
        if len({value for _, value in pairs}) < 2 or not all(value <= 1e-3 for _, value in pairs):  # refuses NaN, too
            raise Unusable("no different log-probabilities of first tokens, which read first_token needs")
        if (total := sum(math.exp(value) for _, value in pairs)) > 1 + ROUNDED:
            raise Unusable(f"first tokens whose probabilities sum to {total:.3g}")
        return replace(written, scores=[(without_surrogates(t), value) for t, value in pairs])

    def read(self, reply: Reply, prompt: Prompt) -> tuple[str, list[float] | None]:
        texts = [_comparable(text) for text in prompt.answers]
        sums = [0.0] * len(texts)
        listed = [(token, math.exp(value)) for token, value in reply.scores or ()]
        for token, p in listed:
            fitting = _matching_texts(_comparable(token), texts)
            if len(fitting) == 1:
                sums[fitting[0]] += p
            elif fitting and p > TOO_LITTLE:
                raise ModelError(
                    f"read first_token: the first token {token!r}, of probability {p:.2g}, begins the answers "
                    f"{listing([prompt.answers[i] for i in fitting])}. Take read written."
                )
        least = min((p for _, p in listed), default=1.0)
        weights = [p or least for p in sums]
        total = sum(weights)
        probabilities = [p / total for p in weights] if total else [1 / len(weights)] * len(weights)
        return _most_probable(sums, prompt.task.labels) if sum(sums) >= TOO_LITTLE else NO_LABEL, probabilities


WAYS = {way.name: way for way in (Written, FirstToken)}


def _text_of(content: Any) -> str:
    """Return the text of a message, whose content may be a list of parts; "" for None.

    Raises:
        Unusable: The content has no text.
    """
    if isinstance(content, list) and content:
        texts = [look_up(part, "text") for part in content if look_up(part, "type") in ("text", "output_text")]
        content = "".join(texts) if texts and all(isinstance(text, str) for text in texts) else content
    if isinstance(content, str) or not content:
        return content or ""
    types = dict.fromkeys(str(look_up(part, "type")) for part in content) if isinstance(content, list) else ()
    raise Unusable("an answer that is no text" + (f", but {listing([*types])}" if types else ""))


def _text_beside(message: Any) -> str:
    """Return the failure of a message whose content is empty, but which has a text in another field; "" for none."""
    texts = ((field, look_up(message, field)) for field in BESIDE)
    other = next(((field, text.strip()) for field, text in texts if isinstance(text, str) and text.strip()), None)
    return "" if other is None else f"{EMPTY}; {other[0]} has the text {other[1][:QUOTED]!r}"


def _most_probable(p: Sequence[float], labels: Sequence[str]) -> str:
    """Return the label with the highest probability; NO_LABEL for a tie, since the order of labels is no answer."""
    first, *lower = sorted(p, reverse=True)
    return NO_LABEL if lower and first - lower[0] < SAME else labels[p.index(first)]


def _comparable(text: str) -> str:
    """Return a text or a token in lower case, without spaces, quotes and punctuation at both ends, for comparisons.

    The characters U+2581 and U+0120, which some servers write for a space, count as spaces.
    """
    return bare(text.replace("\u2581", " ").replace("\u0120", " "))


def _matching_texts(token: str, texts: Sequence[str]) -> list[int]:
    """Return the indices of the texts that begin with a token.

    If there are none, return the index of the longest text with which the token begins.
    """
    if not token:
        return []
    longer = [i for i, text in enumerate(texts) if token.startswith(text) and not token[len(text) :][:1].isalnum()]
    return [i for i, text in enumerate(texts) if text.startswith(token)] or sorted(
        longer, key=lambda i: -len(texts[i])
    )[:1]
