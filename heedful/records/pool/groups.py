"""Find related examples: those that share a value in a group column of a pool."""

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from heedful.records.pool.contents import digest_keys, keys
from heedful.records.pool.related import ODD, Related


def related(table: pa.Table, within: str | None = None, without: Collection[str] = ()) -> Related:
    """Return which examples are related; a swap never copies a part from a related example.

    Two examples are related if they share the content of a part; the premise of one example may equal the hypothesis
    of the other. They are also related if they share the value of a column ``groups.<name>`` that belongs to no part.

    Args:
        table: The Arrow table of a pool, with the columns ``parts.<name>``, ``groups.<name>`` and ``meta.<name>``.
        within: A meta column, such as "split". Examples with different values in this column also count as related, so
            that a swap stays within the split. None for no such column.
        without: Names of parts whose content is ignored.
    """
    groups = _names(table, "groups")
    parts = _names(table, "parts")
    contents = [group for group in groups if group in parts and group not in without]
    further = [[group] for group in groups if group not in parts]
    values = None if within is None else row_numbers(table, [f"meta.{within}"])
    vocabularies = [names for names in (contents, *further) if names]
    return Related([np.stack([_hashes(table[f"groups.{n}"]) for n in names]) for names in vocabularies], values)


def _names(table: pa.Table, kind: str) -> list[str]:
    """Return the names of the columns of a kind: "premise" for the kind "groups" and the column "groups.premise"."""
    return [name.partition(".")[2] for name in table.column_names if name.startswith(f"{kind}.")]


def _hashes(column: pa.ChunkedArray) -> np.ndarray:
    """Hash the values of a column: uint64 [examples]; a column of sha256 hashes is truncated instead."""
    digits = digest_keys(column)
    return keys(text for chunk in column.chunks for text in chunk.to_pylist()) if digits is None else digits


def row_numbers(table: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """Number the distinct combinations of values in some columns, and return each row's number: int64 [examples]."""
    return np.unique(row_hashes(table, columns), return_inverse=True)[1].astype(np.int64)


def row_hashes(table: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """Hash the values of some columns together, for each example: uint64 [examples]."""
    hashes = np.zeros(table.num_rows, dtype=np.uint64)
    for name in columns:
        hashes = hashes * ODD + _hashes(table[name])
    return hashes
