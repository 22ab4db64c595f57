"""The cases of an annotation sheet: swapped inputs with the label that the model predicted before the swap."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from heedful.metrics.hits import hits
from heedful.records import Composed, Context, TableForm, keys, random_key, words_of
from heedful.records.rows import strings, where
from heedful.reports.figures.contact_sheet import Content

if TYPE_CHECKING:
    from heedful.datamodules import PairedData

DRAW = 0  # the draw that people look at


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
    from heedful.reports.figures.seen import seen  # and with it torch

    made = []
    for row in rows.select(["uid", "partner", "part", "y"]).take(places).to_pylist():
        position = np.array([data.pool.position(row["uid"])])
        lender = np.array([data.pool.position(row["partner"])])
        (example,) = Composed(data.pool, position, dict.fromkeys(row["part"].split("+"), lender))
        contents = seen(example, data.task.parts, TableForm("structure"))  # all rows of a table
        made.append(Case(row["uid"], row["partner"], row["part"], contents, row["y"]))
    return made
