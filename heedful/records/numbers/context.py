"""``Context``: what a metric needs besides rows (predictions). It is stored in the metadata of the file of rows."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from heedful.records.task import CLASSIFICATION, KINDS, TaskKind


@dataclass(frozen=True)
class Context:
    """The task of an evaluation and the settings with which it produced its rows (predictions).

    Attributes:
        data: Name of the data set.
        seed: Seed of the run.
        kind: The kind of task.
        parts: Names of the parts that the model reads.
        labels: Names of the labels, in the order of the probabilities.
        default_label: The right label if the parts are unrelated, or None.
        splits: Names of the evaluated splits; empty if there is only one.
        slices: Names of the meta columns, such as "genre"; numbers are also computed for each of their values.
        own: Settings of the evaluation itself, as JSON values.
        unlabelled: Whether the examples have no gold labels.
        counts: Maps names to numbers that the evaluation counted, such as excluded partners.
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
        """The right answer if the parts are unrelated; None if the task has none."""
        return self.kind.default_answer(self.default_label)

    def as_dict(self) -> dict[str, Any]:
        """Convert to the metadata of a file of rows, without ``counts``; ``unlabelled`` is omitted if it is false."""
        entry = asdict(self) | {"kind": self.kind.name}
        del entry["counts"]
        return entry if self.unlabelled else {name: value for name, value in entry.items() if name != "unlabelled"}

    @classmethod
    def of(cls, entry: Mapping[str, Any], counts: Mapping[str, Any] = MappingProxyType({})) -> "Context":
        """Create a context from the result of :meth:`as_dict` and from ``counts``, which files store separately."""
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
        return cls(**values | {"kind": KINDS[entry["kind"]], "counts": counts})
