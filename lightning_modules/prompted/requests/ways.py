"""The ways to read an answer off a server: what is sent for it, and what it means."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from heedful.lightning_modules.prompted.requests.reply import Reply, about, at, checked, choice, sound
from heedful.lightning_modules.prompted.requests.server import Unusable
from heedful.records import NO_LABEL, SPAN, ModelError, Task, listing
from heedful.records.prompts.prompt import Prompt
from heedful.records.prompts.wording import bare

LISTED = {True: 20, False: 5}  # first tokens that are asked for: of a chat, and of a text; servers allow no more
TOO_LITTLE = 0.01  # probability: at most of a token that begins two labels, and at least of all labels together
SAME = 1e-9  # probabilities that differ by less are the same
ROUNDED = 0.02  # by so much listed probabilities may sum to more than 1
ASKED = "answer"  # the name of a typed question
ANY = "Choose the answer that is right."


class Way(ABC):
    """A way to read an answer.

    Args:
        settings: What goes into each request beside the prompt.
        chat: Whether the prompt is the turns of a chat; else it is one text.
    """

    name: str
    path: str
    writes = True
    has_probabilities = True

    def __init__(self, settings: Mapping[str, Any], chat: bool) -> None:
        self.settings = dict(settings)
        self.chat = chat

    def require(self, prompt: Prompt, task: Task) -> None:
        """Refuse a task whose answers cannot be read in this way.

        Raises:
            HeedfulError: It cannot.
        """
        if not task.kind.has_labels:
            raise ModelError(
                f"model.read {self.name} chooses among labels, and these answers are texts. Take model.read written."
            )

    @abstractmethod
    def body(self, prompt: Prompt, question: str) -> dict[str, Any]:
        """The request for a question."""

    @abstractmethod
    def reply(self, answer: Any, prompt: Prompt) -> Reply:
        """What is kept of the JSON that a server sent.

        Raises:
            Unusable: It is no answer to the request.
        """

    @abstractmethod
    def read(self, reply: Reply, prompt: Prompt) -> tuple[str, list[float] | None]:
        """The answer, a label, :data:`.NO_LABEL` or a text; and the probabilities of the labels, or None."""


class Written(Way):
    """The text that the model writes."""

    name = "written"
    has_probabilities = False

    def __init__(self, settings: Mapping[str, Any], chat: bool) -> None:
        super().__init__(settings, chat)
        self.path = "/chat/completions" if chat else "/completions"

    def require(self, prompt: Prompt, task: Task) -> None:
        pass

    def body(self, prompt: Prompt, question: str) -> dict[str, Any]:
        asked = {"messages": prompt.messages(question)} if self.chat else {"prompt": prompt.text(question)}
        return {**self.settings, **asked}

    def reply(self, answer: Any, prompt: Prompt) -> Reply:
        first = choice(answer)
        text = at(first, "message", "content") if self.chat else first.get("text")
        if text is not None and not isinstance(text, str):
            raise Unusable("an answer that is not a text")
        return Reply(sound(text or ""), **about(answer))

    def read(self, reply: Reply, prompt: Prompt) -> tuple[str, list[float] | None]:
        return prompt.read(reply.text), None


class FirstToken(Written):
    """The log-probabilities of the first token.

    A token counts for the label whose text it begins, or that it begins with, in upper or lower case and without
    spaces around it; tokens of one label are added up. A label that is not among the listed tokens gets the
    probability of the last of them, which it cannot exceed. The probabilities are divided by their sum. An answer whose
    listed tokens belong to labels with a probability of less than 0.01 is not a label.
    """

    name = "first_token"
    has_probabilities = True

    def __init__(self, settings: Mapping[str, Any], chat: bool) -> None:
        super().__init__(settings, chat)
        n = LISTED[chat]
        listed = {"logprobs": True, "top_logprobs": n} if chat else {"logprobs": n}
        self.settings = {**self.settings, "max_tokens": 1, **listed}

    def require(self, prompt: Prompt, task: Task) -> None:
        Way.require(self, prompt, task)
        first = [_plain(text).split()[0] if _plain(text).split() else "" for text in prompt.answers]
        if len(set(first)) < len(first) or "" in first:
            raise ModelError(
                f"model.read first_token cannot tell the answers {listing(prompt.answers)} apart: they begin alike. "
                "Take model.read written, or other answers in data.prompts."
            )

    def reply(self, answer: Any, prompt: Prompt) -> Reply:
        first = choice(answer)
        written = super().reply(answer, prompt)
        listed = at(first, "logprobs", "content", 0, "top_logprobs")
        if isinstance(listed, list):
            _require_distinct(listed)
            pairs = [(at(entry, "token"), at(entry, "logprob")) for entry in listed]
        else:
            of_text = at(first, "logprobs", "top_logprobs", 0)  # of a text
            pairs = list(of_text.items()) if isinstance(of_text, Mapping) else []
        pairs = [(t, v) for t, v in pairs if isinstance(t, str) and isinstance(v, int | float) and v > -math.inf]
        if len(pairs) < 2 or not all(value <= 1e-3 for _, value in pairs):  # nor is NaN
            raise Unusable("no log-probabilities of first tokens, which model.read first_token needs")
        if len({value for _, value in pairs}) == 1:
            raise Unusable("the same log-probability for every first token")
        if (total := sum(math.exp(value) for _, value in pairs)) > 1 + ROUNDED:
            raise Unusable(f"first tokens whose probabilities sum to {total:.3g}, which is more than 1")
        tokens = tuple((sound(token), float(value)) for token, value in pairs)
        return replace(written, tokens=tokens)

    def read(self, reply: Reply, prompt: Prompt) -> tuple[str, list[float] | None]:
        texts = [_plain(text) for text in prompt.answers]
        labels = prompt.task.labels
        sums = dict.fromkeys(range(len(texts)), 0.0)
        for token, value in reply.tokens or ():
            fitting = _fitting(_plain(token), texts)
            if len(fitting) > 1 and math.exp(value) > TOO_LITTLE:
                raise ModelError(
                    f"model.read first_token: the first token {token!r}, of probability {math.exp(value):.2g}, begins "
                    f"the answers {listing([prompt.answers[i] for i in fitting])}. Take model.read written."
                )
            for i in fitting if len(fitting) == 1 else ():
                sums[i] += math.exp(value)
        bound = min((math.exp(value) for _, value in reply.tokens or ()), default=1.0)
        weights = [sums[i] or bound for i in sums]
        total = sum(weights)
        probabilities = [p / total for p in weights] if total else [1 / len(weights)] * len(weights)
        is_said = sum(sums.values()) >= TOO_LITTLE
        return (_most_probable(list(sums.values()), labels) if is_said else NO_LABEL), probabilities


class Typed(Way):
    """A typed decision: the server chooses among the labels' texts, and gives each a probability."""

    writes = False

    def instructions(self, prompt: Prompt) -> str:
        """The instruction and the demonstrations."""
        return prompt.text("").strip() or ANY

    def read(self, reply: Reply, prompt: Prompt) -> tuple[str, list[float] | None]:
        labels, given = prompt.task.labels, reply.probabilities
        if given is None:  # it refused
            return NO_LABEL, [1 / len(labels)] * len(labels)
        probabilities = [given[text] for text in prompt.answers]
        total = sum(probabilities)
        return _most_probable(probabilities, labels), [p / total for p in probabilities]


