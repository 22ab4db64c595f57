"""The interface between the engine and a model, which may be a network, a function or a server."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from heedful.records import Composed, Example, Task
from heedful.records.prompts.prompt import Prompt

if TYPE_CHECKING:
    import torch

    from heedful.lightning_modules.outputs import Outputs
    from heedful.lightning_modules.pretrained.trained_on import TrainedOn

Batch = Mapping[str, Any]  # "inputs", as ``Encoded.batches`` makes them, and "size"


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a model, known before evaluations are planned.

    Attributes:
        probabilities: Whether the model returns probabilities of the labels.
        writes: Whether the model generates its answers, which may differ from the most probable label or name no label.
        repeats: Number of base inputs that the null control repeats; None for all.
        ranks: Number of predicting ranks, from rank 0 on; None for all. The other ranks idle.
    """

    probabilities: bool = True
    writes: bool = False
    repeats: int | None = None
    ranks: int | None = None

    def predicting_ranks(self, world_size: int) -> int:
        """Number of ranks that predict, from rank 0 on; ``world_size`` is the number of all ranks."""
        return self.ranks or world_size


@dataclass(frozen=True)
class LabelMap:
    """The labels that the outputs of a model mean.

    Attributes:
        outputs: Names of the outputs, in their order.
        labels: Names of the labels of the task, in their order.
        column: For each output, the index of the label that it means.
        collapse: How several outputs that mean one label answer: by the sum of their probabilities, or the most
            probable output by itself (argmax).

    Example:
        >>> head = LabelMap(("c", "n", "e"), ("entailment", "not_entailment"), (1, 1, 0))
        >>> head.merges, LabelMap.identity(["yes", "no"]).column
        (True, (0, 1))
    """

    outputs: tuple[str, ...]
    labels: tuple[str, ...]
    column: tuple[int, ...]
    collapse: Literal["sum", "argmax"] = "sum"

    @classmethod
    def identity(cls, labels: Sequence[str]) -> "LabelMap":
        """The map of a model with one output for each label, in their order."""
        return cls(tuple(labels), tuple(labels), tuple(range(len(labels))))

    @property
    def merges(self) -> bool:
        """Whether several outputs mean one label."""
        return len(set(self.column)) < len(self.column)

    @property
    def is_in_order(self) -> bool:
        """Whether the outputs are the labels in their order."""
        return self.column == tuple(range(len(self.column)))


@dataclass(frozen=True)
class Provenance:
    """The training data of a model.

    Attributes:
        parts: Names of the parts in training, in order; None if unknown.
        trained_on: The training examples, including those of its initial model; None if unknown.
        revision: Hub commit of its initial model; None for a local folder.
        steps: Number of training steps of the loaded checkpoint; None without a checkpoint.
    """

    parts: tuple[str, ...] | None = None
    trained_on: "TrainedOn | None" = None
    revision: str | None = None
    steps: int | None = None


@dataclass(frozen=True)
class Statistics:
    """Truncation and vocabulary statistics of examples under a model.

    Attributes:
        truncated: Number of truncated examples.
        unknown: Share of tokens that are out of vocabulary.
        tokens_kept: Maps part names to (tokens read, all tokens); empty without truncation.
    """

    truncated: int = 0
    unknown: float = 0.0
    tokens_kept: Mapping[str, list[int]] = field(default_factory=dict)


class Encodes(Protocol):
    """The functions of examples that :class:`Encoded` caches; see :class:`.processors.processor.Processor`."""

    def lengths(self, examples: Any) -> np.ndarray: ...

    def order(self, examples: Any, lengths: np.ndarray) -> np.ndarray: ...

    def fingerprints(self, examples: Any) -> np.ndarray | None: ...

    def statistics(self, examples: Any) -> Statistics: ...

    def batches(self, examples: Any, batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]: ...


