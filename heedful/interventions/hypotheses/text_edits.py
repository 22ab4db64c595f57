"""Edits of a text: replacements of spans."""

from collections.abc import Sequence
from typing import NamedTuple


class Edit(NamedTuple):
    """The replacement of a span of a text.

    Attributes:
        start: Position of the span's first character in the original text.
        end: Position after the span's last character in the original text.
        old: Text of the span; "" for an insertion.
        new: The replacement.
        kind: Kind of change, such as "numbers".
    """

    start: int
    end: int
    old: str
    new: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind} {self.start}:{self.end} {self.old!r} -> {self.new!r}"


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return the text with its edits applied; the spans of the edits refer to ``text`` and must not overlap.

    Example:
        >>> apply_edits("He is over 40.", [Edit(11, 13, "40", "35", "numbers")])
        'He is over 35.'
    """
    for edit in sorted(edits, reverse=True):
        text = text[: edit.start] + edit.new + text[edit.end :]
    return text
