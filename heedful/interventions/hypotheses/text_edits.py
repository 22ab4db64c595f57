"""Changes of a text as spans, which can be shown and applied again."""

from collections.abc import Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """A replaced span of a text; an insertion has an empty ``old``.

    Attributes:
        start: Position of the first character in the original.
        end: Position after the last character.
        old: The replaced text.
        new: The replacement.
        kind: The kind of change, such as "numbers".
    """

    start: int
    end: int
    old: str
    new: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.start}:{self.end} {self.old!r} -> {self.new!r}"


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Apply edits that do not overlap; their positions refer to the original text.

    Example:
        >>> apply_edits("He is over 40.", [Edit(11, 13, "40", "35", "numbers")])
        'He is over 35.'
    """
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text
