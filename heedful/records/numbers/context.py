"""The context of rows: all further inputs of a metric, stored in the metadata of the rows file."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from heedful.records.task import CLASSIFICATION, KINDS, TaskKind


@dataclass(frozen=True)
class Context:
    """The task of rows, and the settings of an evaluation.

    Attributes:
        data: Name of the data set.
        seed: The run's seed.
        kind: The kind of task.
        parts: Names of the parts that the model reads.
        labels: The labels, in the order of the probabilities.
        default_label: The label of unrelated parts, or None.
        splits: The evaluated splits, if several.
        slices: Meta columns whose values break down the numbers.
        own: Settings of the metric of the evaluation, as JSON.
        unlabelled: Whether the examples have no gold labels.
        counts: Counts of the evaluation, from the same metadata.
    """

    data: str
    seed: int = 0
    kind: TaskKind = CLASSIFICATION
    parts: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    default_label: str | None = None
    splits: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)
    unlabelled: bool = False
    counts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def default_answer(self) -> str | None:
        """The answer for unrelated parts, or None."""
        return self.kind.default_answer(self.default_label)

    def as_dict(self) -> dict[str, Any]:
        """The context as metadata, with the name of the kind; "unlabelled" is omitted if false."""
        entry = asdict(self) | {"kind": self.kind.name}
        del entry["counts"]
        return entry if self.unlabelled else {name: value for name, value in entry.items() if name != "unlabelled"}

    @classmethod
    def of(cls, entry: Mapping[str, Any], counts: Mapping[str, Any] = MappingProxyType({})) -> "Context":
        """Read the context that :meth:`as_dict` wrote, with the counts of the evaluation."""
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
        return cls(**values | {"kind": KINDS[entry["kind"]], "counts": counts})
