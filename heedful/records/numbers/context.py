"""The context of rows: all that a metric needs beside them. It stands in the metadata of the rows file."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from heedful.records.task import CLASSIFICATION, KINDS, TaskKind


@dataclass(frozen=True)
class Context:
    """The task that rows are about, and what an evaluation adds.

    Attributes:
        data: Name of the data set.
        seed: The run's seed.
        kind: The kind of task.
        parts: Names of the parts that the model reads.
        labels: The labels, in the order of the probabilities.
        default_label: The label of parts that have nothing to do with each other, or None.
        splits: The splits that are evaluated, where they are several.
        slices: The meta columns that somebody asked for numbers by.
        own: What the evaluation adds; all of it JSON.
        unlabelled: Whether the examples have no gold labels, so that nothing is made of these.
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

    @property
    def default_answer(self) -> str | None:
        """The answer to parts that have nothing to do with each other, or None."""
        return self.kind.default_answer(self.default_label)

    def as_dict(self) -> dict[str, Any]:
        """As it stands in the metadata, the kind by its name; "unlabelled" only where it is so."""
        entry = asdict(self) | {"kind": self.kind.name}
        return entry if self.unlabelled else {name: value for name, value in entry.items() if name != "unlabelled"}

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> "Context":
        """Read what :meth:`as_dict` wrote."""
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
        return cls(**values | {"kind": KINDS[entry["kind"]]})
