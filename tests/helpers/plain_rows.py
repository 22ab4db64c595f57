"""Rows with chosen keys, for the tests of how rows are kept."""

import numpy as np
import pyarrow as pa

from heedful.records import rows as r

from python_rows import make_rows

LABELS = 3


def table(keys: list[tuple], labels: int = LABELS, **columns: list) -> pa.Table:
    """Rows with these (uid, intervention, part, variant, draw) keys; other columns are plain unless given."""
    n = len(keys)
    filled = {name: [""] * n for name in r.STRINGS} | {"group": [None] * n}
    filled |= {name: [key[k] for key in keys] for k, name in enumerate(r.KEY)}
    filled |= {"version": [1] * n, "clusters": [[key[0]] for key in keys], "slices": [[] for _ in keys]}
    filled |= {"p": [None] * n, "p2": [None] * n, "unread": [None] * n}
    return make_rows(filled | columns, labels)


def plain(n: int) -> pa.Table:
    return table(
        [(f"u{i}", "swap", "premise", "", i % 5) for i in range(n)],
        p=[np.full(LABELS, (i + 1) / (n + 1), dtype=np.float32) for i in range(n)],
        y2=["yes" if i % 2 else None for i in range(n)],
    )
