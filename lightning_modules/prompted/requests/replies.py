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
QUOTED = 80  # characters of such a text that a failure quotes


class Unusable(Exception):
    """Raised if the response of a server holds no answer to the request."""


@dataclass(frozen=True)
class Request:
    """A request to a server."""

    path: str  # below the base URL
    body: Mapping[str, Any]
    repeat: int = 0  # 1 for the second request of the null control, which repeats inputs

    def key(self, url: str) -> str:
        """Return the hash of the request and the base URL, under which the reply is stored."""
        text = json.dumps([url, self.path, self.body, self.repeat], sort_keys=True, ensure_ascii=False)
        return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Reply:
    """The answer of a server to a request."""

    text: str = ""
    scores: Sequence[tuple[str, float]] | None = None  # the most probable first tokens with their log-probabilities
    model: str = ""  # name of the model that answered; "" if the server does not name it
    failure: str = ""  # why there is no answer, and the reply is not stored; "" if there is one
    tokens_read: int = 0
    tokens_written: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether the reply has neither a text nor a score."""
        return not self.text.strip() and not self.scores


class Written:
    """Reads an answer from the text that a model generates.

    ``settings`` are the entries of a request apart from the prompt, which is sent as a ``chat`` or as one text.
    """

    name = "written"
    has_probabilities = False

    def __init__(self, settings: Mapping[str, Any], chat: bool) -> None:
        self.settings = dict(settings)
        self.chat = chat
        self.path = "/chat/completions" if chat else "/completions"

    def require(self, prompt: Prompt, task: Task) -> None:
        """Raise ModelError if the answers to a task cannot be read in this way; generated text always can."""

    def body(self, prompt: Prompt, question: str) -> dict[str, Any]:
        """Return the JSON of the request that asks a question."""
        content = {"messages": prompt.messages(question)} if self.chat else {"prompt": prompt.text(question)}
        return {**self.settings, **content}

    def reply(self, response: Any) -> Reply:
        """Convert the JSON of a response to a reply.

        Raises:
            Unusable: The response holds no answer.
        """
        try:
            choices, error = response.get("choices") or [], response.get("error")
            if len(choices) != 1:
                error = error["message"] if isinstance(error, dict) else error
                raise Unusable(f"{len(choices)} choices in place of one answer" + (f" ({error})" if error else ""))
            return self._reply(response, choices[0])
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            raise Unusable("a response that is not of the OpenAI protocol") from None

    def _reply(self, response: Mapping[str, Any], choice: Mapping[str, Any]) -> Reply:
        message = choice["message"] if self.chat else choice
        text = _text_of(message.get("content" if self.chat else "text"))
        usage = response.get("usage") or {}
        return Reply(
            without_surrogates(text),
            model=str(response.get("model") or ""),
            failure="" if text.strip() else _failure_of(message),
            tokens_read=usage.get("prompt_tokens") or 0,
            tokens_written=usage.get("completion_tokens") or 0,
        )

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
        self.settings |= {"max_tokens": 1} | ({"logprobs": True, "top_logprobs": n} if chat else {"logprobs": n})

    def require(self, prompt: Prompt, task: Task) -> None:
        if not task.kind.has_labels:
            raise ModelError("read first_token chooses among labels, and these answers are texts. Take read written.")
        first = [next(iter(_comparable(text).split()), "") for text in prompt.answers]
        if len(set(first)) < len(first) or "" in first:
            raise ModelError(
                f"read first_token cannot tell the answers {listing(prompt.answers)} apart: they have one "
                "beginning. Take read written, or other answers in the prompt."
            )

    def _reply(self, response: Mapping[str, Any], choice: Mapping[str, Any]) -> Reply:
        written = super()._reply(response, choice)
        if written.failure:
            return written
        listed = _listed_tokens(choice.get("logprobs") or {})
        if len(listed) > len({(token, str(of_bytes)) for token, _, of_bytes in listed}):
            raise Unusable("the same first token twice")
        scores = [(without_surrogates(token), float(value)) for token, value, _ in listed if value != -math.inf]
        values = [value for _, value in scores]
        if len(set(values)) < 2 or not all(value <= 1e-3 for value in values):  # refuses NaN, too
            raise Unusable("no different log-probabilities of first tokens, which read first_token needs")
        if (total := sum(map(math.exp, values))) > 1 + ROUNDED:
            raise Unusable(f"first tokens whose probabilities sum to {total:.3g}")
        return replace(written, scores=scores)

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
        probabilities = [p / sum(weights) for p in weights] if any(weights) else [1 / len(sums)] * len(sums)
        first, *lower = sorted(sums, reverse=True)
        is_tie = bool(lower) and first - lower[0] < SAME  # the order of the labels is no answer
        is_answer = sum(sums) >= TOO_LITTLE and not is_tie
        return prompt.task.labels[sums.index(first)] if is_answer else NO_LABEL, probabilities


WAYS = {way.name: way for way in (Written, FirstToken)}


def _text_of(content: Any) -> str:
    """Return the text of a message, whose content may be a list of parts; "" for None."""
    if isinstance(content, list) and content:
        texts = [part["text"] for part in content if part.get("type") in ("text", "output_text")]
        if not texts:
            raise Unusable(f"an answer that is no text, but {listing([str(part.get('type')) for part in content])}")
        return "".join(texts)
    if content and not isinstance(content, str):
        raise Unusable("an answer that is no text")
    return content or ""


def _failure_of(message: Mapping[str, Any]) -> str:
    """Return the failure of a message without content, but with a text in another field; "" without such a text."""
    texts = {name: text.strip() for name in BESIDE if isinstance(text := message.get(name), str) and text.strip()}
    return next((f"an empty content; {name} has the text {text[:QUOTED]!r}" for name, text in texts.items()), "")


def _listed_tokens(logprobs: Mapping[str, Any]) -> list[tuple[str, float, Any]]:
    """Return the listed first tokens with log-probabilities and bytes; parts of a character differ in bytes only."""
    if of_chat := logprobs.get("content"):
        return [(entry["token"], entry["logprob"], entry.get("bytes")) for entry in of_chat[0]["top_logprobs"]]
    of_text = logprobs.get("top_logprobs")
    return [(token, value, None) for token, value in of_text[0].items()] if of_text else []


def _comparable(text: str) -> str:
    """Return a text or a token in lower case, without spaces, quotes and punctuation at both ends, for comparisons."""
    return bare(text.replace("\u2581", " ").replace("\u0120", " "))  # some servers write these for a space


def _matching_texts(token: str, texts: Sequence[str]) -> list[int]:
    """Return the indices of the texts that begin with a token, or else of the longest that begins the token."""
    if not token:
        return []
    if longer := [i for i, text in enumerate(texts) if text.startswith(token)]:
        return longer
    begun = [i for i, text in enumerate(texts) if token.startswith(text) and not token[len(text) :][:1].isalnum()]
    return sorted(begun, key=lambda i: -len(texts[i]))[:1]
