"""Slices: the examples that have one value in a meta column that somebody asked for."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from heedful.records.rows import sliced


def slices_of(rows: pa.Table, columns: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """The slices of rows by each column, in the order of its values.

    Args:
        rows: Rows, whose ``slices`` name the columns.
        columns: Names of meta columns.

    Yields:
        "column=value" and which rows are of it, bool [rows]. An empty value is "none", and "/" becomes "-".
    """
    for column in columns:
        of, values = sliced(rows, column)
        shown = np.array([(value or "none").replace("/", "-") for value in values], dtype=object)
        for value in sorted(set(shown)):
            yield f"{column}={value}", (shown == value)[of]
