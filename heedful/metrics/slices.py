"""Slices: groups of examples with the same label, or with the same value in a meta column of the data."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from heedful.records.rows import slice_codes

STATISTICS = ("majority", "f1", "macro_f1", "matthews")  # statistics of accuracy, which labels may have as names


def slice_of_label(label: str) -> str:
    """Return the name of the slice of a label: the label, in quotes if a statistic or another slice may have this name.

    Example:
        >>> [slice_of_label(label) for label in ("neutral", "f1", "majority/split=a", "kind=b", '"f1"')]
        ['neutral', '"f1"', '"majority/split=a"', '"kind=b"', '""f1""']
    """
    is_alone = label.partition("/")[0] not in STATISTICS and "=" not in label and not label.startswith('"')
    return label if is_alone else f'"{label}"'


def slices_of(rows: pa.Table, columns: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the slices of rows by meta column: the name "column=value", and a mask of its rows, bool [rows].

    In names, an empty value is "none", and "/" becomes "-".
    """
    for column in columns:
        index, values = slice_codes(rows, column)
        texts = np.array([(value or "none").replace("/", "-") for value in values], dtype=object)
        for value in sorted(set(texts)):
            yield f"{column}={value}", (texts == value)[index]
