"""Changes of a text as spans, so that each can be shown and made again."""

from collections.abc import Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """One replaced span of a text; an insertion has an empty ``old``.

    Attributes:
        start: Position of the first character in the original.
        end: Position behind the last one.
        old: What stands there.
        new: What is put there.
        kind: Why, such as "numbers".
    """

    start: int
    end: int
    old: str
    new: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.start}:{self.end} {self.old!r} -> {self.new!r}"


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """The text with all edits made; their positions are those of the original.

    Raises:
        ValueError: Two edits overlap, or an edit does not find its old text.

    Example:
        >>> apply_edits("He is over 40.", [Edit(11, 13, "40", "35", "numbers")])
        'He is over 35.'
    """
    pieces, done = [], 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < done:
            raise ValueError(f"The edit {edit} overlaps the one before it in {text!r}.")
        if text[edit.start : edit.end] != edit.old:
            raise ValueError(f"The edit {edit} does not fit {text!r}, where that is {text[edit.start : edit.end]!r}.")
        pieces += [text[done : edit.start], edit.new]
        done = edit.end
    return "".join([*pieces, text[done:]])
