"""Rows from Python values, and their canonical order: a reference for what the engine makes of arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.records.rows import KEY, schema


def probs_array(values: Sequence[np.ndarray | None], type_: pa.DataType) -> pa.Array:
    """Probability vectors, or None, as an Arrow array of fixed-size lists."""
    width = type_.list_size
    present = np.array([v is not None for v in values], dtype=bool)
    flat = np.zeros((len(values), width), dtype=np.float32)
    for i in np.flatnonzero(present):
        flat[i] = np.reshape(values[i], width)  # never broadcast
    mask = pa.array(~present)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat.reshape(-1)), type=type_, mask=mask)


def make_rows(columns: Mapping[str, Sequence[Any]], labels: int) -> pa.Table:
    """Build rows from one sequence per column; ``p`` and ``p2`` hold float32 vectors of length ``labels``, or None."""
    wanted = schema(labels)
    arrays = [
        probs_array(columns[f.name], f.type) if f.name in ("p", "p2") else pa.array(columns[f.name], f.type)
        for f in wanted
    ]
    return pa.table(arrays, schema=wanted)


def sort_rows(rows: pa.Table) -> pa.Table:
    """Rows in their canonical order.

    Raises:
        ValueError: Two rows have the same key.
    """
    rows = rows.take(pc.sort_indices(rows, sort_keys=[(name, "ascending") for name in KEY])).combine_chunks()
    if rows.num_rows > 1:
        same = np.ones(rows.num_rows - 1, dtype=bool)
        for name in KEY:
            column = rows[name]
            same &= pc.equal(column[:-1], column[1:]).to_numpy(zero_copy_only=False)
        if same.any():
            key = {name: rows[name][int(np.argmax(same))].as_py() for name in KEY}
            raise ValueError(f"two rows have the same key {key}")
    return rows
