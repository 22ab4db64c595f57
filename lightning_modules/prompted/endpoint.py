"""Models behind a server that speaks the OpenAI protocol: they are asked, and never trained."""

import secrets
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Literal, Self

import numpy as np
import torch

from heedful.lightning_modules.base_predictor import COMMONEST, QUOTED, BasePredictor
from heedful.lightning_modules.outputs import Outputs, label_numbers
from heedful.lightning_modules.predictor import Capabilities, Processes
from heedful.lightning_modules.processors.processor import Processor
from heedful.lightning_modules.prompted.requests.answers import Answers
from heedful.lightning_modules.prompted.requests.asker import Asker
from heedful.lightning_modules.prompted.requests.meter import Meter
from heedful.lightning_modules.prompted.requests.reply import Reply, Request
from heedful.lightning_modules.prompted.requests.server import Address, Server
from heedful.lightning_modules.prompted.requests.ways import WAYS, require_known_pair
from heedful.records import (
    NO_LABEL,
    SPAN,
    Composed,
    Example,
    ModelError,
    SettingError,
    Task,
    column,
    inform,
    keys,
    listing,
    percent,
    printable,
)
from heedful.records.errors import guess
from heedful.records.prompts.prompt import Prompt
from heedful.records.prompts.wording import Wording

FIRST = 50  # questions that are asked before all others
MOST_INVALID = 0.9  # share of their answers that is too much of none
UNKNOWN = "unknown"  # which model answered, or when
REPEATED = 100  # base inputs that the null control asks again
BODY = "model", "messages", "prompt", "state", "questions", "input", "stream"  # of a request: not further entries
LABEL_TOKENS, SPAN_TOKENS = 8, 32  # most tokens of an answer, by default
MOST_MISSING = 0.05  # share of the requests that may be refused, and of the texts that may be empty
FORGIVEN = 5  # so many always may
Read = Literal["written", "first_token", "systemone", "decisions"]


class QuestionProcessor(Processor):
    """Makes the questions about examples.

    Args:
        prompt: Says how a question is put.
    """

    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self._around = len(prompt.text(""))

    def _questions(self, examples: Sequence[Example]) -> list[str]:
        parts = [column(examples, f"parts.{part}") for part in self.prompt.task.parts]
        return [self.prompt.question(values) for values in zip(*parts, strict=True)]

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        """Characters of each prompt, with its demonstrations: int32 [examples]."""
        return np.array([self._around + len(text) for text in self._questions(examples)], dtype=np.int32)

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray:
        """By the text that is sent; what becomes of it behind the server is not known."""
        return keys(self._questions(examples))

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        """``questions``, texts [examples], and ``repeats``, 1 for an example of the null control: ints [examples]."""
        repeated = examples.repeated if isinstance(examples, Composed) else np.zeros(len(examples), dtype=bool)
        return {"questions": self._questions(examples), "repeats": repeated.astype(int).tolist()}


