"""Tables as parts of an input, and their text forms."""

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
    """An infobox.

    Attributes:
        title: The subject.
        rows: (key, values) pairs with distinct keys.
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
        """The keys, in the order of the rows."""
        return tuple(key for key, _ in self.rows)

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """Values by key."""
        return dict(self.rows)

    def encode(self, normalise: Callable[[str], str] = str) -> str:
        """Convert to text; ``normalise`` is applied to title, keys and values."""
        rows = [(normalise(key), [normalise(value) for value in values]) for key, values in self.rows]
        return json.dumps([normalise(self.title), rows], ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "Table":
        """Convert from the text of :meth:`encode`."""
        title, rows = json.loads(text)
        return cls(title, tuple((key, tuple(values)) for key, values in rows))


@dataclass(frozen=True)
class TableForm:
    """The text form of tables.

    Attributes:
        style: "paragraph": "The KEY of TITLE is VALUE." per row (Gupta et al. 2020, "table as paragraph");
            "structure": "KEY: VALUE, VALUE" per row; "cells": "TITLE | KEY | VALUE | VALUE" per row.
        keep: Number of rows to keep, by the number of words shared with the other parts; None keeps all.

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
        """The text of a table; ``texts`` are the other parts of the input."""
        rows = self._selected(table, texts)
        title = table.title
        if self.style == "paragraph":
            sentences = [f"The {k} of {title} {'are' if len(v) > 1 else 'is'} {', '.join(v)}." for k, v in rows]
            return " ".join(sentences) or f"{title}."
        if self.style == "structure":
            return "; ".join([f"Title: {title}", *(f"{k}: {', '.join(v)}" for k, v in rows)])
        return " ".join([title, *(f"| {' | '.join((k, *v))}" for k, v in rows)])

    def shortens(self, table: Table) -> bool:
        """Whether the text omits rows of a table."""
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