class SystemOne(Typed):
    """``POST /v1/systemone``, as ``transformers serve`` has it."""

    name = "systemone"
    path = "/systemone"

    def body(self, prompt: Prompt, question: str) -> dict[str, Any]:
        asked = {"type": "choice", "instructions": self.instructions(prompt)}
        asked["criteria"] = dict.fromkeys(prompt.answers)
        return {**self.settings, "state": question, "questions": {ASKED: asked}}

    def reply(self, answer: Any, prompt: Prompt) -> Reply:
        given = at(answer, "answers", ASKED, "probabilities")
        if not isinstance(given, Mapping):
            raise Unusable("no probabilities of the answers")
        return Reply(probabilities=checked(given, prompt.answers), **about(answer))


class Decisions(Typed):
    """``POST /v1/decisions``, the ``decisions`` of the openai client; a refusal is an answer that is not a label."""

    name = "decisions"
    path = "/decisions"

    def body(self, prompt: Prompt, question: str) -> dict[str, Any]:
        choices = [{"value": text} for text in prompt.answers]
        asked = {"type": "choice", "name": ASKED, "instructions": self.instructions(prompt), "choices": choices}
        return {**self.settings, "input": question, "questions": [asked]}

    def reply(self, answer: Any, prompt: Prompt) -> Reply:
        given = at(answer, "answers", 0)
        if at(given, "type") == "refusal":
            return Reply(**about(answer))
        listed = at(given, "probabilities")
        if at(given, "type") != "choice" or not isinstance(listed, Sequence) or isinstance(listed, str):
            raise Unusable("no probabilities of the answers")
        probability_of = {str(at(entry, "value")): at(entry, "probability") for entry in listed}
        if len(probability_of) < len(listed):
            raise Unusable("an answer twice among those that have a probability")
        return Reply(probabilities=checked(probability_of, prompt.answers), **about(answer))


