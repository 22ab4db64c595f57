"""Examples: inputs of a model with their gold labels."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from heedful.records.parts.picture import Picture
from heedful.records.parts.table import Table

Part = str | Table | Picture  # one part of an input


@dataclass(frozen=True)
class Example:
    """One input with its gold label.

    Attributes:
        uid: ``<data>/<split>/<source id, else a hash of the content>``; unique, and the same in every run.
        parts: Maps part names to contents, in the order of the task.
        label: Gold label as text, in the form of the task's :class:`~heedful.records.TaskKind`, or None.
        groups: Maps group names to values: the hash of the content of each part, and the group columns of the data.
            Examples that share a group are not partners.
        meta: Other columns as text, for breakdowns of the results.
    """

    uid: str
    parts: Mapping[str, Part]
    label: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)

    @property
    def gold(self) -> str:
        """The gold label; raises TypeError without one."""
        if self.label is None:
            raise TypeError(f"{self.uid} has no label")
        return self.label


def as_text(part: Part | None) -> str:
    """The part, if it is a text; raises TypeError for other parts."""
    if not isinstance(part, str):
        raise TypeError(f"{part!r} is not a text")
    return part


def as_table(part: Part | None) -> Table:
    """The part, if it is a table; raises TypeError for other parts."""
    if not isinstance(part, Table):
        raise TypeError(f"{part!r} is not a table")
    return part


@dataclass(frozen=True)
class Changed:
    """An example after an intervention.

    Attributes:
        example: The changed example, with the ``uid`` of the base example.
        partner: uid of the example that lent a part, or "".
        variant: Name of the change among the changes of a draw, such as a table row, or "".
        clusters: Names of the clusters of the row: the base uid, the partner, a context, a table.
        allowed: Key in a table of allowed transitions, or "".
    """

    example: Example
    partner: str = ""
    variant: str = ""
    clusters: tuple[str, ...] = ()
    allowed: str = ""
