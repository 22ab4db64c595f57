"""Examples, which go into a model, and predictions, which come out of it."""

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
        parts: Part name to content, in the order of the task.
        label: Gold label as the :class:`~heedful.records.TaskKind` of the task writes it, or None.
        groups: What the example must not share with a partner: each part's content (by hash), and every group column
            that the data set's YAML names.
        meta: Other columns, as text; results are broken down by them.
    """

    uid: str
    parts: Mapping[str, Part]
    label: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)

    @property
    def gold(self) -> str:
        """The label of an example that has to have one. Raises TypeError where it has none."""
        if self.label is None:
            raise TypeError(f"{self.uid} has no label")
        return self.label


def as_text(part: Part | None) -> str:
    """A part that has to be a text. Raises TypeError for another one."""
    if not isinstance(part, str):
        raise TypeError(f"{part!r} is not a text")
    return part


def as_table(part: Part | None) -> Table:
    """A part that has to be a table. Raises TypeError for another one."""
    if not isinstance(part, Table):
        raise TypeError(f"{part!r} is not a table")
    return part


@dataclass(frozen=True)
class Changed:
    """An example that an intervention has changed.

    Attributes:
        example: The changed example; its ``uid`` is that of the base example.
        partner: uid of the example that lent something, or "".
        variant: Which of several changes of one draw this is (which table row, say), or "".
        clusters: What the error of this row is shared with: the base uid, the partner, a context, a table.
        allowed: Key into a table of allowed transitions, or "".
    """

    example: Example
    partner: str = ""
    variant: str = ""
    clusters: tuple[str, ...] = ()
    allowed: str = ""
