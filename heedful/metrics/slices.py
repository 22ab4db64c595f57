"""Slices: examples with the same label, or with the same value in a selected meta column."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from heedful.records.rows import sliced

STATISTICS = ("majority", "f1", "macro_f1", "matthews")  # statistics that labels must not be mistaken for


def slice_of_label(label: str) -> str:
    """The slice of a label: its name, in quotes if a statistic or a slice of a column could have the same name.

    Example:
        >>> [slice_of_label(label) for label in ("neutral", "f1", "majority/split=a", "kind=b", '"f1"')]
        ['neutral', '"f1"', '"majority/split=a"', '"kind=b"', '""f1""']
    """
    is_alone = label.partition("/")[0] not in STATISTICS and "=" not in label and not label.startswith('"')
    return label if is_alone else f'"{label}"'


def slices_of(rows: pa.Table, columns: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """The slices of rows by each column, in the order of its values.

    Args:
        rows: Rows, whose ``slices`` name the columns.
        columns: Names of meta columns.

    Yields:
        "column=value" and whether a row has the value, bool [rows]. An empty value is "none", and "/" becomes "-".
    """
    for column in columns:
        index, values = sliced(rows, column)
        texts = np.array([(value or "none").replace("/", "-") for value in values], dtype=object)
        for value in sorted(set(texts)):
            yield f"{column}={value}", (texts == value)[index]
