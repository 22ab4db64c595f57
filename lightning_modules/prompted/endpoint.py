"""Models behind a server with the OpenAI protocol; they cannot be trained."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from operator import itemgetter
from typing import Any, Literal, Self

import numpy as np

from heedful.lightning_modules.base_predictor import COMMONEST, QUOTED, BasePredictor
from heedful.lightning_modules.outputs import Outputs, label_numbers
from heedful.lightning_modules.predictor import Capabilities, Processes
from heedful.lightning_modules.processors.processor import Processor
from heedful.lightning_modules.prompted.requests.client import Address, Client, Server, cost
from heedful.lightning_modules.prompted.requests.replies import EMPTY, WAYS, Reply, Request
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
    printable,
    require_seed,
)
from heedful.records.answers import normalised
from heedful.records.errors import suggestion
from heedful.records.prompts import THOUGHT, Prompt, Wording

FIRST = 50  # examples that are sent before all others
MOST_INVALID = 0.9  # the evaluation stops if this share of the first answers cannot be read
FEWEST_ALIKE = 10  # different questions with one free answer; fewer may be chance
ADVICE = {  # words in a refusal of a request, and settings to change; the first word that occurs counts
    "max_completion_tokens": "Set extra to {max_tokens: null, max_completion_tokens: 2000}",
    "max_tokens": "Set another max_tokens, or set extra to {max_tokens: null}",
    "temperature": "Set temperature to 1, or set extra to {temperature: null}",
    "seed": "Set seed to null",
}
UNKNOWN = "unknown"  # the response names no model
REPEATED = 100  # base inputs that the null control sends again
BODY = "model", "messages", "prompt", "stream"  # entries of a request that other settings control
HEADERS = "extra_headers", "extra_query", "headers"  # not part of the body of a request
CREDENTIAL = re.compile(r"(?i)api[-_ ]?key|(^|[-_ ])(key|token|auth)$|authori[sz]ation|bearer|secret|passw|credential")
LABEL_TOKENS, SPAN_TOKENS = 8, 32  # most tokens of an answer, by default
Read = Literal["written", "first_token"]


class QuestionProcessor(Processor):
    """Turns examples into questions, as text. A question is the part of a prompt that is about the example.

    Args:
        prompt: The prompt.
    """

    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self._around = len(prompt.text(""))

    def _questions(self, examples: Sequence[Example]) -> list[str]:
        parts = [column(examples, f"parts.{part}") for part in self.prompt.task.parts]
        return [self.prompt.question(values) for values in zip(*parts, strict=True)]

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        """Return the number of characters per prompt, including demonstrations: int32 [examples]."""
        return np.array([self._around + len(text) for text in self._questions(examples)], dtype=np.int32)

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray:
        """Hash the question of each example, since the tokens that the server's model reads are unknown: uint64."""
        return keys(self._questions(examples))

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Return two lists: ``questions``, texts; and ``repeats``, 1 for a repeat of an unchanged example, else 0.

        The null control repeats unchanged examples to measure how often answers change without a change of the input.
        """
        repeated = examples.repeated if isinstance(examples, Composed) else np.zeros(len(examples), dtype=bool)
        return {"questions": self._questions(examples), "repeats": repeated.astype(int).tolist()}


class Endpoint(BasePredictor):
    """A model behind a server that speaks the OpenAI protocol, such as vLLM, SGLang or ``transformers serve``.

    The environment variables OPENAI_BASE_URL and OPENAI_API_KEY hold the address and the key, unless :meth:`at` sets
    them; neither is a setting, so that no file contains them. Equal requests are sent once, except by the null control.
    Answers are stored in a file, from which an interrupted run resumes.

    Args:
        name: Name of the model at the server.
        read: How an answer is read: "written" parses the text; "first_token" compares the log-probabilities of the
            first token, and yields a probability for each label.
        chat: Whether the prompt is sent as the turns of a chat; otherwise as one text.
        concurrency: Largest number of concurrent requests. Batches are sent one after the other, so that values above
            data.eval_batch_size have no effect.
        max_requests: Largest number of requests of a command; null for no limit. Retries are not counted.
        temperature: Temperature of sampling; 0 takes the most probable token.
        seed: Seed of sampling, which some servers ignore; null sends none.
        max_tokens: Largest number of tokens of an answer; by default 8, and 32 for free-text answers.
        prices: US dollars per million input tokens and per million output tokens, such as [0.15, 0.6].
        cache: SQLite file of answers, on a local disk, since network file systems lack reliable locks. Several commands
            may share it.
        timeout: Seconds without a byte from the server before a request is sent again.
        extra: Further entries of a request, such as {chat_template_kwargs: {enable_thinking: false}}; null removes
            an entry. The model, the question, headers and keys cannot be set here.
        allow_invalid: Continue even if almost none of the first answers can be read.
        prompt: The question, with each part as its name in braces: "{premise} Does it follow that {hypothesis}?". It
            replaces the prompts of the data. "Answer with one of: ..." precedes a text that does not name all labels; a
            mapping, as in prompts of the data, is used unchanged. Literal braces are doubled.
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
        prompt: str | Wording | None = None,
    ) -> None:
        super().__init__()
        _require_at_least(1, concurrency=concurrency, max_tokens=max_tokens)
        _require_at_least(0, max_requests=max_requests, temperature=temperature)
        if seed is not None:
            require_seed(seed)
        if not timeout > 0:
            raise SettingError(f"timeout {timeout} is not a positive number.")
        if prices is not None and (len(prices) != 2 or min(prices) < 0):
            raise SettingError(f"prices {prices} are not two prices in US dollars, of tokens read and tokens written.")
        if not cache:
            raise SettingError(f"cache {cache!r} is no file. Name a SQLite file, such as runs/answers.sqlite.")
        _require_entries(extra or {})
        if read not in WAYS:
            raise SettingError(f"read {read} is not a way to ask. {suggestion(read, WAYS)}")
        self.name = name
        self.read = read
        self.capabilities = Capabilities(WAYS[read].has_probabilities, repeats=REPEATED, ranks=1)
        self.chat = chat
        self.concurrency = concurrency
        self.max_requests = max_requests
        self.prices = prices
        self.cache = cache
        self.timeout = timeout
        self.extra = dict(extra or {})
        self.allow_invalid = allow_invalid
        self.wording = prompt
        self.address = Address()
        self._drawn = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
        self._server: Server | None = None
        self._client: Client | None = None
        self._first: Sequence[str] = ()
        self._golds: set[str] = set()
        self._processes: Processes | None = None
        self._models: set[str] = set()

    def at(self, address: Address) -> Self:
        """Set the address of the server, and return this model."""
        self.address = address
        self._server = self._client = None
        return self

    def with_arguments(self, **changed: Any) -> Self:
        return super().with_arguments(**changed).at(self.address)

    @property
    def given_wording(self) -> Wording | None:
        """The setting ``prompt``, converted to a prompt wording; requires that the labels are known."""
        return Wording.asking(self.wording, self.task.labels) if isinstance(self.wording, str) else self.wording

    def prepare(self, task: Task) -> None:
        if not self.name:
            raise SettingError("The name of the model at the server is not given.")
        if not task.labels and task.kind is not SPAN:
            raise ModelError(f"model {type(self).__name__} chooses among labels, and the data have none.")
        self.task = task

    def prompt_with(self, prompt: Prompt) -> None:
        longest = max(map(len, prompt.answers)) // 2  # a token usually has two or more characters
        sampling = dict(self._drawn)
        sampling["max_tokens"] = sampling["max_tokens"] or max(
            longest, SPAN_TOKENS if self.task.kind is SPAN else LABEL_TOKENS
        )
        way = WAYS[self.read]
        settings = {"model": self.name, **sampling}
        self.way = way({name: value for name, value in settings.items() if value is not None}, self.chat)
        self.way.require(prompt, self.task)
        self.prompt = prompt
        self.processor = QuestionProcessor(prompt)

    def require_weights(self) -> None:
        """Prepare the connection to the server (there are no weights); raise an error without address or key."""
        self._server = self._server or Server(self.address, self.timeout)

    @property
    def description(self) -> str:
        return str(self.name)

    @property
    def server(self) -> str:
        """Short hash of scheme, host and port of the server: 12 hexadecimal digits."""
        self.require_weights()
        return sha256(self._server.origin.encode()).hexdigest()[:12]

    def hidden(self, text: str) -> str:
        """Return a text, such as a word of the command, with asterisks in place of secrets of the server's address."""
        return self._server.hide(text)

    @property
    def most_written(self) -> int | None:
        """Largest number of tokens of an answer; None if the requests set no limit."""
        sent = {**self.way.settings, **self.extra}
        limits = [sent[name] for name in ("max_tokens", "max_completion_tokens") if isinstance(sent.get(name), int)]
        return min(limits, default=None)

    def _request(self, question: str, repeat: int = 0) -> Request:
        body = {**self.way.body(self.prompt, question), **self.extra}
        removed = {name for name, value in self.extra.items() if value is None}
        return Request(self.way.path, {k: v for k, v in body.items() if k not in removed}, repeat)

    def requests(self, examples: Sequence[Example]) -> list[Request]:
        """Return the requests for some examples, one per example."""
        return [self._request(question) for question in self.processor(examples)["questions"]]

    def sent(self, example: Example) -> dict[str, Any]:
        (request,) = self.requests([example])
        return {"path": request.path, "body": dict(request.body)}

    def start(self, examples: Composed, processes: Processes) -> None:
        """Begin an evaluation: reset counts, and select a few questions, by the hash of their uids, to be sent first.

        These questions reveal a failing server early.
        """
        super().start(examples, processes)
        self._processes = processes
        positions = examples.positions
        first = positions[np.argsort(examples.pool.uid_keys[positions], kind="stable")[:FIRST]]
        asked = examples.pool.take(np.sort(first))
        self._first = self.processor(asked)["questions"]
        labels = column(asked, "label") if self.task.kind is SPAN else ()
        self._golds = {normalised(gold) for label in labels if label is not None for gold in SPAN.parse_gold(label)}

    def _replies(self, requests: Sequence[Request]) -> list[Reply | None]:
        """Return the reply to each request; None if SIGTERM arrived before the reply.

        Raises:
            HeedfulError: The server fails, or ``max_requests`` is reached.
        """
        if self._client is None:  # made in the process that sends requests
            self.require_weights()
            self._client = Client(
                self._server, self.cache, self.concurrency, self.max_requests, self._processes.keep_waiting_alive
            )
        return self._client.replies(requests, self.way.reply)

    def _require_answers(self, replies: Mapping[str, Reply]) -> None:
        """Raise ModelError if almost none of the first answers of a server can be parsed, or if almost all are equal.

        Args:
            replies: Maps the first questions to their replies.
        """
        if not replies or self.allow_invalid:
            return
        answers = {question: self.way.read(reply, self.prompt)[0] for question, reply in replies.items()}
        without = [reply for question, reply in replies.items() if answers[question] == NO_LABEL]
        most = MOST_INVALID * len(replies)
        if len(without) >= most:
            cut = (r.failure or repr(r.text.strip()[:QUOTED]) for r in without)
            quoted = ", ".join(list(dict.fromkeys(cut))[:COMMONEST])
            raise ModelError(
                f"{len(without)} of the first {len(replies)} answers of {self.name} cannot be read: {quoted}. "
                f"{self._advice(without)}, or set allow_invalid to true."
            )
        if self.task.kind is not SPAN or len(replies) < FEWEST_ALIKE:
            return
        # such a text is the message of an error, unless it is a gold answer or occurs in the questions
        alike = Counter(
            text
            for question, answer in answers.items()
            if (text := normalised(answer)) not in self._golds and text not in normalised(question)
        )
        text, n = max(alike.items(), key=itemgetter(1), default=("", 0))
        if n >= most:
            shown = next(answer for answer in answers.values() if normalised(answer) == text)
            raise ModelError(
                f"{n} of the first {len(replies)} questions, which differ, get one answer of {self.name}: "
                f"{shown[:QUOTED]!r}. Look at its log, or set allow_invalid to true."
            )

    def _advice(self, without: Sequence[Reply]) -> str:
        """Return what to change if the answers of a server cannot be read."""
        refusals = " ".join(reply.failure for reply in without if reply.failure.startswith("HTTP"))
        for word, advice in ADVICE.items():
            if re.search(rf"\b{word}\b", refusals):
                return advice
        in_text = any(THOUGHT.search(reply.text) for reply in without)
        if in_text or any(reply.failure.startswith(f"{EMPTY}; reasoning") for reply in without):
            where = f"The field {'content' if self.chat else 'text'} has the reasoning of the model. " * in_text
            return (
                f"{where}Separate the reasoning at the server and raise max_tokens, or set extra to "
                "{chat_template_kwargs: {enable_thinking: false}}"
            )
        words = "the prompts of the data" if self.wording is None else "prompt"
        return f"Look at its log, change {words}, max_tokens or read"

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        """Request the answers to some questions, and return them as predictions.

        Answers that are missing because of SIGTERM are marked as not finite.

        Raises:
            HeedfulError: The server fails, gives no valid answers, or its replies have more than one model name.
        """
        if first := self._first:
            self._first = ()
            requests = [self._request(question) for question in first]
            replies = zip(first, self._replies(requests), strict=True)
            try:
                self._require_answers({question: reply for question, reply in replies if reply is not None})
            except ModelError:
                if self._client is not None:  # the next run asks the server again, which may be repaired
                    self._client.forget(requests)
                raise
        pairs = zip(inputs["questions"], inputs["repeats"], strict=True)
        replies = self._replies([self._request(question, repeat) for question, repeat in pairs])
        way, task = self.way, self.task
        several = [
            (None, [float("nan")] * len(task.labels)) if reply is None else way.read(reply, self.prompt)
            for reply in replies
        ]
        answers = [answer for answer, _ in several]
        self._count_answers(replies, answers)
        if task.kind is SPAN:
            return Outputs(answers=answers)
        has_probs = way.has_probabilities and task.distribution
        probs = np.array([p for _, p in several], dtype=np.float32) if has_probs else None
        return Outputs(probs, label_numbers(answers, task.labels))

    def _count_answers(self, replies: Sequence[Reply | None], answers: Sequence[str | None]) -> None:
        """Count, for results.json, the replies without a readable answer, and the replies by model name.

        The model name is the name of the answering model in the reply; "unknown" if the reply names no model.

        Raises:
            ModelError: The replies of this and earlier calls name more than one model.
        """
        pairs = [(reply, answer) for reply, answer in zip(replies, answers, strict=True) if reply is not None]
        self.count("no_answers", (reply.shown for reply, answer in pairs if answer == NO_LABEL))
        self.count("models", (reply.model or UNKNOWN for reply, _ in pairs))
        self._models |= {reply.model for reply, _ in pairs if reply.model}
        if len(self._models) > 1:
            raise ModelError(
                f"Two models answer to the name {self.name}: {listing(sorted(self._models))}. Take a name that only "
                f"one of them has, and another file than cache {self.cache}."
            )

    def counts_of(self, counted: Mapping[tuple[str, str], int]) -> dict[str, Any]:
        """Return counts of replies for results.json; ``counted`` maps (kind, text) to a count.

        The key ``no_answers`` has up to 3 lists [reply without a readable answer, count], the largest count first. The
        key ``models`` maps the name of each model to the number of replies that the model wrote. A key is left out if
        ``counted`` has no entry of this kind.
        """
        models = {text: n for (kind, text), n in sorted(counted.items()) if kind == "models"}
        return super().counts_of(counted) | ({"models": models} if models else {})

    def finish(self) -> None:
        """Log the number of requests, tokens and dollars, and remove the stored replies to repeated requests.

        The null control repeats requests, to measure how often answers change without a change of the input. Each
        evaluation repeats its own requests, so a later evaluation must not find these replies.
        """
        if self._client is not None:
            self._client.forget_repeats()
            paid = f", {cost(self._client.read, self._client.wrote, self.prices):,.2f} USD" if self.prices else ""
            cached = f"; further answers came from {self.cache}" if self._client.found else ""
            inform(f"{self.name}: {self._client}{paid}{cached}.")


def _require_at_least(least: int, **settings: float | None) -> None:
    for name, value in settings.items():
        if value is not None and not value >= least:  # refuses NaN, too
            raise SettingError(f"{name} {value} is less than {least}.")


def _require_entries(extra: Any, names: Sequence[str] = BODY) -> None:
    """Raise SettingError if ``extra`` has a forbidden entry: credentials, headers, or an entry named in ``names``.

    Credentials are API keys, tokens and passwords; the name of an entry reveals them. Settings are written to files,
    which must not contain credentials.

    Args:
        extra: The further entries of a request. In mappings within ``extra``, only credentials and headers are refused.
        names: Names of the entries that other settings control.
    """
    for name, value in extra.items() if isinstance(extra, Mapping) else ():
        if name in names:
            raise SettingError(f"extra has the entry {name}, which other settings make. Leave it out.")
        if name in HEADERS or CREDENTIAL.search(str(name)):
            raise SettingError(
                f"extra has the entry {printable(str(name))[:QUOTED]}, and no file may have a key or a header. Give "
                "the key as key=, or in OPENAI_API_KEY."
            )
        for inner in value if isinstance(value, list | tuple) else [value]:
            _require_entries(inner, ())
