"""Tables from json files: one object a file, with the title and the keys, each with its list of values."""

import json
from pathlib import Path
from typing import Any

from heedful.datamodules.sources.readers import inside
from heedful.datamodules.sources.values import brief, reason
from heedful.records import DataError, Table, inform, open_file

TITLE = "title"


class _Object(list):
    """The (key, value) pairs of a json object, in which a key may stand twice."""


def parse_table(content: bytes, where: str) -> tuple[Table, tuple[str, ...]]:
    """Read a table: ``{"title": ["In Rainbows"], "Genre": ["art rock", "art pop"], "Length": ["42:39"]}``.

    White space is made single spaces. The values of a key that stands twice are joined, as an infobox on a singer who
    also acts says twice since when; a key may be empty, as where the infobox had a heading above it.

    Args:
        content: The file.
        where: What to call it in an error.

    Returns:
        The table, and the keys that stood twice.

    Raises:
        HeedfulError: It is no such object; it has no title or several, or no rows; or a value is empty or no text.
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
    """The keys of a file with their values."""
    try:
        parsed = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_Object)
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is not UTF-8 ({error.reason}). Save it as UTF-8, or correct it there.") from None
    except ValueError as error:
        raise DataError(f"{where} is not valid JSON ({reason(error)}). Take a whole copy of it.") from None
    if not isinstance(parsed, _Object):
        raise DataError(
            f"{where} holds {brief(parsed)}, not a table. Write an object with the key {TITLE!r} and those of the rows."
        )
    return parsed


def _texts(values: Any, where: str) -> tuple[str, ...]:
    """The values of a key, of which there should be one or more."""
    if not isinstance(values, list) or isinstance(values, _Object) or not values:
        raise DataError(f"{where} {brief(values)} is not a list of texts.")
    texts = tuple(plain(value, where) for value in values)
    if not all(texts):
        raise DataError(f"{where} value {texts.index('') + 1} of {len(texts)} is empty. Fill it in.")
    return texts


def plain(value: Any, where: str) -> str:
    """A text with single spaces for all white space.

    Raises:
        DataError: It is no text.
    """
    if not isinstance(value, str):
        raise DataError(f"{where} {brief(value)} is not a text.")
    return " ".join(value.split())


class TableFolder:
    """The json files of a folder, each of which is read once.

    Args:
        path: The folder; the table T7 is its file T7.json.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tables: dict[str, Table] = {}
        self._twice: dict[str, tuple[str, ...]] = {}

    def table(self, name: str, where: str) -> Table:
        """A table by its name.

        Args:
            name: The name of its file, without the suffix.
            where: The file and row that name it, for an error.

        Raises:
            HeedfulError: There is no such file, or it is no table.
        """
        if name not in self._tables:
            file = inside(self.path, f"{name}.json")
            with open_file(file, f"{where}: the table {self.path / name}.json") as opened:
                self._tables[name], twice = parse_table(opened.read(), str(file))
            if twice:
                self._twice[name] = twice
        return self._tables[name]

    def report(self) -> None:
        """Say what is unusual about the tables that were read."""
        if self._twice:
            listed = ", ".join(f"{name}: {', '.join(keys)}" for name, keys in self._twice.items())
            inform(f"{self.path}: tables with a key twice, whose values are joined: {_few(self._twice, listed)}.")
        nameless = [name for name, table in self._tables.items() if "" in table.keys]
        if nameless:
            inform(
                f"{self.path}: tables with a row without a key, which is kept: {_few(nameless, ', '.join(nameless))}."
            )


def _few(items: Any, listed: str) -> str:
    return f"{len(items)} ({listed if len(listed) <= 120 else listed[:120] + '...'})"
