"""Rows of words, for the tests of what is computed from attributions."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.attributions.attribution import SCHEMA, SEPARATOR, Attribution
from heedful.records.rows import KEY


def word_rows(several: Sequence[Attribution], group: str | None = None, content: str = "") -> pa.Table:
    """Rows of attributions in their canonical order.

    Args:
        several: The attributions.
        group: Meta column that names the group of an example; None for none.
        content: What the content of each example is called, before its uid.
    """
    rows = []
    for of in several:
        about = {
            "uid": of.uid, "group": of.meta[group] if group else None, "content": content + of.uid,
            "intervention": of.method, "variant": of.variant, "gold": of.gold, "y": of.y, "version": 1, "masks": 9,
            "full": of.full, "nothing": of.nothing, "delta": of.delta,
            "slices": [f"{name}={value}" for name, value in of.meta.items()],
        }  # fmt: skip
        for part, words in of.words.items():
            for k, word in enumerate(words):
                own = {"phi": of.phi[part][k], "error": of.errors[part][k]}
                rows.append(about | own | {"part": part, "draw": k, "word": word})
        for k, text in enumerate(of.separators):
            own = {"phi": of.separator_phi[k], "error": np.nan}
            rows.append(about | own | {"part": SEPARATOR, "draw": k, "word": text})
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    return table.take(pc.sort_indices(table, sort_keys=[(name, "ascending") for name in KEY])).combine_chunks()