class Encoded:
    """Examples as a model reads them. Each property is computed on first use and cached.

    Args:
        encoder: Computes the properties.
        examples: A list, a pool or a composition of a pool.
    """

    def __init__(self, encoder: Encodes, examples: Sequence[Example]) -> None:
        self._encoder = encoder
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Cost of each example, in tokens: int32 [examples]."""
        return self._encoder.lengths(self.examples)

    @cached_property
    def order(self) -> np.ndarray:
        """Sort key of batches, in descending order, so that batches need little padding: int [examples]."""
        return self._encoder.order(self.examples, self.lengths)

    @cached_property
    def fingerprints(self) -> np.ndarray | None:
        """Hash of the model's input for each example: uint64 [examples]; None if the input is unknown."""
        return self._encoder.fingerprints(self.examples)

    @cached_property
    def statistics(self) -> Statistics:
        """Truncation and vocabulary statistics of the examples."""
        return self._encoder.statistics(self.examples)

    def batches(self, batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        """Inputs of the model, a batch at a time.

        Args:
            batches: int64 [examples of the batch] each, positions into the examples.
        """
        return self._encoder.batches(self.examples, batches)


class Processes(Protocol):
    """The interface of ``heedful.callbacks.engine.processes.Processes`` for models.

    Attributes:
        device: The device of the inputs.
        shows_progress: Whether this process shows progress bars.
    """

    shows_progress: bool

    @property
    def device(self) -> "torch.device": ...

    def busy(self) -> None:
        """Heartbeat; call it regularly while other processes wait for this one."""
        ...


class Predictor(Protocol):
    """Interface of a model for the engine.

    Attributes:
        capabilities: Capabilities of the model.
        provenance: Training data of the model.
        prompt: The current prompt; None for a model without prompts.
        counted: Maps (kind, text) to the number of such answers in this evaluation on this process.
    """

    capabilities: Capabilities
    provenance: Provenance
    prompt: Prompt | None
    counted: Counter[tuple[str, str]]

    @property
    def description(self) -> str:
        """Public name of the model, for messages and results."""
        ...

    def bind(self, task: Task, trains: bool = False) -> LabelMap:
        """Prepare the model for a task, before its network is built.

        Args:
            task: The task of the data.
            trains: Whether to train the model on the task, or only to measure it.

        Raises:
            HeedfulError: The model cannot read the parts or name the labels of the task.
        """
        ...

    def encode(self, examples: Sequence[Example]) -> Encoded:
        """Examples as the model reads them."""
        ...

    def require_known(self, statistics: Statistics, examples: str) -> None:
        """Refuse examples with too many unread or unknown tokens; the message names ``examples``."""
        ...

    def start(self, examples: Composed, processes: Processes) -> None:
        """Begin an evaluation: reset counts, and probe a server. Called on every rank, before the first batch.

        Args:
            examples: The base examples that will be predicted.
            processes: The processes that predict.
        """
        ...

    def predict(self, batch: Batch) -> "Outputs | None":
        """Predict a batch; None for an empty batch."""
        ...

    def probabilities(self, batch: Batch) -> "Outputs | None":
        """Like :meth:`predict`, but without generating an answer."""
        ...

    def counts_of(self, counted: Mapping[tuple[str, str], int]) -> dict[str, Any]:
        """Counts of answers for results.json, from the sum of ``counted`` over all processes."""
        ...

    def finish(self) -> None:
        """End an evaluation, and log its costs. Called on every rank."""
        ...


class Explains(Protocol):
    """A predictor that attributions can explain.

    Attributes:
        processor: Processor whose ``hiding`` makes inputs with hidden words.
    """

    processor: Any

    @property
    def description(self) -> str: ...

    def parameters(self) -> "Iterator[torch.nn.Parameter]": ...

    @property
    def embeddings(self) -> Any:
        """The module that maps token ids to vectors, for gradients."""
        ...

    def logits(self, inputs: dict[str, Any]) -> Any:
        """Scores [examples, labels], for gradients."""
        ...
