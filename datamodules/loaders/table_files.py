"""Read tables from json files."""

import json
from pathlib import Path
from typing import Any

from heedful.datamodules.sources.readers import inside
from heedful.datamodules.sources.values import brief, reason
from heedful.records import DataError, Table, open_file

TITLE = "title"


class _Object(list):
    """A json object as a list of pairs (key, value), since keys may be repeated."""


def parse_table(content: bytes, where: str) -> Table:
    """Parse a table in json: ``{"title": ["In Rainbows"], "Genre": ["art rock", "art pop"], "Length": ["42:39"]}``.

    Each key except "title" is the key of a row, and may be empty. If a key is repeated, such as "Years active" of a
    singer and actor, the values are joined in one row. White space is collapsed.

    Args:
        content: Content of the file.
        where: Name of the file, for messages.

    Raises:
        DataError: The content has another format, or a value is empty; the message names file and key.
    """
    try:
        pairs = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_Object)
    except ValueError as error:
        raise DataError(f"{where} is not valid JSON in UTF-8 ({reason(error)}). Take a whole copy of it.") from None
    if not isinstance(pairs, _Object):
        raise DataError(
            f"{where} holds {brief(pairs)}, not a table. Write an object with the key {TITLE!r} and a key per row."
        )
    rows: dict[str, tuple[str, ...]] = {}
    for name, values in pairs:
        key = cell_text(name, f"{where}, key {brief(name)}:")
        place = f"{where}, key {brief(key)}:"
        if not isinstance(values, list) or isinstance(values, _Object) or not values:
            raise DataError(f"{place} {brief(values)} is not a list of texts.")
        texts = tuple(cell_text(value, place) for value in values)
        if not all(texts):
            raise DataError(f"{place} value {texts.index('') + 1} of {len(texts)} is empty. Fill it in.")
        rows[key] = (*rows.get(key, ()), *texts)
    title = rows.pop(TITLE, ())
    if len(title) != 1 or not rows:
        raise DataError(f"{where} has {len(title)} titles and {len(rows)} rows. Give it one {TITLE!r} and some rows.")
    return Table(title[0], tuple(rows.items()))


def cell_text(value: Any, where: str) -> str:
    """Return a text with collapsed white space; raise DataError for any other value."""
    if not isinstance(value, str):
        raise DataError(f"{where} {brief(value)} is not a text.")
    return " ".join(value.split())


class TableFolder:
    """A folder of tables, with the file T7.json for the table T7; each file is read once.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tables: dict[str, Table] = {}

    def table(self, name: str, where: str) -> Table:
        """Return a table by its name, such as "T7"; ``where`` is the file and row with the name, for messages."""
        if name not in self._tables:
            file = inside(self.path, f"{name}.json")
            with open_file(file, f"{where}: the table {self.path / name}.json") as opened:
                self._tables[name] = parse_table(opened.read(), str(file))
        return self._tables[name]