WAYS: dict[str, type[Way]] = {way.name: way for way in (Written, FirstToken, SystemOne, Decisions)}


def require_known_pair(reply: Reply, way: Way, prompt: Prompt) -> None:
    """Check the answer to a question that any server must be able to answer in some way.

    Raises:
        HeedfulError: It says nothing, or gives each label the same probability.
    """
    if reply.refusal:
        raise ModelError(f"{reply.refusal}. Lower prompt.tuples where it is too long, or see model.extra.")
    if reply.is_empty:
        more = "" if way.has_probabilities else ", or raise model.max_tokens for a model that reasons first"
        raise ModelError(f"The server answers a first question with nothing. Look at its log{more}.")
    if prompt.task.kind is not SPAN and way.has_probabilities:
        _, probabilities = way.read(reply, prompt)
        if len(probabilities) > 1 and max(probabilities) - min(probabilities) < 1e-9 and not reply.tokens:
            raise ModelError(
                f"The server gives each of {listing(prompt.answers)} the same probability: it does not read what it is "
                "asked. Take another model.read."
            )


def _most_probable(p: Sequence[float], labels: Sequence[str]) -> str:
    """The label with the highest probability; of two that have it, none: the order of the labels is not an answer."""
    first, *others = sorted(p, reverse=True)
    return NO_LABEL if others and first - others[0] < SAME else labels[p.index(first)]


def _plain(text: str) -> str:
    """A text or a token as they are compared; some servers write the space before a token as a sign of its own."""
    return bare(text.replace("\u2581", " ").replace("\u0120", " "))


def _require_distinct(listed: Sequence[Any]) -> None:
    """Refuse a list with a token twice; parts of a character look the same, and are told apart by their bytes.

    Raises:
        Unusable: It has one.
    """
    tokens = [(at(entry, "token"), str(at(entry, "bytes"))) for entry in listed]
    if twice := [token for (token, _), n in Counter(tokens).items() if n > 1 and "\ufffd" not in str(token)]:
        raise Unusable(f"the first token {twice[0]!r} twice")


def _fitting(token: str, texts: Sequence[str]) -> list[int]:
    """The texts that a token begins; or else the longest that it begins with."""
    if not token:
        return []
    begun = [i for i, text in enumerate(texts) if text.startswith(token)]
    longer = [i for i, text in enumerate(texts) if token.startswith(text) and not token[len(text) :][:1].isalnum()]
    return begun or sorted(longer, key=lambda i: -len(texts[i]))[:1]
