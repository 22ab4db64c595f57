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
    """Apply edits, whose positions refer to the original text.

    Raises:
        ValueError: Two edits overlap, or an edit does not find its old text.

    Example:
        >>> apply_edits("He is over 40.", [Edit(11, 13, "40", "35", "numbers")])
        'He is over 35.'
    """
    pieces, done = [], 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < done:
            raise ValueError(f"The edit {edit} overlaps another edit in {text!r}.")
        if text[edit.start : edit.end] != edit.old:
            raise ValueError(f"The edit {edit} does not match the text {text[edit.start : edit.end]!r} of {text!r}.")
        pieces += [text[done : edit.start], edit.new]
        done = edit.end
    return "".join([*pieces, text[done:]])
