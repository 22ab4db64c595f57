"""Relate examples by the group columns of a pool: related examples are never partners."""

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from heedful.records.pool.contents import digest_keys, keys
from heedful.records.pool.related import ODD, Related


def related(table: pa.Table, within: str | None = None, without: Collection[str] = ()) -> Related:
    """Relate examples that share a group; the contents of all parts are compared with each other, other groups
    separately.

    Args:
        table: The table of a pool.
        within: A meta column; examples with different values are related as well.
        without: Parts whose content is ignored.
    """
    groups = _names(table, "groups")
    parts = _names(table, "parts")
    contents = [group for group in groups if group in parts and group not in without]
    further = [[group] for group in groups if group not in parts]
    values = None if within is None else numbered(table, [f"meta.{within}"])
    return Related([_group_keys(table, names) for names in (contents, *further) if names], values)


def _names(table: pa.Table, kind: str) -> list[str]:
    """Names in the columns "kind.name"."""
    return [name.partition(".")[2] for name in table.column_names if name.startswith(f"{kind}.")]


def _group_keys(table: pa.Table, names: Sequence[str]) -> np.ndarray:
    """Numbers that are equal for equal groups: uint64 [names, examples]."""
    columns = [table[f"groups.{name}"] for name in names]
    digits = [numbers for column in columns if (numbers := digest_keys(column)) is not None]
    if len(digits) == len(columns):
        return np.stack(digits)
    return np.stack([_keys(column) for column in columns])


def _keys(column: pa.ChunkedArray) -> np.ndarray:
    return keys(text for chunk in column.chunks for text in chunk.to_pylist())


def numbered(table: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """Numbers from 0, equal for equal values in some columns: int64 [examples]."""
    return np.unique(joined(table, columns), return_inverse=True)[1].astype(np.int64)


def joined(table: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """64-bit hashes of the rows of some columns: uint64 [examples]."""
    hashes = np.zeros(table.num_rows, dtype=np.uint64)
    for name in columns:
        digits = digest_keys(table[name])
        hashes = hashes * ODD + (_keys(table[name]) if digits is None else digits)
    return hashes
