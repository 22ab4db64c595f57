"""Attributions made from lists, and their rows."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.attributions.attribution import SCHEMA, SEPARATOR, Attribution
from heedful.records.rows import KEY


def example(
    first: str,
    phi: Sequence[float],
    second: str | None = None,
    phi_of_second: Sequence[float] = (),
    separators: Sequence[float] = (),
    **meta: str,
) -> Attribution:
    """An attribution of a sentence "a", or of two sentences "a" and "b", whose words are separated by spaces."""
    texts = {"a": first} if second is None else {"a": first, "b": second}
    words = {part: text.split() for part, text in texts.items()}
    numbers = {part: np.array({"a": phi, "b": phi_of_second}[part], dtype=np.float64) for part in texts}
    assert {part: len(column) for part, column in numbers.items()} == {part: len(of) for part, of in words.items()}
    between = np.array(separators or [0.0] * len(texts), dtype=np.float64)
    errors = {part: np.full(len(column), np.nan) for part, column in numbers.items()}
    full = float(sum(column.sum() for column in (*numbers.values(), between)))
    fields = ("sample", "shap", "", "yes", "yes", words, numbers, errors, ["[SEP]"] * len(texts), between)
    return Attribution(*fields, full=full, nothing=0.0, delta=0.0, meta=meta)


def word_rows(several: Sequence[Attribution], group: str | None = None, content: str = "") -> pa.Table:
    """Rows of attributions in their canonical order.

    Args:
        several: Attributions.
        group: Meta column that names the group of an example; None for none.
        content: Prefix of the content of each example, before its uid.
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
