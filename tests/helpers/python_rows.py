"""Rows of results from Python values, and their canonical order: a reference for the arrays of the engine."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heedful.records import rows as r

BASE_ROW = {  # values of the columns that an entry of rows_from does not name
    "intervention": r.BASE, "part": "", "variant": "", "draw": r.NO_DRAW, "partner": "", "expects": "",
    "content": "", "group": None, "version": 1, "slices": [], "gold": "", "gold2": None, "y": "",
    "y2": None, "p": None, "p2": None, "unread": None,
}  # fmt: skip


def rows_from(entries: Iterable[Mapping[str, Any]], labels: int) -> pa.Table:
    """Rows in their canonical order, from a mapping for each row; columns without a value are as in a base row."""
    full = [{**BASE_ROW, "clusters": [entry["uid"]], **entry} for entry in entries]
    return sort_rows(pa.Table.from_pylist(full, schema=r.schema(labels)))


def make_rows(columns: Mapping[str, Sequence[Any]], labels: int) -> pa.Table:
    """Rows in the given order, from a sequence for each column."""
    return pa.Table.from_pydict(dict(columns), schema=r.schema(labels))


def sort_rows(rows: pa.Table) -> pa.Table:
    """Rows in their canonical order; no two rows have the same key."""
    rows = rows.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in r.KEY])).combine_chunks()
    assert len({*zip(*(rows[name].to_pylist() for name in r.KEY), strict=True)}) == rows.num_rows
    return rows
