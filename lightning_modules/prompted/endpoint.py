"""Models behind a server with the OpenAI protocol; they cannot be trained."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Literal, Self

import numpy as np

from heedful.lightning_modules.outputs import Outputs, label_numbers
from heedful.lightning_modules.predictor import COMMONEST, QUOTED, Capabilities, Predictor
from heedful.lightning_modules.processors.processor import Processor
from heedful.lightning_modules.prompted.requests.client import Address, Client, Server, cost
from heedful.lightning_modules.prompted.requests.replies import WAYS, Reply, Request, Unusable
from heedful.records import (
    NO_LABEL,
    SPAN,
    Composed,
    DataError,
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
from heedful.records.prompts import Prompt, Wording

FIRST = 50  # examples that are sent before all others
MOST_INVALID = 0.9  # the evaluation stops if this share of the first answers cannot be read
FEWEST_ALIKE = 10  # different questions with one free answer; fewer may be chance
ADVICE = (
    "Look at its log, or change the prompt, max_tokens, read, or extra: {chat_template_kwargs: {enable_thinking: "
    "false}} ends the reasoning of some models, {SETTING: null} removes a setting that the server refuses"
)
UNKNOWN = "unknown"  # the response names no model
REPEATED = 100  # base inputs that the null control sends again
BODY = "model", "messages", "prompt", "stream"  # entries of a request that other settings control
HEADERS = "extra_headers", "extra_query", "headers"  # not part of the body of a request
CREDENTIAL = re.compile(r"(?i)api[-_ ]?key|(^|[-_ ])(key|token|auth)$|authori[sz]ation|bearer|secret|passw|credential")
LABEL_TOKENS, SPAN_TOKENS = 8, 32  # most tokens of an answer, by default
Read = Literal["written", "first_token"]


class QuestionProcessor(Processor):
    """Turns examples into questions, as text. A question is the part of a prompt that is about the example."""

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
        """Return ``questions``, texts; and ``repeats``, 1 where the null control repeats an unchanged example."""
        repeated = examples.repeated if isinstance(examples, Composed) else np.zeros(len(examples), dtype=bool)
        return {"questions": self._questions(examples), "repeats": repeated.astype(int).tolist()}


class Endpoint(Predictor):
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
        counts = ("concurrency", concurrency, 1), ("max_tokens", max_tokens, 1), ("max_requests", max_requests, 0)
        for setting, value, least in (*counts, ("temperature", temperature, 0)):
            if value is not None and not value >= least:  # refuses NaN, too
                raise SettingError(f"{setting} {value} is less than {least}.")
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
        self.capabilities = Capabilities(WAYS[read].has_probabilities, prompts="needed", repeats=REPEATED, ranks=1)
        self.name, self.read, self.chat, self.prompt_setting = name, read, chat, prompt
        self.concurrency, self.max_requests, self.timeout = concurrency, max_requests, timeout
        self.prices, self.cache, self.allow_invalid = prices, cache, allow_invalid
        self.extra = dict(extra or {})
        self.address = Address()
        self._sampling = {"max_tokens": max_tokens, "temperature": temperature, "seed": seed}
        self._server: Server | None = None
        self._client: Client | None = None
        self._first: Sequence[str] = ()
        self._golds: set[str] = set()
        self._processes: Any = None
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
        prompt = self.prompt_setting
        return Wording.asking(prompt, self.task.labels) if isinstance(prompt, str) else prompt

    def prepare(self, task: Task) -> None:
        if not self.name:
            raise SettingError("The name of the model at the server is not given.")
        if not task.labels and not task.kind.has_spans:
            raise ModelError(f"model {type(self).__name__} chooses among labels, and the data have none.")

    def prompt_with(self, prompt: Prompt) -> None:
        longest = max(map(len, prompt.answers)) // 2  # a token usually has two or more characters
        max_tokens = max(longest, SPAN_TOKENS if self.task.kind.has_spans else LABEL_TOKENS)
        sampling = {name: value for name, value in self._sampling.items() if value is not None}
        self.way = WAYS[self.read]({"model": self.name, "max_tokens": max_tokens, **sampling}, self.chat)
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

    @property
    def most_written(self) -> int | None:
        """Largest number of tokens of an answer; None if the requests set no limit."""
        sent = {**self.way.settings, **self.extra}
        limits = [sent[name] for name in ("max_tokens", "max_completion_tokens") if isinstance(sent.get(name), int)]
        return min(limits, default=None)

    def _request(self, question: str, repeat: int = 0) -> Request:
        body = self.way.body(self.prompt, question) | self.extra
        return Request(self.way.path, {name: value for name, value in body.items() if value is not None}, repeat)

    def requests(self, examples: Sequence[Example]) -> list[Request]:
        """Return the requests for some examples, one per example."""
        return [self._request(question) for question in self.processor(examples)["questions"]]

    def sent(self, example: Example) -> dict[str, Any]:
        (request,) = self.requests([example])
        return {"path": request.path, "body": dict(request.body)}

    def start(self, examples: Composed, processes: Any) -> None:
        """Reset counts, and select questions by the hash of their uids; sent first, they reveal a failing server."""
        super().start(examples, processes)
        self._processes = processes
        positions = examples.positions
        first = positions[np.argsort(examples.pool.uid_keys[positions], kind="stable")[:FIRST]]
        asked = examples.pool.take(np.sort(first))
        self._first = self.processor(asked)["questions"]
        labels = column(asked, "label") if self.task.kind.has_spans else ()
        self._golds = {normalised(gold) for label in labels if label is not None for gold in SPAN.parse_gold(label)}

    def _replies(self, requests: Sequence[Request]) -> list[Reply | None]:
        """Return the reply to each request; None if SIGTERM arrived before the reply."""
        if self._client is None:  # made in the process that sends requests
            self.require_weights()
            beat = self._processes.keep_waiting_alive
            self._client = Client(self._server, self.cache, self.concurrency, self.max_requests, beat)
        return self._client.replies(requests, self.way.reply)

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        """Request the answers to some questions; answers that are missing because of SIGTERM are marked as not finite.

        Raises:
            HeedfulError: The server fails, gives no valid answers, or its replies have more than one model name.
        """
        if self._first:
            requests = [self._request(question) for question in self._first]
            replies = dict(zip(self._first, self._replies(requests), strict=True))
            self._first = ()
            try:
                self._require_answers({question: reply for question, reply in replies.items() if reply is not None})
            except ModelError:
                if self._client is not None:  # the next run asks the server again, which may be repaired
                    self._client.forget(requests)
                raise
        pairs = zip(inputs["questions"], inputs["repeats"], strict=True)
        replies = self._replies([self._request(question, repeat) for question, repeat in pairs])
        none = None, [float("nan")] * len(self.task.labels)
        read = [none if reply is None else self.way.read(reply, self.prompt) for reply in replies]
        answers = [answer for answer, _ in read]
        self._count_answers([pair for pair in zip(replies, answers, strict=True) if pair[0] is not None])
        if self.task.kind.has_spans:
            return Outputs(answers=answers)
        has_probs = self.way.has_probabilities and self.task.distribution
        probs = np.array([p for _, p in read], dtype=np.float32) if has_probs else None
        return Outputs(probs, label_numbers(answers, self.task.labels))

    def _require_answers(self, replies: Mapping[str, Reply]) -> None:
        """Raise ModelError if the first questions get almost no answers that can be read, or almost always one text."""
        if not replies or self.allow_invalid:
            return
        answers = {question: self.way.read(reply, self.prompt)[0] for question, reply in replies.items()}
        without = [reply for question, reply in replies.items() if answers[question] == NO_LABEL]
        first, most = f"of the first {len(replies)}", MOST_INVALID * len(replies)
        if len(without) >= most:
            quotes = dict.fromkeys(reply.failure or repr(reply.text.strip()[:QUOTED]) for reply in without)
            raise ModelError(
                f"{len(without)} {first} answers of {self.name} cannot be read: {', '.join([*quotes][:COMMONEST])}. "
                f"{ADVICE}, or set allow_invalid to true."
            )
        if not self.task.kind.has_spans or len(replies) < FEWEST_ALIKE:
            return
        # such a text is the message of an error, unless it is a gold answer or occurs in the questions
        alike: dict[str, list[str]] = {}
        for question, answer in answers.items():
            if (text := normalised(answer)) not in self._golds and text not in normalised(question):
                alike.setdefault(text, []).append(answer)
        commonest = max(alike.values(), key=len, default=[])
        if len(commonest) >= most:
            raise ModelError(
                f"{len(commonest)} {first} questions, which differ, get one answer of {self.name}: "
                f"{commonest[0][:QUOTED]!r}. Look at its log, or set allow_invalid to true."
            )

    def _count_answers(self, pairs: Sequence[tuple[Any, str | None]]) -> None:
        """Count, for results.json, the replies without a readable answer, and the replies by the name of the model."""
        self.count("no_answers", (reply.failure or reply.text for reply, answer in pairs if answer == NO_LABEL))
        self.count("models", (reply.model or UNKNOWN for reply, _ in pairs))
        self._models |= {reply.model for reply, _ in pairs if reply.model}
        if len(self._models) > 1:
            raise ModelError(
                f"Two models answer to the name {self.name}: {listing(sorted(self._models))}. Take a name that only "
                f"one of them has, and another file than cache {self.cache}."
            )

    def counts_of(self, counted: Mapping[tuple[str, str], int]) -> dict[str, Any]:
        """Return counts of replies for results.json, also by the name of the model that wrote them: ``models``."""
        models = {text: n for (kind, text), n in sorted(counted.items()) if kind == "models"}
        return super().counts_of(counted) | ({"models": models} if models else {})

    def finish(self) -> None:
        """Log the number of requests, tokens and dollars, and remove the stored replies to repeated requests."""
        if (client := self._client) is not None:
            client.forget_repeats()
            dollars = cost(client.tokens_read, client.tokens_written, self.prices) if self.prices else 0
            paid = f", {dollars:,.2f} USD" if self.prices else ""
            cached = f"; further answers came from {self.cache}" if client.has_cached_replies else ""
            inform(f"{self.name}: {client}{paid}{cached}.")


def _require_entries(extra: Mapping[str, Any]) -> None:
    """Raise SettingError for an entry that other settings control, or that is named as a key or a header.

    Settings are written to files, which must contain no keys.
    """
    for name in extra:
        if name in BODY:
            raise SettingError(f"extra has the entry {name}, which other settings make. Leave it out.")
        if name in HEADERS or CREDENTIAL.search(str(name)):
            raise SettingError(
                f"extra has the entry {printable(str(name))[:QUOTED]}, and no file may have a key or a header. Give "
                "the key as key=, or in OPENAI_API_KEY."
            )


class BatchEndpoint(Endpoint):
    """A model whose answers come from a file of the batch API of a server, instead of requests.

    ``responses`` maps a request to the JSON of its response and the place of the response in a file.
    """

    def __init__(self, responses: Any = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.responses = responses
        self.capabilities = replace(self.capabilities, repeats=0)  # a file has one response per request

    def _replies(self, requests: Sequence[Request]) -> list[Reply | None]:
        replies: list[Reply | None] = []
        for response, place in map(self.responses, requests):
            try:
                replies.append(self.way.reply(response))
            except Unusable as reason:
                raise DataError(f"{place}: {reason}. Have the model answer this request again.") from None
        return replies

    def require_weights(self) -> None:
        """Require nothing: answers come from a file, not from a server."""

    @property
    def server(self) -> str:
        return sha256(b"a batch").hexdigest()[:12]
