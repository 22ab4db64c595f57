"""The interface of all models (networks, functions, servers) to the engine, which runs evaluations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from heedful.lightning_modules.processors.processor import Encoded, Statistics
from heedful.records import Composed, Example, Task
from heedful.records.prompts import Prompt

if TYPE_CHECKING:
    import torch

    from heedful.lightning_modules.outputs import Outputs
    from heedful.lightning_modules.pretrained.trained_on import TrainedOn

Batch = Mapping[str, Any]  # "inputs" from ``Encoded.batches``, and "size", the number of examples


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a model, known before evaluations are planned.

    Attributes:
        probabilities: Whether the model returns probabilities of the labels.
        writes: Whether the model generates its answers, which may differ from the most probable label or name no label.
        repeats: Number of base inputs (without changes) that the null control predicts a second time; None for all.
        ranks: Number of ranks (processes) that predict, from rank 0 on; None for all. The other ranks idle.
    """

    probabilities: bool = True
    writes: bool = False
    repeats: int | None = None
    ranks: int | None = None

    def predicting_ranks(self, world_size: int) -> int:
        """Return how many of the ``world_size`` ranks (processes) predict, from rank 0 on."""
        return self.ranks or world_size


@dataclass(frozen=True)
class LabelMap:
    """Maps the outputs of a model to the labels of a task.

    Attributes:
        outputs: Names of the outputs, in their order.
        labels: Names of the labels of the task, in their order.
        column: For each output, the index of the label that it means.
        collapse: How to combine several outputs that mean one label: "sum" adds their probabilities, "argmax" answers
            with the label of the most probable output.

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
        """Return the label map of a model whose outputs are exactly the labels, in the same order."""
        return cls(tuple(labels), tuple(labels), tuple(range(len(labels))))

    @property
    def merges(self) -> bool:
        """Whether several outputs mean one label."""
        return len(set(self.column)) < len(self.column)

    @property
    def is_in_order(self) -> bool:
        """Whether output i means label i, for all outputs."""
        return self.column == tuple(range(len(self.column)))


@dataclass(frozen=True)
class Provenance:
    """The origin of a model: its training data, and the pretrained model that its training began with.

    Attributes:
        parts: Names of the parts in training, in order; None if unknown.
        trained_on: Hashes of the training examples, including those of the pretrained model; None if unknown.
        revision: Hub commit of the pretrained model; None for a local folder.
        steps: Number of training steps of the loaded checkpoint; None without a checkpoint.
    """

    parts: tuple[str, ...] | None = None
    trained_on: "TrainedOn | None" = None
    revision: str | None = None
    steps: int | None = None


class Processes(Protocol):
    """The attributes and methods that a model may use of ``heedful.callbacks.engine.processes.Processes``.

    An evaluation runs in one or more processes. Each process has one object of this type, by which the model learns
    about this process and signals to the other processes.

    Attributes:
        device: The device of the inputs in this process.
        shows_progress: Whether this process shows progress bars.
    """

    shows_progress: bool

    @property
    def device(self) -> "torch.device": ...

    def keep_waiting_alive(self) -> None:
        """Tell the processes that wait for this one not to time out; call it regularly during long work."""
        ...


class Predictor(Protocol):
    """Interface of a model to the engine, which runs evaluations.

    Attributes:
        capabilities: Capabilities of the model.
        provenance: Training data of the model.
        prompt: The current prompt; None for a model without prompts.
        counted: Maps (kind, text) to a count in this evaluation on this process, such as ("no_answers", "maybe") to 3.
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

        Returns:
            The mapping from the outputs of the model to the labels of the task.

        Raises:
            HeedfulError: The model cannot read the parts or name the labels of the task.
        """
        ...

    def encode(self, examples: Sequence[Example]) -> Encoded:
        """Return a view of examples that computes what the model reads, such as token counts, on first use."""
        ...

    def require_known(self, statistics: Statistics, examples: str) -> None:
        """Raise an error if too many tokens are out of vocabulary; ``examples`` describes the data in the message."""
        ...

    def start(self, examples: Composed, processes: Processes) -> None:
        """Begin an evaluation, and reset counts. Called on every rank (process), before the first batch.

        Args:
            examples: The base examples (without changes) that will be predicted.
            processes: Access of the model to the processes that predict.
        """
        ...

    def predict(self, batch: Batch) -> "Outputs | None":
        """Return the predictions for a batch; None for an empty batch."""
        ...

    def probabilities(self, batch: Batch) -> "Outputs | None":
        """Return predictions for a batch as :meth:`predict` does, but do not generate text; None for an empty batch."""
        ...

    def counts_of(self, counted: Mapping[tuple[str, str], int]) -> dict[str, Any]:
        """Convert counts to a dictionary for results.json, such as {"no_answers": [["maybe", 3]]}.

        ``counted`` maps (kind, text) to a count, such as ("no_answers", "maybe") to 3: it is :attr:`counted`, summed
        over all processes. The dictionary is empty if nothing was counted.
        """
        ...

    def finish(self) -> None:
        """End an evaluation, and log its costs. Called on every rank."""
        ...