class Endpoint(BasePredictor):
    """A model behind a server that speaks the OpenAI protocol, such as vLLM, SGLang or ``transformers serve``.

    The server is the one that OPENAI_BASE_URL names, and the key stands in OPENAI_API_KEY, unless :meth:`at` names
    others; neither is a setting, so that no file keeps them. Equal requests are sent once, but for the null control,
    and answers are kept in a file: a run that was stopped goes on, and a second one sends nothing.

    Args:
        name: Name of the model at the server.
        read: How an answer is read: "written" is the text; "first_token" compares the log-probabilities of the first
            token; "systemone" and "decisions" are typed decisions, with a probability for each label.
        chat: Whether the prompt is sent as the turns of a chat; otherwise as one text.
        concurrency: Most requests on their way at once. Batches are asked one after the other, so that more than
            data.eval_batch_size have no effect.
        max_requests: Most requests that the command sends; null for any number. What a server refuses is not counted.
        temperature: Of drawing tokens; 0 takes the most probable.
        seed: Of drawing tokens, which not every server heeds; null sends none.
        max_tokens: Most tokens of an answer; by default 8, and 32 where answers are texts.
        prices: US dollars for a million tokens that are read, and for a million that are written: [0.15, 0.6].
        cache: SQLite file that keeps the answers; on a disk of this machine, since others have no reliable locks. Two
            commands may share it.
        timeout: Seconds for which the server may be silent before a request is sent again.
        extra: Further entries of each request, such as {chat_template_kwargs: {enable_thinking: false}}; null takes one
            of Heedful's away. The model and what it is asked are not further entries.
        allow_invalid: Go on though nearly all of the first answers are none, many requests are refused, or the server
            answers otherwise than in an earlier run.
        allow_redirects: Let the server send requests on to another one.
        prompt: The question, with each part as its name in braces: "{premise} Does it follow that {hypothesis}?". It
            takes the place of the prompts of the data. Where a text does not name all labels, "Answer with one of: ..."
            stands before it; a mapping, as in prompts of the data, is taken as it is. A brace that is meant is written
            twice.
    """

    reads_prompts = True
    needs_prompt = True

    def __init__(
        self,
        name: str | None = None,
        read: Read = "written",
        chat: bool = True,
        concurrency: int = 16,
        max_requests: int | None = None,
        temperature: float = 0.0,
        seed: int | None = 0,
        max_tokens: int | None = None,
        prices: list[float] | None = None,
        cache: str = "runs/answers.sqlite",
        timeout: float = 60.0,
        extra: dict[str, Any] | None = None,
        allow_invalid: bool = False,
        allow_redirects: bool = False,
        prompt: str | Wording | None = None,
    ) -> None:
        super().__init__()
        _require_at_least(1, concurrency=concurrency, max_tokens=max_tokens)
        _require_at_least(0, max_requests=max_requests, temperature=temperature)
        if not timeout > 0:
            raise SettingError(f"model.timeout {timeout} is not a positive number.")
        if prices is not None and (len(prices) != 2 or min(prices) < 0):
            raise SettingError(
                f"model.prices {prices} are not two prices. Name the US dollars for a million tokens that are read, "
                "and for a million that are written."
            )
        if replaced := [entry for entry in BODY if entry in (extra or {})]:
            raise SettingError(
                f"model.extra holds {replaced[0]!r}, and what is asked, and of whom, is said by other settings. Leave "
                "it out; see model.name and model.prompt."
            )
        if read not in WAYS:
            raise SettingError(f"model.read {read} is not a way to ask. {guess(read, WAYS)}")
        self.name = name
        self.read = read
        self.capabilities = Capabilities(WAYS[read].has_probabilities, repeats=REPEATED, ranks=1)
        self.chat = chat
        self.concurrency = concurrency
        self.max_requests = max_requests
        self.temperature = temperature
        self.seed = seed
        self.max_tokens = max_tokens
        self.prices = prices
        self.cache = cache
        self.timeout = timeout
        self.extra = dict(extra or {})
        self.allow_invalid = allow_invalid
        self.allow_redirects = allow_redirects
        self.wording = prompt
        self.address = Address()
        self.run = secrets.token_hex(8)
        self.counts: Counter[str] = Counter()
        self._server: Server | None = None
        self._asker: Asker | None = None
        self._is_probed = False
        self._has_begun = False
        self._first: Sequence[str] = ()
        self._processes: Processes | None = None
        self._models: set[str] = set()

    def at(self, address: Address) -> Self:
        """Ask the server there from now on."""
        self.address = address
        self._server = self._asker = None
        return self

    def with_arguments(self, **changed: Any) -> Self:
        return super().with_arguments(**changed).at(self.address)

    @property
    def given_wording(self) -> Wording | None:
        """The words of ``prompt``, once the labels are known."""
        return Wording.asking(self.wording, self.task.labels) if isinstance(self.wording, str) else self.wording

    def prepare(self, task: Task) -> None:
        if not self.name:
            raise SettingError("model.name, the name of the model at the server, is not given.")
        if not task.labels and task.kind is not SPAN:
            raise ModelError(f"model {type(self).__name__} chooses among labels, and the data have none.")
        self.task = task

    def prompt_with(self, prompt: Prompt) -> None:
        self.way.require(prompt, self.task)
        self.prompt = prompt
        self.processor = QuestionProcessor(prompt)
        self._is_probed = False
        self._has_begun = False
        self.counts.clear()

    def require_weights(self) -> None:
        """The server must be known, and a key for it."""
        self._server = self._server or self.address.server(self.timeout, self.allow_redirects)

    @property
    def description(self) -> str:
        return str(self.name)

    @property
    def server(self) -> str:
        """A hash of the server's address, which tells two servers apart and gives neither away."""
        return sha256(self._server.known_as.encode()).hexdigest()[:12]

    def hidden(self, text: str) -> str:
        """A text without the key and the other secrets of the server's address."""
        return self._server.secrets.hide(text)

    @property
    def way(self) -> Any:
        """The way in which answers are read."""
        longest = max(map(len, self.prompt.answers)) // 2 if self.prompt else 0  # a token has two characters or more
        most = self.max_tokens or max(longest, SPAN_TOKENS if self.task.kind is SPAN else LABEL_TOKENS)
        drawn = {"max_tokens": most, "temperature": self.temperature, "seed": self.seed}
        way = WAYS[self.read]
        settings = {"model": self.name} | (drawn if way.writes else {})
        return way({k: v for k, v in settings.items() if v is not None}, self.chat)

    @property
    def most_written(self) -> int | None:
        """Most tokens of an answer, 0 of a typed one; None where the requests set no limit."""
        way = self.way
        sent = {**way.settings, **self.extra}
        limits = [sent[name] for name in ("max_tokens", "max_completion_tokens") if isinstance(sent.get(name), int)]
        return min(limits, default=None) if way.writes else 0

    def _ask(self) -> Asker:
        """Whom to ask; made in the process that asks, when it first does."""
        if self._asker is None:
            self.require_weights()
            meter = Meter(self.description, self.prices, self._processes is not None and self._processes.shows_progress)
            answers = Answers(self.cache)
            self._asker = Asker(self._send, answers, self.concurrency, meter, self.run, self.max_requests, self._beat)
        return self._asker

    def _beat(self) -> None:
        """Tell processes that wait for this one that it is still at work."""
        if self._processes is not None:
            self._processes.busy()

    def _send(self, request: Request) -> Reply:
        self._server.require_reachable()
        return self.way.reply(self._server.post(request.path, request.body), self.prompt)

    def _request(self, question: str, repeat: int | str = 0) -> Request:
        return Request(self._server.known_as, self.way.path, self.read, self._body(question), repeat)

    def _body(self, question: str) -> dict[str, Any]:
        body = {**self.way.body(self.prompt, question), **self.extra}
        return {k: v for k, v in body.items() if k not in self._left_out}

    def requests(self, examples: Sequence[Example]) -> list[Request]:
        """What is sent for some examples, whatever the server."""
        way = self.way
        questions = self.processor(examples)["questions"]
        return [Request("", way.path, self.read, self._body(question)) for question in questions]

    def sent(self, example: Example) -> dict[str, Any]:
        (request,) = self.requests([example])
        return {"path": request.path, "body": dict(request.body)}

    @property
    def _left_out(self) -> set[str]:
        return {name for name, value in self.extra.items() if value is None}

    def start(self, examples: Composed, processes: Processes) -> None:
        """Choose the first questions by the hash of uids, so that a server that fails is found out by few of them."""
        super().start(examples, processes)
        self._processes = processes
        positions = examples.positions
        first = positions[np.argsort(examples.pool.uid_keys[positions], kind="stable")[:FIRST]]
        self._first = self.processor(examples.pool.take(np.sort(first)))["questions"]

    def _begin(self, questions: Sequence[str]) -> None:
        """Ask the first questions; where answers of an earlier run are there, the first of them is asked again.

        Raises:
            HeedfulError: The server is another one than then, or nearly all that it says is no answer.
        """
        asker = self._ask()
        requests = [self._request(question) for question in questions]
        self._probe(asker, requests)
        saved = asker.saved(requests)
        earlier = [request for request in requests if request.text in saved and saved[request.text].run != self.run]
        if earlier:
            self._compare(asker, earlier[0], saved[earlier[0].text])
        replies = [reply for reply in asker.replies(requests) if reply is not None]
        self._require_one_model(replies)
        self._require_answers(replies)
        self._has_begun = True

    def _probe(self, asker: Asker, requests: Sequence[Request]) -> None:
        """Unless all answers are there, ask a question of which every server can say something, once for a prompt.

        What another run heard says nothing of today.
        """
        if self._is_probed or len(asker.saved(requests)) == len({request.text for request in requests}):
            return
        told = f"The answer is {self.prompt.answers[0]}."
        (reply,) = asker.replies([self._request(self.prompt.question([told] * len(self.task.parts)), self.run)])
        if reply is not None:
            require_known_pair(reply, self.way, self.prompt)
            self._is_probed = True

    def _compare(self, asker: Asker, request: Request, before: Reply) -> None:
        """Ask again what an earlier run has asked.

        Raises:
            HeedfulError: Another model answers, or it gives another answer, though tokens are not drawn at random.
        """
        (now,) = asker.replies([replace(request, repeat=f"{self.run} again")])
        if now is None:
            return
        self._require_one_model([before, now])
        answers = [self.way.read(reply, self.prompt)[0] for reply in (before, now)]
        if answers[0] != answers[1] and not self.temperature and not self.allow_invalid:
            raise ModelError(
                f"{self.name} answers the first question otherwise than {before.at[:10] or 'before'}: "
                f"{_quoted(before)} then, {_quoted(now)} now. Name another file than model.cache {self.cache}, or add "
                "model.allow_invalid true."
            )

    def _require_one_model(self, replies: Sequence[Reply]) -> None:
        """All answers must be of one model, if the server says of which.

        Raises:
            HeedfulError: They are of two.
        """
        self._models |= {reply.model for reply in replies if reply.model}
        _require_one(str(self.name), self._models, self.cache)

    def _require_answers(self, replies: Sequence[Reply]) -> None:
        """Of the first questions some must get an answer.

        Raises:
            HeedfulError: Nearly all got none.
        """
        without = [reply for reply in replies if self.way.read(reply, self.prompt)[0] == NO_LABEL]
        if not replies or len(without) < MOST_INVALID * len(replies) or self.allow_invalid:
            return
        quoted = ", ".join(list(dict.fromkeys(map(_quoted, without)))[:COMMONEST])
        words = "data.prompts" if self.wording is None else "model.prompt"
        raise ModelError(
            f"{len(without)} of the first {len(replies)} answers of {self.name} are none: {quoted}. Look at its log, "
            f"change {words}, model.max_tokens or model.read, or add model.allow_invalid true."
        )

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        """Ask for the answers to some questions; an answer that did not come before SIGTERM is not finite.

        Raises:
            HeedfulError: The server fails or ignores what it is asked for, refuses too much, leaves too many texts
                empty, or is more than one model.
        """
        if not self._has_begun:
            self._begin(self._first or inputs["questions"][:FIRST])
        asker = self._ask()
        way = self.way
        task = self.task
        pairs = zip(inputs["questions"], inputs["repeats"], strict=True)
        requests = [self._request(question, f"{self.run} null" if again else 0) for question, again in pairs]
        self._probe(asker, requests)
        replies = asker.replies(requests)
        self._count(replies)
        self._require_one_model([reply for reply in replies if reply is not None])
        none = "" if task.kind is SPAN else NO_LABEL, [float("nan")] * len(task.labels)
        several = [none if reply is None else way.read(reply, self.prompt) for reply in replies]
        answers = [None if reply is None else text for reply, (text, _) in zip(replies, several, strict=True)]
        self._count_answers(replies, answers)
        if task.kind is SPAN:
            return Outputs(answers=answers)
        probs = torch.tensor([p for _, p in several]) if way.has_probabilities and task.distribution else None
        return Outputs(probs, label_numbers(answers, task.labels))

    def _count_answers(self, replies: Sequence[Reply | None], answers: Sequence[str | None]) -> None:
        """Count what is no answer, what names several labels, what is from the cache, and who answered."""
        pairs = [(reply, answer) for reply, answer in zip(replies, answers, strict=True) if reply is not None]
        self.count("no_answers", (reply.said for reply, answer in pairs if answer == NO_LABEL))
        if self.task.kind.has_labels and self.prompt.wording.read:
            self.count("several_labels", ("" for r, _ in pairs if len(set(self.prompt.labels_named(r.text))) > 1))
        self.count("from_cache", (reply.at[:10] or UNKNOWN for reply, _ in pairs if reply.run != self.run))
        self.count("models", (reply.model or UNKNOWN for reply, _ in pairs))
        self.count("fingerprints", (reply.fingerprint for reply, _ in pairs if reply.fingerprint))

    def counts_of(self, counted: Mapping[tuple[str, str], int]) -> dict[str, Any]:
        """As of every model, and which models answered, on what, and how many answers are from the cache, by day.

        Raises:
            HeedfulError: Two models answered.
        """
        counts = super().counts_of(counted)
        for kind in ("from_cache", "models", "fingerprints"):
            if by_text := {text: n for (of, text), n in sorted(counted.items()) if of == kind}:
                counts[kind] = by_text
        _require_one(str(self.name), counts.get("models", {}).keys() - {UNKNOWN}, self.cache)
        return counts

    def _count(self, replies: Sequence[Reply | None]) -> None:
        """Count requests that were refused and answers that are empty; of the latter few may be where they are texts.

        Raises:
            HeedfulError: It is too many.
        """
        refusals = [reply for reply in replies if reply is not None and reply.refusal]
        self.counts["answers"] += len(replies)
        self.counts["refused"] += len(refusals)
        self.counts["empty"] += sum(reply is not None and reply.is_empty for reply in replies) - len(refusals)
        most = max(FORGIVEN, MOST_MISSING * self.counts["answers"])
        allowed = f"and at most {percent(MOST_MISSING)} may be"
        goes_on = "or add model.allow_invalid true"
        if self.counts["refused"] > most and not self.allow_invalid:
            raise ModelError(
                f"{self.counts['refused']:,} of {self.counts['answers']:,} requests were refused, {allowed}: "
                f"{refusals[-1].said}. Lower prompt.tuples where they are too long, see model.extra, {goes_on}."
            )
        if self.task.kind is SPAN and self.counts["empty"] > most and not self.allow_invalid:
            raise ModelError(
                f"{self.counts['empty']:,} of {self.counts['answers']:,} answers of {self.name} are empty, {allowed}. "
                f"Raise model.max_tokens, look at the log of the server, {goes_on}."
            )

    def finish(self) -> None:
        """Say how many requests and tokens the evaluation took."""
        if self._asker is not None:
            reused = self._asker.reused
            empty = self.counts["empty"]
            refused = self.counts["refused"]
            none = "which is wrong, and counts in no attentiveness"
            aside = f" {empty:,} answers were empty, {none}." if empty else ""
            aside += f" {refused:,} requests were refused, {none}." if refused else ""
            inform(f"{self._asker.meter.text}; {reused:,} answers came from {self.cache}.{aside}")


def _require_at_least(least: int, **settings: float | None) -> None:
    for name, value in settings.items():
        if value is not None and not value >= least:  # nor is NaN
            raise SettingError(f"model.{name} {value} is less than {least}.")


def _quoted(reply: Reply) -> str:
    return repr(printable(reply.said.strip())[:QUOTED])


def _require_one(name: str, models: Collection[str], cache: str) -> None:
    if len(models) > 1:
        raise ModelError(
            f"Two models answer to the name {name}, as the server says: {listing(sorted(models))}. Take a name that "
            f"only one of them has, and another file than model.cache {cache}."
        )
