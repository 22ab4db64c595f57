"""The content of examples as a page shows it: JSON, with what a change did to it marked."""

import base64
import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from heedful.records import Example, Part, Picture, Table

LONGEST = 1600  # characters of a text
SIDE = 220  # pixels of a picture
QUALITY = 70  # of its compression
COMPARED = 120  # words of a text, at most, that are compared one by one
ALIKE = 0.5  # texts that have less in common than this are shown as they are, without marks
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
Content = str | dict[str, Any] | None  # a text, {"title": ..., "rows": ...}, {"picture": ...}, or nothing to be seen
Segments = list[list[Any]]  # [text, whether it is marked] each
UNKNOWN = "Its texts were not kept when it was evaluated."
UNKNOWN_AFTER = "What it became is not in the rows, and could not be made again."


class Contents(NamedTuple):
    """What an example holds, as a page shows it.

    Attributes:
        parts: {"name", "changed", "before", "after"} of each part, the last only where it changed.
        missing: Why something is not shown; "" where all is.
    """

    parts: list[dict[str, Any]]
    missing: str = ""


Provider = Callable[[Sequence[Mapping[str, Any]]], Sequence[Contents]]  # of rows


def contents_of(base: Example, changed: Example | None, parts: Sequence[str], is_changed: bool = True) -> Contents:
    """What an example holds before and after a change.

    Args:
        base: The example.
        changed: What it became; None where that is not known.
        parts: Names of those that are shown.
        is_changed: Whether it was changed at all.
    """
    found = []
    for name in parts:
        before = base.parts[name]
        after = before if changed is None else changed.parts.get(name)
        if before == after:
            found.append({"name": name, "changed": False, "before": content_of(before), "after": None})
        else:
            sides = compared(content_of(before), None if after is None else content_of(after))
            found.append({"name": name, "changed": True, "before": sides[0], "after": sides[1]})
    return Contents(found, UNKNOWN_AFTER if is_changed and changed is None else "")


def content_of(part: Part) -> Content:
    """A part as JSON: a text that is very long loses its end, a picture becomes small."""
    if isinstance(part, str):
        return part if len(part) <= LONGEST else f"{part[:LONGEST].rstrip()} … (cut off here)"
    if isinstance(part, Table):
        rows = [[key, ", ".join(values), ""] for key, values in part.rows]
        return {"title": part.title, "rows": rows, "titled": False}
    return {"picture": _picture(part)} if part.key else None


def _picture(picture: Picture) -> str:
    """A small picture as a data URI."""
    from PIL import Image

    from heedful.datamodules.loaders.pictures import thumbnail

    file = io.BytesIO()
    Image.fromarray(thumbnail(picture, SIDE)).save(file, format="WEBP", quality=QUALITY)
    return f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode()}"


def marked(before: str, after: str) -> tuple[Segments, Segments] | None:
    """Two texts with the words that differ marked; None where they have so little in common that marks say nothing.

    Example:
        >>> marked("A dog runs.", "A cat runs.")
        ([['A ', False], ['dog', True], [' runs.', False]], [['A ', False], ['cat', True], [' runs.', False]])
        >>> marked("It rains.", "Nobody sings here") is None
        True
    """
    words, others = TOKEN.findall(before), TOKEN.findall(after)
    pieces = _pieces(words, others)
    shared = sum(not word.isspace() for own, other in pieces if own == other for word in own)
    if 2 * shared < ALIKE * sum(not word.isspace() for word in (*words, *others)):
        return None
    sides: tuple[Segments, Segments] = ([], [])
    for own, other in pieces:
        for side, piece in zip(sides, (own, other), strict=True):
            if piece:
                side.append(["".join(piece), own != other])
    return sides


def _pieces(words: list[str], others: list[str]) -> list[tuple[list[str], list[str]]]:
    """Two lists of words, cut into pieces that are the same and pieces that differ, in turn.

    What both begin and end with is the same. Between, single words are compared only where they are not many: long
    texts take their time.
    """
    start = len(os.path.commonprefix([words, others]))
    end = len(os.path.commonprefix([words[start:][::-1], others[start:][::-1]]))
    own, other = words[start : len(words) - end], others[start : len(others) - end]
    pieces = [(own, other)]
    if max(len(own), len(other)) <= COMPARED:
        steps = SequenceMatcher(None, own, other, autojunk=False).get_opcodes()
        pieces = [(own[i:j], other[k:stop]) for _, i, j, k, stop in steps]
    pieces = [(words[:start], words[:start]), *pieces, (words[len(words) - end :], words[len(words) - end :])]
    return [(first, second) for first, second in pieces if first or second]


def compared(before: Content, after: Content) -> tuple[Any, Any]:
    """The content of a part on both sides: texts as segments where their words can be compared, tables as rows.

    A row of a table is [key, values, mark], with the mark "gone", "new", "changed", "moved" or ""; "titled" says
    whether the title differs.
    """
    if isinstance(before, str) and isinstance(after, str):
        return marked(before, after) or (before, after)
    if isinstance(before, dict) and isinstance(after, dict) and "rows" in before and "rows" in after:
        return _rows(before, after), _rows(after, before, "new")
    return before, after


def _rows(table: dict[str, Any], other: dict[str, Any], alone: str = "gone") -> dict[str, Any]:
    """A table with marks at the rows that the other one does not have, or has otherwise."""
    values = {key: value for key, value, _ in other["rows"]}
    own = [key for key, *_ in table["rows"] if key in values]
    there = [key for key in values if key in set(own)]
    moved = {key for key, place in zip(own, there, strict=True) if key != place}
    rows = []
    for key, value, _ in table["rows"]:
        mark = alone if key not in values else "changed" if values[key] != value else "moved" if key in moved else ""
        rows.append([key, value, mark])
    return {"title": table["title"], "rows": rows, "titled": table["title"] != other["title"]}
