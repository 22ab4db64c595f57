"""Base class of all models that the engine measures: networks, functions, servers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from heedful.lightning_modules.learned import Collapse, Fit, Learned, reconcile
from heedful.lightning_modules.processors.processor import Encoded, Processor, Statistics
from heedful.records import NO_LABEL, Composed, Example, ModelError, SettingError, Task, percent, printable
from heedful.records.arguments import RecordsArguments
from heedful.records.prompts import Prompt, Wording

if TYPE_CHECKING:
    from heedful.lightning_modules.outputs import Outputs

COMMONEST, QUOTED = 3, 80  # results.json quotes so many texts without a label, and so many characters of a text
MOST_UNKNOWN = 0.2  # default of max_unknown: a fitting tokenizer knows nearly all tokens
Batch = Mapping[str, Any]  # "inputs" from ``Encoded.batches``, and "size", the number of examples


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a model, known before evaluations are planned.

    Attributes:
        probabilities: Whether the model returns probabilities of the labels.
        writes: Whether the model generates its answers, which may differ from the most probable label or name no label.
        prompts: Whether the model can read a prompt with demonstrations ("optional"), or "needs" one; None if not.
        trains: Whether the model has a network that Lightning can train.
        in_memory: Whether the user passed the model as a Python object, instead of settings.
        repeats: Number of base inputs (without changes) that the null control predicts a second time; None for all.
        ranks: Number of ranks (processes) that predict, from rank 0 on; None for all. The other ranks idle.
    """

    probabilities: bool = True
    writes: bool = False
    prompts: Literal["optional", "needed"] | None = None
    trains: bool = False
    in_memory: bool = False
    repeats: int | None = None
    ranks: int | None = None

    def predicting_ranks(self, world_size: int) -> int:
        """Return how many of the ``world_size`` ranks (processes) predict, from rank 0 on."""
        return self.ranks or world_size


