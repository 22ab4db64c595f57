"""Rows: one row per prediction, from which every metric is computed.

The key of a row is uid, intervention, part, variant and draw. ``y`` and ``p`` are the prediction before the change,
``y2`` and ``p2`` after it; ``gold`` is the label of the changed example. ``clusters`` names the base example, the
partner and other clusters of the error; ``group`` is the cluster of intervals, such as the table or the premise of the
base example, and null if each example is a cluster. ``slices`` has "name=value" for each meta column of the base
example. ``unread`` is true if the model receives the same input as for the base example, as when the change is cut
off; null if this is unknown or nothing was changed. Base rows have the intervention "base", draw -1 and no ``y2``;
their ``content`` is a hash of label and parts, which must be equal to join rows of two runs. Null controls have draw
-1 as well.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from heedful.records.errors import RunError
from heedful.records.pool.contents import keys
from heedful.records.storage.schema import ENTRY, SCHEMA, require_schema

BASE = "base"
SPLIT = "split"  # the meta column with the name of the split
NO_DRAW = -1
MOST_DRAWS = 2**15 - 1  # int16
GROUP = 65_536  # rows of a Parquet row group
UNREAD = "unread"
KEY = ("uid", "intervention", "part", "variant", "draw")
ABOUT = "uid", "group", "content"  # text columns of the base example
STRINGS = (*ABOUT, "intervention", "part", "variant", "gold", "y", "y2", "partner", "allowed", "expectation")


def schema(labels: int) -> pa.Schema:
    """The columns of rows for a task with this number of labels."""
    probs = pa.list_(pa.float32(), max(1, labels))  # Arrow crashes on lists of length 0
    return pa.schema(
        [(name, pa.string()) for name in STRINGS]
        + [("version", pa.int16()), ("draw", pa.int16()), ("p", probs), ("p2", probs)]
        + [("clusters", pa.list_(pa.string())), ("slices", pa.list_(pa.string())), (UNREAD, pa.bool_())]
    )


def vectors(probs: np.ndarray | None, type_: pa.DataType, missing: np.ndarray) -> pa.Array:
    """Probability vectors, float32 [rows, labels] or None, as an Arrow array; null where ``missing``, bool [rows]."""
    if probs is None:
        return pa.nulls(len(missing), type_)
    flat = pa.array(np.where(missing[:, None], np.float32(0), probs).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, type=type_, mask=pa.array(missing))


def lists_of(*columns: pa.Array) -> pa.ListArray:
    """Zip arrays of texts into an array of lists.

    Examples:
        >>> lists_of(pa.array(["a", "b"]), pa.array(["c", "d"])).to_pylist()
        [['a', 'c'], ['b', 'd']]
    """
    ends = np.arange(len(columns[0]) + 1, dtype=np.int32) * np.int32(len(columns))
    places = np.arange(ends[-1]).reshape(len(columns), -1).T.ravel()
    return pa.ListArray.from_arrays(pa.array(ends), pa.concat_arrays(columns).take(places))


def where(rows: pa.Table, **equal: Any) -> np.ndarray:
    """Whether rows have the given value in each named column: bool [rows]."""
    mask = np.ones(rows.num_rows, dtype=bool)
    for name, value in equal.items():
        equals = pc.equal(rows[name], pa.scalar(value, rows.schema.field(name).type))
        mask &= pc.fill_null(equals, False).to_numpy()
    return mask


def select(rows: pa.Table, **equal: Any) -> pa.Table:
    """The rows in which each named column has the given value, as in ``select(rows, intervention="base")``."""
    return rows.filter(pa.array(where(rows, **equal))) if equal else rows


def same(rows: pa.Table, first: str, second: str) -> np.ndarray:
    """Whether two columns of text are equal: bool [rows]; null is never equal."""
    return pc.fill_null(pc.equal(rows[first], rows[second]), False).to_numpy()


def codes(rows: pa.Table, name: str) -> tuple[np.ndarray, list[str | None]]:
    """Encode a column of texts: int32 [rows], and the text of each number."""
    names = pc.unique(rows[name])
    numbers = [pc.index_in(chunk, value_set=names).to_numpy() for chunk in rows[name].chunks]
    return np.concatenate([np.zeros(0, dtype=np.int32), *numbers]), names.to_pylist()


def sliced(rows: pa.Table, name: str) -> tuple[np.ndarray, list[str | None]]:
    """Encode a meta column of the base examples: int32 [rows], and the text of each number.

    Raises:
        RunError: A row has no slice of this name.
    """
    lists = rows["slices"].combine_chunks()
    prefix = f"{name}="
    values = pc.list_flatten(lists)
    matches = pc.starts_with(values, prefix)
    texts = pc.utf8_slice_codeunits(values.filter(matches), len(prefix))
    rows_with_slice = pc.count_distinct(pc.list_parent_indices(lists).filter(matches)).as_py()
    if not len(texts) == rows_with_slice == rows.num_rows:
        raise RunError(f"Some rows have no slice {name!r}. Evaluate again.")
    return codes(pa.table({name: texts}), name)


def of_split(rows: pa.Table, split: str) -> pa.Table:
    """Select the rows of a split by their slice "split=<name>"."""
    numbers, names = sliced(rows, SPLIT)
    return rows.filter(pa.array(np.array([name == split for name in names], dtype=bool)[numbers]))


def runs(rows: pa.Table, name: str) -> np.ndarray:
    """Number the runs of equal values in a column: int32 [rows].

    In canonical order, see ``require_canonical``, each uid is one run.
    """
    column = rows[name]
    starts = np.zeros(rows.num_rows, dtype=np.int32)
    for start in range(1, rows.num_rows, GROUP):
        block = column.slice(start, GROUP)
        starts[start : start + GROUP] = pc.not_equal(block, column.slice(start - 1, len(block))).to_numpy()
    return np.cumsum(starts, dtype=np.int32)


def cluster_of(rows: pa.Table) -> np.ndarray:
    """Number the clusters of rows, by group or else uid: int [rows]."""
    if rows["group"].null_count == rows.num_rows:
        return runs(rows, "uid")
    return codes(pa.table({"cluster": pc.coalesce(rows["group"], rows["uid"])}), "cluster")[0]


def pairs_in(rows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Number the clusters of rows and the clusters of their lenders: int64 [rows] each.

    A cluster has the same number in both roles. The number of a lender outside the base examples is a hash of its name,
    the same in all runs. A row without a lender has the lender -1.
    """
    clusters = cluster_of(rows).astype(np.int64)
    has_lender = pc.not_equal(rows["partner"], "")
    lent = rows.filter(has_lender)
    lenders = np.full(rows.num_rows, -1, dtype=np.int64)
    if not lent.num_rows:
        return clusters, lenders
    names = pc.unique(pc.coalesce(rows["group"], rows["uid"]))
    lender = pc.list_element(lent["clusters"].combine_chunks(), 1)  # the first is the uid of the base example
    unique = pc.unique(lender)
    found = pc.index_in(unique, value_set=names)
    numbers = pc.fill_null(found, 0).to_numpy().astype(np.int64)
    elsewhere = keys(unique.filter(found.is_null()).to_pylist()) >> np.uint64(2)
    numbers[found.is_null()] = len(names) + elsewhere.astype(np.int64)
    lenders[has_lender.to_numpy()] = numbers[pc.index_in(lender, value_set=unique)]
    return clusters, lenders


