"""Convert the parts of examples (texts, tables and pictures) to JSON for a page, with marks on differences."""

import base64
import io
import os
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from heedful.records import Example, Part, Picture, Table

LONGEST = 1600  # characters of a text
SIDE = 220  # pixels; size of a picture
QUALITY = 70  # quality of WebP
COMPARED = 120  # words; longer texts are not compared word by word
ALIKE = 0.5  # share of common words below which the words of two texts are not compared
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
Content = str | dict[str, Any] | None  # a text, a table {"title", "rows"}, a picture {"picture"}, or a missing picture
Segments = list[list[Any]]  # [text, whether the text is marked]
UNKNOWN = "The evaluation did not keep its texts."
UNKNOWN_AFTER = "The changed input is not in the rows and could not be made again."


class Contents(NamedTuple):
    """The parts of an example before and after a change, as JSON.

    Attributes:
        parts: An entry {"name", "changed", "before", "after"} for each input part; "after" is None for unchanged parts.
        missing: The reason why content is missing; "" if it is complete.
    """

    parts: list[dict[str, Any]]
    missing: str = ""


Provider = Callable[[Sequence[Mapping[str, Any]]], Sequence[Contents]]  # returns the contents of rows


def contents_of(base: Example, changed: Example | None, parts: Sequence[str], is_changed: bool = True) -> Contents:
    """Compare an example with the example after a change, and return the contents of both.

    Args:
        base: The original example.
        changed: The changed example; None if it is unknown or nothing changed.
        parts: Names of the input parts.
        is_changed: Whether the example was changed at all.
    """
    entries = []
    for name in parts:
        before = base.parts[name]
        after = before if changed is None else changed.parts.get(name)
        if before == after:
            entries.append({"name": name, "changed": False, "before": content_of(before), "after": None})
        else:
            sides = compared(content_of(before), None if after is None else content_of(after))
            entries.append({"name": name, "changed": True, "before": sides[0], "after": sides[1]})
    return Contents(entries, UNKNOWN_AFTER if is_changed and changed is None else "")


def content_of(part: Part) -> Content:
    """Convert an input part to JSON: long texts are truncated, pictures downscaled; None for a missing picture."""
    if isinstance(part, str):
        return part if len(part) <= LONGEST else f"{part[:LONGEST].rstrip()} … (cut off here)"
    if isinstance(part, Table):
        rows = [[key, ", ".join(values), ""] for key, values in part.rows]
        return {"title": part.title, "rows": rows, "titled": False}
    return {"picture": _picture(part)} if part.key else None


def _picture(picture: Picture) -> str:
    """Downscale a picture, and encode it as a data URI."""
    from PIL import Image

    from heedful.datamodules.loaders.pictures import thumbnail

    file = io.BytesIO()
    Image.fromarray(thumbnail(picture, SIDE)).save(file, format="WEBP", quality=QUALITY)
    return f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode()}"


def marked(before: str, after: str) -> tuple[Segments, Segments] | None:
    """Mark the words in which two texts differ.

    Returns:
        For each text, its segments as pairs of a text and whether it differs; None for texts with few common words.

    Example:
        >>> marked("A dog runs.", "A cat runs.")
        ([['A ', False], ['dog', True], [' runs.', False]], [['A ', False], ['cat', True], [' runs.', False]])
        >>> marked("It rains.", "Nobody sings here") is None
        True
    """
    words = TOKEN.findall(before), TOKEN.findall(after)
    pieces = _pieces(*words)
    shared = sum(not word.isspace() for first, second in pieces if first == second for word in first)
    if 2 * shared < ALIKE * sum(not word.isspace() for side in words for word in side):
        return None
    sides: tuple[Segments, Segments] = ([], [])
    for pair in pieces:
        for side, piece in zip(sides, pair, strict=True):
            if piece:
                side.append(["".join(piece), pair[0] != pair[1]])
    return sides


def _pieces(words: list[str], words_after: list[str]) -> list[tuple[list[str], list[str]]]:
    """Split two lists of words into pairs of pieces: "a b c" and "a x c" become ("a", "a"), ("b", "x"), ("c", "c").

    The common prefix and the common suffix are pairs. The words between them are compared word by word; if they are
    many, they are a single pair, to limit the running time.
    """
    start = len(os.path.commonprefix([words, words_after]))
    end = len(os.path.commonprefix([words[start:][::-1], words_after[start:][::-1]]))
    first, second = words[start : len(words) - end], words_after[start : len(words_after) - end]
    pieces = [(first, second)]
    if max(len(first), len(second)) <= COMPARED:
        steps = SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        pieces = [(first[i:j], second[k:stop]) for _, i, j, k, stop in steps]
    pieces = [(words[:start], words[:start]), *pieces, (words[len(words) - end :], words[len(words) - end :])]
    return [pair for pair in pieces if any(pair)]


def compared(before: Content, after: Content) -> tuple[Any, Any]:
    """Return the contents of an input part before and after a change, with marks on their differences.

    Two texts with many common words become segments (:func:`marked`). Two tables become dictionaries: "title", "titled"
    (whether the titles differ) and "rows" (a list of [key, values, mark]). The mark of a row is "gone" (key only in
    ``before``), "new" (key only in ``after``), "changed" (other values), "moved" (another place among the rows with
    keys in both tables) or "" (no difference). Other contents are returned as they are.
    """
    if isinstance(before, str) and isinstance(after, str):
        return marked(before, after) or (before, after)
    if isinstance(before, dict) and isinstance(after, dict) and "rows" in before and "rows" in after:
        return _marked_rows(before, after), _marked_rows(after, before, "new")
    return before, after


def _marked_rows(table: dict[str, Any], other_table: dict[str, Any], alone: str = "gone") -> dict[str, Any]:
    """Return a copy of a table with a mark on each row that differs from another table. A row whose key the other table
    lacks gets the mark ``alone``.
    """
    values = {key: value for key, value, _ in other_table["rows"]}
    common = [key for key, *_ in table["rows"] if key in values]
    order = [key for key in values if key in set(common)]
    moved = {key for key, place in zip(common, order, strict=True) if key != place}
    rows = []
    for key, value, _ in table["rows"]:
        mark = alone if key not in values else "changed" if values[key] != value else "moved" if key in moved else ""
        rows.append([key, value, mark])
    return {"title": table["title"], "rows": rows, "titled": table["title"] != other_table["title"]}
