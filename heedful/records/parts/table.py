"""Tables as parts of an input, and their conversion to text."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from heedful.records.errors import SettingError

Row = tuple[str, tuple[str, ...]]
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Table:
    """A table with a title, and rows of a key and its values, such as an infobox of Wikipedia.

    Attributes:
        title: Subject of the table.
        rows: Pairs of a key and its values; keys are distinct.
    """

    title: str
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        keys = self.keys
        if len(set(keys)) < len(keys):
            repeated = next(key for key in keys if keys.count(key) > 1)
            raise SettingError(f"The table {self.title!r} has the key {repeated!r} twice.")

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys in the order of the rows."""
        return tuple(key for key, _ in self.rows)

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """Maps each key to its values."""
        return dict(self.rows)

    def encode(self, normalise: Callable[[str], str] = str) -> str:
        """Convert to JSON; ``normalise`` is applied to the title, each key and each value."""
        rows = [(normalise(key), [normalise(value) for value in values]) for key, values in self.rows]
        return json.dumps([normalise(self.title), rows], ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "Table":
        """Convert from the JSON of :meth:`encode`."""
        title, rows = json.loads(text)
        return cls(title, tuple((key, tuple(values)) for key, values in rows))


@dataclass(frozen=True)
class TableForm:
    """A format for the conversion of tables to text.

    Attributes:
        style: Format of a row. "paragraph": "The KEY of TITLE is VALUE." (Gupta et al. 2020, "table as paragraph");
            "structure": "KEY: VALUE, VALUE"; "cells": "| KEY | VALUE | VALUE".
        keep: Maximum number of rows in the text. The rows that share the most words with the other parts of the input
            are kept; None keeps all rows.

    Example:
        >>> table = Table("In Rainbows", (("Length", ("42:39",)), ("Genre", ("art rock", "art pop"))))
        >>> TableForm().text(table)
        'The Length of In Rainbows is 42:39. The Genre of In Rainbows are art rock, art pop.'
        >>> TableForm("structure", keep=1).text(table, ["It is rock."])
        'Title: In Rainbows; Genre: art rock, art pop'
    """

    style: Literal["paragraph", "structure", "cells"] = "paragraph"
    keep: int | None = None

    def text(self, table: Table, texts: Sequence[str] = ()) -> str:
        """Convert a table to text. ``texts`` are the other parts of the input, which decide which rows are kept."""
        rows = self._selected(table, texts)
        title = table.title
        if self.style == "paragraph":
            sentences = [f"The {k} of {title} {'are' if len(v) > 1 else 'is'} {', '.join(v)}." for k, v in rows]
            return " ".join(sentences) or f"{title}."
        if self.style == "structure":
            return "; ".join([f"Title: {title}", *(f"{k}: {', '.join(v)}" for k, v in rows)])
        return " ".join([title, *(f"| {' | '.join((k, *v))}" for k, v in rows)])

    def shortens(self, table: Table) -> bool:
        """Whether the text of a table leaves out rows, because ``keep`` is smaller than their number."""
        return self.keep is not None and len(table.rows) > self.keep

    def _selected(self, table: Table, texts: Sequence[str]) -> Sequence[Row]:
        if not self.shortens(table):
            return table.rows
        words = _words(" ".join(texts))
        shared = [len(words & _words(" ".join((key, *values)))) for key, values in table.rows]
        best = sorted(range(len(shared)), key=lambda i: -shared[i])[: self.keep]  # stable: earlier rows win ties
        return [table.rows[i] for i in sorted(best)]


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))