def require_canonical(rows: pa.Table) -> None:
    """Check that rows are sorted by :data:`KEY` and unique; raise RunError if not."""
    for start in range(0, rows.num_rows - 1, GROUP):
        block = rows.select(KEY).slice(start, GROUP + 1)
        first = block.slice(0, block.num_rows - 1)
        second = block.slice(1)
        tied = np.ones(first.num_rows, dtype=bool)
        wrong = np.zeros(first.num_rows, dtype=bool)
        for name in KEY:
            wrong |= tied & pc.greater(first[name], second[name]).to_numpy()
            tied &= pc.equal(first[name], second[name]).to_numpy()
        if (wrong | tied).any():
            uid = second["uid"][int((wrong | tied).argmax())].as_py()
            raise RunError(f"Rows are not sorted by {', '.join(KEY)}, or repeated, at the uid {uid}.")


def strings(rows: pa.Table, name: str) -> np.ndarray:
    """A string column as a numpy object array; null becomes None."""
    return rows[name].to_numpy(zero_copy_only=False)


def probabilities(rows: pa.Table, name: str) -> np.ndarray:
    """A probability column as float32 [rows, labels]; the column must have no null."""
    column = rows[name].combine_chunks()
    if column.null_count:
        raise RunError(f"The column {name!r} has {column.null_count} rows without probabilities. Evaluate again.")
    return column.flatten().to_numpy().reshape(len(column), column.type.list_size)


def save_rows(path: Path, rows: pa.Table, metadata: Mapping[str, Any]) -> str:
    """Write rows to Parquet with ``metadata`` as JSON in the schema; return the sha256 of the file."""
    entry = json.dumps({"schema": SCHEMA, **metadata}, sort_keys=True)
    rows = rows.replace_schema_metadata({ENTRY: entry})
    repeated = [name for name in (*STRINGS, "version", "draw") if name != "partner" and name in rows.schema.names]
    repeated.append("slices.list.element")
    settings: dict[str, Any] = {"compression": "zstd", "row_group_size": GROUP, "write_page_checksum": True}
    pq.write_table(rows, path, use_dictionary=repeated, **settings)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_rows(path: str | Path) -> tuple[pa.Table, dict[str, Any]]:
    """Read rows and their metadata.

    Raises:
        RunError: The file is missing, damaged, or not from ``save_rows``.
    """
    try:
        rows = pq.read_table(path, memory_map=True, page_checksum_verification=True)
    except FileNotFoundError:
        raise RunError(f"{path} does not exist. Evaluate again, with this evaluation in evaluations.") from None
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or "it is not a whole Parquet file"
        raise RunError(f"{path} cannot be read: {reason}. Evaluate again.") from None
    try:
        entry = json.loads((rows.schema.metadata or {}).get(ENTRY.encode(), b"{}"))
    except ValueError:
        entry = None
    return rows, require_schema(entry, str(path))


def contents(rows: pa.Table) -> dict[str, str]:
    """Contents of the base examples by uid."""
    base = select(rows, intervention=BASE)
    return dict(zip(base["uid"].to_pylist(), base["content"].to_pylist(), strict=True))


def difference(first: Mapping[str, str], second: Mapping[str, str]) -> str | None:
    """Describe how the examples of two runs, uid to content, differ; None if they are equal.

    Code that joins rows of two runs must check this.
    """
    if unpaired := sorted(first.keys() ^ second.keys()):
        return f"{len(unpaired):,} are in one run only, the first is {unpaired[0]}"
    if changed := sorted(uid for uid, content in first.items() if content != second[uid]):
        return f"{len(changed):,} of {len(first):,} have another text or label, the first is {changed[0]}"
    return None
