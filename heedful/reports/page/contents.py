"""Convert the parts of examples (texts, tables and pictures) to JSON for a page, with marks on differences."""

import base64
import io
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

from heedful.records import Example, Part, Picture, Table

LONGEST = 1600  # characters of a text
SIDE = 220  # pixels; size of a picture
QUALITY = 70  # quality of WebP
COMPARED = 240  # words and spaces; the comparison of longer texts begins at rare words, to take less time
ALIKE = 0.5  # share of common words below which the words of two texts are not compared
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
Content = str | dict[str, Any] | None  # a text, a table {"title", "rows"}, a picture {"picture"}, or a missing picture
Segments = list[list[Any]]  # [text, whether the text is marked]
UNKNOWN = "The evaluation did not keep its texts."
UNKNOWN_AFTER = "The changed input is not in the rows and could not be made again."


class Contents(NamedTuple):
    """The parts of an example before and after a change, as JSON."""

    parts: list[dict[str, Any]]  # {"name", "changed", "before", "after"}; "after" is None for an unchanged part
    missing: str = ""  # the reason why content is missing; "" if it is complete


Provider = Callable[[Sequence[Mapping[str, Any]]], Sequence[Contents]]  # returns the contents of rows


def contents_of(base: Example, changed: Example | None, parts: Sequence[str], is_changed: bool = True) -> Contents:
    """Return the contents of some parts of an example before and after a change; ``changed`` may be unknown (None)."""
    entries = []
    for name in parts:
        part = base.parts[name]
        changed_part = part if changed is None else changed.parts.get(name)
        before, after = content_of(part), None
        if part != changed_part:
            before, after = compared(before, None if changed_part is None else content_of(changed_part))
        entries.append({"name": name, "changed": part != changed_part, "before": before, "after": after})
    return Contents(entries, UNKNOWN_AFTER if is_changed and changed is None else "")


def content_of(part: Part) -> Content:
    """Convert an input part to JSON: long texts are truncated, pictures downscaled; None for a missing picture."""
    if isinstance(part, str):
        return part if len(part) <= LONGEST else f"{part[:LONGEST].rstrip()} … (cut off here)"
    if isinstance(part, Table):
        rows = [[key, ", ".join(values), ""] for key, values in part.rows]
        return {"title": part.title, "rows": rows, "titled": False}
    return {"picture": _picture(part), "file": Path(part.path).name} if part.key else None


def plain_text(content: Any) -> str:
    """Return the text of a content, with or without marks: the rows of a table, the name of the file of a picture.

    Example:
        >>> plain_text({"title": "Ada", "rows": [["Born", "1815", "changed"]], "titled": False})
        'Title: Ada; Born: 1815'
    """
    if isinstance(content, dict):
        rows = (f"{key}: {value}" for key, value, _ in content.get("rows", ()))
        return content["file"] if "file" in content else "; ".join([f"Title: {content['title']}", *rows])
    return content if isinstance(content, str) else "".join(text for text, _ in content or ())


def _picture(picture: Picture) -> str:
    from PIL import Image

    from heedful.datamodules.loaders.pictures import thumbnail

    file = io.BytesIO()
    Image.fromarray(thumbnail(picture, SIDE)).save(file, format="WEBP", quality=QUALITY)
    return f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode()}"


def marked(before: str, after: str) -> tuple[Segments, Segments] | None:
    """Return the segments of two texts, as pairs of a text and whether it differs; None if few words are common.

    Example:
        >>> marked("A dog runs.", "A cat runs.")
        ([['A ', False], ['dog', True], [' runs.', False]], [['A ', False], ['cat', True], [' runs.', False]])
        >>> marked("It rains.", "Nobody sings here") is None
        True
    """
    words, words2 = TOKEN.findall(before), TOKEN.findall(after)
    is_long = max(len(words), len(words2)) > COMPARED
    steps = SequenceMatcher(None, words, words2, autojunk=is_long).get_opcodes()
    common = sum(not word.isspace() for tag, i, j, _, _ in steps if tag == "equal" for word in words[i:j])
    if 2 * common < ALIKE * sum(not word.isspace() for word in (*words, *words2)):
        return None
    segments = [["".join(words[i:j]), tag != "equal"] for tag, i, j, _, _ in steps if i < j]
    return segments, [["".join(words2[i:j]), tag != "equal"] for tag, _, _, i, j in steps if i < j]


def compared(before: Content, after: Content) -> tuple[Any, Any]:
    """Return the contents of an input part before and after a change, with marks on their differences.

    Two texts with many common words become segments (:func:`marked`). The rows of two tables get a mark: "gone" or
    "new" (the key is in one table only), "changed" (other values), "moved" (another place among the common keys) or "";
    "titled" is whether the titles differ.
    """
    if isinstance(before, str) and isinstance(after, str):
        return marked(before, after) or (before, after)
    if isinstance(before, dict) and isinstance(after, dict) and "rows" in before and "rows" in after:
        return _marked_rows(before, after), _marked_rows(after, before, "new")
    return before, after


def _marked_rows(table: dict[str, Any], other_table: dict[str, Any], alone: str = "gone") -> dict[str, Any]:
    values = {key: value for key, value, _ in other_table["rows"]}
    common = [key for key, *_ in table["rows"] if key in values]
    order = [key for key in values if key in common]
    moved = {key for key, place in zip(common, order, strict=True) if key != place}

    def mark(key: str, value: str) -> str:
        return alone if key not in values else "changed" if values[key] != value else "moved" if key in moved else ""

    rows = [[key, value, mark(key, value)] for key, value, _ in table["rows"]]
    return {"title": table["title"], "rows": rows, "titled": table["title"] != other_table["title"]}
