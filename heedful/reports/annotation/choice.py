"""The cases of an annotation sheet: swapped inputs with the label that the model predicted before the swap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from heedful.metrics.hits import hits
from heedful.records import Composed, Context, Part, Picture, Table, TableForm, keys, random_key, words_of
from heedful.records.rows import strings, where

if TYPE_CHECKING:
    from heedful.datamodules import PairedData

DRAW = 0  # the draw that people look at
TABLES = TableForm("structure")  # all rows of a table

Content = str | np.ndarray  # a text, or a picture: uint8 [height, width, 3]


@dataclass(frozen=True)
class Case:
    """One line of a sheet. It holds nothing of what the model says of the swapped input.

    Attributes:
        uid: Of the base example.
        partner: Of the other example.
        part: The part that comes from another example.
        contents: Name to content of all parts, after the swap.
        label: What the model had predicted before.
    """

    uid: str
    partner: str
    part: str
    contents: dict[str, Content]
    label: str


def chosen(rows: pa.Table, part: str, context: Context, n: int) -> np.ndarray:
    """Choose ``n`` of the examples that count, by a hash of the seed and the uid: their rows of the first draw.

    What the model says of the swapped input has no part in it.

    Args:
        rows: The rows of the attentiveness test, in their canonical order.
        part: The part that was swapped.
        context: The context of the rows.
        n: How many; all there are, if fewer.

    Returns:
        int64, ascending.
    """
    places = np.flatnonzero(hits(rows, part, context).asked & where(rows, draw=DRAW))
    uid_keys = keys(strings(rows.take(places), "uid"))
    high, low, *_ = words_of(random_key(context.seed, "sheet", part), uid_keys)
    return np.sort(places[np.lexsort([uid_keys, low, high])[:n]])


def cases(rows: pa.Table, places: Sequence[int], data: "PairedData") -> list[Case]:
    """The cases of some rows of swaps, with their texts and pictures from the data."""
    made = []
    for row in rows.select(["uid", "partner", "part", "y"]).take(places).to_pylist():
        position = np.array([data.pool.position(row["uid"])])
        lender = np.array([data.pool.position(row["partner"])])
        (example,) = Composed(data.pool, position, dict.fromkeys(row["part"].split("+"), lender))
        contents = {name: _content(example.parts[name]) for name in data.task.parts}
        made.append(Case(row["uid"], row["partner"], row["part"], contents, row["y"]))
    return made


def _content(part: Part) -> Content:
    """A part as people can see it: a picture small, a table in words."""
    from heedful.datamodules.sources.image_files import thumbnail  # and with it torch

    if isinstance(part, Picture):
        return thumbnail(part)
    return TABLES.text(part) if isinstance(part, Table) else part
