"""Tables from json files: an object of keys with lists of values, one of them the title."""

import json
from pathlib import Path
from typing import Any

from heedful.datamodules.sources.readers import inside
from heedful.datamodules.sources.values import brief, reason
from heedful.records import DataError, Table, inform, open_file

TITLE = "title"


class _Object(list):
    """The (key, value) pairs of a json object, which may repeat keys."""


def parse_table(content: bytes, where: str) -> tuple[Table, tuple[str, ...]]:
    """Parse a table: ``{"title": ["In Rainbows"], "Genre": ["art rock", "art pop"], "Length": ["42:39"]}``.

    White space is collapsed. Values of a repeated key are joined (an infobox on a singer and actor has "Years active"
    twice); a key may be empty (a row below a heading).

    Args:
        content: Content of the file.
        where: Name of the file in messages.

    Returns:
        The table and its repeated keys.

    Raises:
        DataError: The content is malformed, has no title or several, has no rows, or has an empty value.
    """
    pairs = _pairs(content, where)
    rows: dict[str, tuple[str, ...]] = {}
    twice = []
    for name, values in pairs:
        key = plain(name, f"{where}, key {brief(name)}:")
        texts = _texts(values, f"{where}, key {brief(key)}:")
        if key in rows:
            twice.append(key)
        rows[key] = (*rows.get(key, ()), *texts)
    title = rows.pop(TITLE, ())
    if len(title) != 1:
        raise DataError(f"{where} has {len(title) or 'no'} titles. Give it the key {TITLE!r} with a list of one text.")
    if not rows:
        raise DataError(f"{where} has a title and no rows. Give the table rows, or leave it out.")
    return Table(title[0], tuple(rows.items())), tuple(dict.fromkeys(twice))


def _pairs(content: bytes, where: str) -> _Object:
    try:
        parsed = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_Object)
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is not UTF-8 ({error.reason}). Save it as UTF-8.") from None
    except ValueError as error:
        raise DataError(f"{where} is not valid JSON ({reason(error)}). Take a whole copy of it.") from None
    if not isinstance(parsed, _Object):
        raise DataError(
            f"{where} holds {brief(parsed)}, not a table. Write an object with the key {TITLE!r} and a key per row."
        )
    return parsed


def _texts(values: Any, where: str) -> tuple[str, ...]:
    if not isinstance(values, list) or isinstance(values, _Object) or not values:
        raise DataError(f"{where} {brief(values)} is not a list of texts.")
    texts = tuple(plain(value, where) for value in values)
    if not all(texts):
        raise DataError(f"{where} value {texts.index('') + 1} of {len(texts)} is empty. Fill it in.")
    return texts


def plain(value: Any, where: str) -> str:
    """Collapse white space; a value other than text is a DataError."""
    if not isinstance(value, str):
        raise DataError(f"{where} {brief(value)} is not a text.")
    return " ".join(value.split())


class TableFolder:
    """A folder of tables, such as T7.json for the table T7; every file is read once.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tables: dict[str, Table] = {}
        self._twice: dict[str, tuple[str, ...]] = {}

    def table(self, name: str, where: str) -> Table:
        """Read a table; ``where`` is the place that names it, for messages.

        Raises:
            DataError: The file does not exist, or is not a table.
        """
        if name not in self._tables:
            file = inside(self.path, f"{name}.json")
            with open_file(file, f"{where}: the table {self.path / name}.json") as opened:
                self._tables[name], twice = parse_table(opened.read(), str(file))
            if twice:
                self._twice[name] = twice
        return self._tables[name]

    def report(self) -> None:
        """Log tables with repeated or empty keys."""
        repeated = [f"{name}: {', '.join(keys)}" for name, keys in self._twice.items()]
        nameless = [name for name, table in self._tables.items() if "" in table.keys]
        for names, what in (
            (repeated, "a key twice, whose values are joined"),
            (nameless, "a row without a key, which is kept"),
        ):
            if names:
                text = ", ".join(names)
                inform(f"{self.path}: tables with {what}: {len(names)} ({text[:120]}{'...' if text[120:] else ''}).")
