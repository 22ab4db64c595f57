"""Tables as parts of an input: a title, and rows of a key with its values; and how they are put into words."""

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
        title: What it is about.
        rows: (key, values) pairs; no key stands twice.
    """

    title: str
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        keys = self.keys
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise SettingError(f"The table {self.title!r} has the key {twice!r} twice.")

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys, in the order of the rows."""
        return tuple(key for key, _ in self.rows)

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """Key to values."""
        return dict(self.rows)

    def encode(self, written: Callable[[str], str] = str) -> str:
        """The table as text, the same for equal tables and for no others; :meth:`decode` reads it.

        Args:
            written: The form in which titles, keys and values are written.
        """
        rows = [(written(key), [written(value) for value in values]) for key, values in self.rows]
        return json.dumps([written(self.title), rows], ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "Table":
        """The table that :meth:`encode` wrote."""
        title, rows = json.loads(text)
        return cls(title, tuple((key, tuple(values)) for key, values in rows))


@dataclass(frozen=True)
class TableForm:
    """How a table becomes text for a model that reads text.

    Attributes:
        style: "paragraph": "The KEY of TITLE is VALUE." for each row (Gupta et al. 2020, "table as paragraph");
            "structure": "KEY: VALUE, VALUE" for each row; "cells": "TITLE | KEY | VALUE | VALUE" for each row.
        keep: Keep this many rows, those that share most words with the other parts of the input, in their order; None
            keeps all, and what is too long for the model is cut at the end.

    Example:
        >>> table = Table("In Rainbows", (("Length", ("42:39",)), ("Genre", ("art rock", "art pop"))))
        >>> TableForm().text(table)
        'The Length of In Rainbows is 42:39. The Genre of In Rainbows are art rock, art pop.'
        >>> TableForm("structure", keep=1).text(table, ["It is rock."])
        'Title: In Rainbows; Genre: art rock, art pop'
    """

    style: Literal["paragraph", "structure", "cells"] = "paragraph"
    keep: int | None = None

    def text(self, table: Table, others: Sequence[str] = ()) -> str:
        """The text of a table that stands beside other parts."""
        rows = self._kept(table, others)
        title = table.title
        if self.style == "paragraph":
            said = [f"The {k} of {title} {'are' if len(v) > 1 else 'is'} {', '.join(v)}." for k, v in rows]
            return " ".join(said) or f"{title}."
        if self.style == "structure":
            return "; ".join([f"Title: {title}", *(f"{k}: {', '.join(v)}" for k, v in rows)])
        return " ".join([title, *(f"| {' | '.join((k, *v))}" for k, v in rows)])

    def shortens(self, table: Table) -> bool:
        """Whether rows of this table are left out."""
        return self.keep is not None and len(table.rows) > self.keep

    def _kept(self, table: Table, others: Sequence[str]) -> Sequence[Row]:
        if not self.shortens(table):
            return table.rows
        asked = _words(" ".join(others))
        shared = [len(asked & _words(" ".join((key, *values)))) for key, values in table.rows]
        best = sorted(range(len(shared)), key=lambda i: -shared[i])[: self.keep]  # of equals, the first ones
        return [table.rows[i] for i in sorted(best)]


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.lower()))
