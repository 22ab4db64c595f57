"""Examples: inputs that consist of parts, with gold labels."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from heedful.records.parts.picture import Picture
from heedful.records.parts.table import Table

Part = str | Table | Picture  # the content of one part of an input


@dataclass(frozen=True)
class Example:
    """An input with its gold label; the input consists of parts, such as premise and hypothesis.

    Attributes:
        uid: Unique name, the same in every run: "data/split/id", with a hash of the content for data without ids.
        parts: Maps the names of parts to their contents, in the order of the task.
        label: Gold label, encoded as text by the :class:`~heedful.records.TaskKind`; None without one.
        groups: Maps the names of groups to values. The name of each part maps to the hash of its content; group columns
            of the data are further groups. Examples that share a value of a group do not lend parts to each other.
        meta: Further columns of the data as text, for breakdowns of the results.
    """

    uid: str
    parts: Mapping[str, Part]
    label: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)

    @property
    def gold(self) -> str:
        """The gold label; raises TypeError if the example has none."""
        if self.label is None:
            raise TypeError(f"{self.uid} has no label")
        return self.label


def as_text(part: Part | None) -> str:
    """Return a part that is a text; raises TypeError for any other part."""
    if not isinstance(part, str):
        raise TypeError(f"{part!r} is not a text")
    return part


def as_table(part: Part | None) -> Table:
    """Return a part that is a table; raises TypeError for any other part."""
    if not isinstance(part, Table):
        raise TypeError(f"{part!r} is not a table")
    return part


@dataclass(frozen=True)
class Changed:
    """An example that an intervention has changed.

    Attributes:
        example: The changed example, with the ``uid`` of the base example.
        partner: uid of the example that lends a part, or "".
        variant: Text that distinguishes several changes of an example in one draw, such as the key of the deleted table
            row, or "".
        clusters: Names of the clusters (groups of related examples) that the change belongs to, such as the base
            example, the lending example and the table.
        allowed: Key into the table of allowed transitions between labels, or "".
    """

    example: Example
    partner: str = ""
    variant: str = ""
    clusters: tuple[str, ...] = ()
    allowed: str = ""