class Predictor(RecordsArguments):
    """Base class of models, with or without a network; does not import Lightning.

    A model overrides :meth:`prepare` and :meth:`answer`; a prompted model also overrides :meth:`prompt_with` and
    :meth:`sent`.

    Args:
        max_unknown: Largest share of the tokens of the data that may be out of vocabulary.

    Attributes:
        capabilities: Capabilities of the model.
        learned: Record of the training of the model.
        fit: How the model fits the task; set by :meth:`bind`.
        task: The task of ``fit``, with its parts in the order in which the model reads them; None before :meth:`bind`.
        collapse: How several outputs that mean one label are combined; None for the default.
        processor: Turns examples into inputs; set by :meth:`bind`.
        has_learned: Whether the weights in memory were trained by Heedful, or come from a checkpoint.
        own_wording: Default wording (texts) of a prompt; None for the wording of the data.
        given_wording: Wording of the prompt from the settings of the model, which overrides all others; None if not
            set.
        prompt: The current prompt; None without a prompt.
        counted: Maps (kind, text) to a count in this evaluation on this process, such as ("no_answers", "maybe") to 3.
    """

    capabilities: Capabilities = Capabilities()
    learned: Learned = Learned()
    fit: Fit
    task: Task | None = None
    collapse: Collapse | None = None
    processor: Processor
    has_learned: bool = False
    own_wording: Wording | None = None
    given_wording: Wording | None = None
    prompt: Prompt | None = None

    def __init__(self, max_unknown: float = MOST_UNKNOWN) -> None:
        super().__init__()
        if not 0 <= max_unknown <= 1:
            raise SettingError(f"model.max_unknown {max_unknown} is not a share, from 0 to 1.")
        self.max_unknown = max_unknown
        self.counted: Counter[tuple[str, str]] = Counter()

    @property
    def description(self) -> str:
        """Public name of the model, for messages and results."""
        return type(self).__name__

    def bind(self, task: Task, trains: bool = False) -> Fit:
        """Prepare the model for a task, before its network is built. Binding again forgets the earlier task and prompt.

        Args:
            task: The task of the data.
            trains: Whether to train the model on the task, or only to measure it.

        Returns:
            How the model fits the task: the order of its parts, and the mapping from its outputs to the labels.

        Raises:
            HeedfulError: The model cannot read the parts or name the labels of the task.
        """
        self.require_parts(task)
        self._task_of_data, self._trains = task, trains
        self.open(task)
        return self.match()

    def match(self) -> Fit:
        """Match the trained model with the task of the data, and prepare it for the result."""
        self.learned = replace(self.learned, base=self.description)
        self.accept(reconcile(self.learned, self._task_of_data, self._trains, self.collapse))
        self.prepare(self.fit.task)
        return self.fit

    def accept(self, fit: Fit) -> None:
        """Set :attr:`fit` and :attr:`task`, and forget the prompt of an earlier task."""
        self.fit, self.task, self.prompt = fit, fit.task, None

    def open(self, task: Task) -> None:
        """Read config and tokenizer, and set :attr:`learned`; the first step of :meth:`bind`."""

    def prepare(self, task: Task) -> None:
        """Make the processor for a task, which :attr:`task` holds already; :meth:`configure_model` builds the network
        later.
        """
        raise NotImplementedError

    def configure_model(self) -> None:
        """Load the network unless it is loaded already or the model has none."""

    def encode(self, examples: Sequence[Example]) -> Encoded:
        """Return a view of examples that computes what the model reads, such as token counts, on first use."""
        return self.processor.encode(examples)

    def tokens_that_fill(self, device: Any) -> int | None:
        """Return how many tokens of a batch fill a GPU, a torch.device; None for batches of few examples."""
        return None

    def start(self, examples: Composed, processes: Any) -> None:
        """Begin an evaluation: reset the counts of answers. Called on every rank (process), before the first batch.

        Args:
            examples: The base examples (without changes) that will be predicted.
            processes: Access of the model to the processes that predict: their ``device``, whether this process
                ``shows_progress``, and ``keep_waiting_alive()``, to call regularly during long work.
        """
        self.counted.clear()

    def finish(self) -> None:
        """End an evaluation; a model that costs money or time logs its costs. Called on every rank."""

    def predict(self, batch: Batch) -> "Outputs | None":
        """Return the predictions for a batch; None for an empty batch.

        Args:
            batch: ``inputs``, made by the processor, and ``size``, the number of examples.
        """
        return self.answer(batch["inputs"]) if batch["size"] else None

    def probabilities(self, batch: Batch) -> "Outputs | None":
        """Return predictions for a batch as :meth:`predict` does, but do not generate text; None for an empty batch."""
        return self.predict(batch)

    def answer(self, inputs: dict[str, Any]) -> "Outputs":
        """Return the predictions for at least one example, given the inputs that the processor made."""
        raise NotImplementedError

    # prompts and answers

    def prompt_with(self, prompt: Prompt) -> None:
        """Set the prompt of later predictions; requires the capability ``prompts``."""
        raise NotImplementedError

    def sent(self, example: Example) -> dict[str, Any]:
        """Return the exact input of the model for an example, for run.json.

        The entries are ``path`` and ``body`` of the request to a server; or ``text``, the decoded tokens, and for a
        chat ``messages``, its turns.
        """
        raise NotImplementedError

    def understood(self, written: Sequence[str | None]) -> list[str | None]:
        """Convert generated texts to answers, by the rules of the prompt; None stays None.

        A text in which these rules find no answer becomes NO_LABEL, and is counted.
        """
        answers = [None if text is None else self.prompt.read(text) for text in written]
        pairs = [(text, answer) for text, answer in zip(written, answers, strict=True) if text is not None]
        self.count("no_answers", (text for text, answer in pairs if answer == NO_LABEL))
        return answers

    def count(self, kind: str, texts: Iterable[str]) -> None:
        """Count the beginnings of texts in :attr:`counted`, whose counts the engine sums over all processes.

        The kind is "no_answers" for generated texts without an answer, "models" for names of models that answered, or
        "halved" for sizes of batches that were predicted in halves.
        """
        self.counted.update((kind, printable(text.strip())[:QUOTED]) for text in texts)

    def counts_of(self, counted: Mapping[tuple[str, str], int]) -> dict[str, Any]:
        """Return entries of results.json: ``no_answers``, up to 3 lists [text, count], the largest count first; and
        ``halved_batches``, the number of batches that memory could not hold.

        ``counted`` is :attr:`counted`, summed over all processes. The dictionary is empty if nothing was counted.
        """
        texts = [[text, n] for (kind, text), n in counted.items() if kind == "no_answers"]
        counts = {"no_answers": sorted(texts, key=lambda pair: (-pair[1], pair[0]))[:COMMONEST]} if texts else {}
        if halved := sum(n for (kind, _), n in counted.items() if kind == "halved"):
            counts["halved_batches"] = halved
        return counts

    # refusals

    def require_parts(self, task: Task) -> None:
        """Raise ModelError if the model cannot read the parts of a task; by default, a model cannot read pictures."""
        if task.pictures:
            raise ModelError(
                f"model {type(self).__name__} reads texts alone, and {task.pictures[0]} is a picture. Take model "
                "timm, vilt or blip."
            )

    def require_known(self, statistics: Statistics, examples: str) -> None:
        """Raise ModelError if more than ``max_unknown`` of the tokens are out of vocabulary, or if the tokenizer
        truncates the beginnings of texts; ``examples`` describes the data in the message.
        """
        tokenizer = getattr(self.processor, "tokenizer", None)
        if statistics.truncated and getattr(tokenizer, "truncation_side", "right") != "right":
            raise ModelError(
                f"{statistics.truncated:,} of {examples} are too long, and the tokenizer of {self.description} "
                "cuts off their beginning, not their end. Raise model.max_length, or set truncation_side to right in "
                "its tokenizer_config.json."
            )
        if statistics.unknown > self.max_unknown:
            raise ModelError(
                f"{percent(statistics.unknown)} of the tokens of {examples} are unknown to the tokenizer of "
                f"{self.description}, and model.max_unknown allows {percent(self.max_unknown)}. Take a model for such "
                "texts, or check that the tokenizer belongs to the model."
            )

    def require_head(self) -> None:
        """Raise ModelError if the model has no trained head (output layer) for the labels of the task."""

    def require_weights(self) -> None:
        """Raise ModelError for a model without weights, unless a checkpoint will provide the weights."""

    def require_precision(self, precision: str) -> None:
        """Raise SettingError if activations of the model overflow in this Trainer precision, such as "16-mixed"."""
