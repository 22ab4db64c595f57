"""Rows: one row per prediction, from which every metric is computed.

Key of a row: ``uid`` of the base example, ``intervention``, changed ``part``, ``variant`` of the change, and ``draw``
(-1 without draws). Rows with the intervention "base" hold the predictions of the unchanged examples. Columns:

- ``y``, ``p``: predicted label and probabilities before the change; ``y2``, ``p2``: after it (null in base rows).
- ``gold``: gold label before the change; ``gold2``: gold label after it, null in base rows and where it is unknown.
- ``expects``: what should become of the prediction: "stays"; "leaves", if any other answer is expected (in reading
  comprehension, "no answer"); "gold2"; "transitions/<key>" for an edit of a table, which allows some changes of the
  label; "moves/<key>" for options that change places, where the key maps an answer to the answers of the same content;
  "judged/yes" or "judged/no" from a function of both predictions; "" without expectation, and where the
  prediction before the change makes the example ineligible.
- ``partner``: uid of the example that lends a part, or "".
- ``clusters``: names of all clusters of the row, such as the base example, the lending example and the table.
- ``group``: the cluster of the base example for intervals, such as its table; null if each example is a cluster.
- ``slices``: "name=value" for each meta column of the base example.
- ``unread``: whether the model gets the same input before and after, as when a part is truncated; null if unknown.
- ``content``: hash of label and parts of a base example; rows of two runs may be joined only if it is equal.
- ``version``: version of the intervention.
- ``score``, ``score2``: numbers before and after the change that are no probabilities, such as margins; only of models
  that give them.
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
from heedful.records.storage.schema import ENTRY, SCHEMA, require_schema

BASE = "base"
SPLIT = "split"  # the meta column that holds the name of the split
NO_DRAW = -1
MOST_DRAWS = 2**15 - 1  # the column draw is int16
GROUP = 65_536  # rows in a row group of Parquet
UNREAD = "unread"
STAYS, LEAVES, GOLD2, TRANSITIONS, MOVES, JUDGED = "stays", "leaves", "gold2", "transitions", "moves", "judged"
KEY = ("uid", "intervention", "part", "variant", "draw")
ABOUT = "uid", "group", "content"  # text columns that describe the base example
STRINGS = (*ABOUT, "intervention", "part", "variant", "gold", "gold2", "y", "y2", "partner", "expects")


def schema(labels: int, has_scores: bool = False) -> pa.Schema:
    """Return the Arrow schema of rows with probabilities of this many labels, and with scores if ``has_scores``."""
    probs = pa.list_(pa.float32(), max(1, labels))  # Arrow crashes on lists of length 0
    return pa.schema(
        [(name, pa.string()) for name in STRINGS]
        + [("version", pa.int16()), ("draw", pa.int16()), ("p", probs), ("p2", probs)]
        + [("clusters", pa.list_(pa.string())), ("slices", pa.list_(pa.string())), (UNREAD, pa.bool_())]
        + ([("score", pa.float64()), ("score2", pa.float64())] if has_scores else [])
    )


def vectors(probs: np.ndarray | None, type_: pa.DataType, missing: np.ndarray) -> pa.Array:
    """Convert float32 [rows, labels] or None to lists as in :func:`schema`; ``missing`` rows become null."""
    if probs is None:
        return pa.nulls(len(missing), type_)
    flat = pa.array(np.where(missing[:, None], np.float32(0), probs).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, type=type_, mask=pa.array(missing))


def lists_of(*columns: pa.Array) -> pa.ListArray:
    """Combine text columns into one column whose values are lists: "a" and "c" become ["a", "c"]."""
    ends = np.arange(len(columns[0]) + 1, dtype=np.int32) * np.int32(len(columns))
    places = np.arange(ends[-1]).reshape(len(columns), -1).T.ravel()
    return pa.ListArray.from_arrays(pa.array(ends), pa.concat_arrays(columns).take(places))


def rows_with(rows: pa.Table, **equal: Any) -> np.ndarray:
    """Mask of the rows with the given value in each given column, as in ``rows_with(rows, draw=0)``: bool [rows]."""
    mask = np.ones(rows.num_rows, dtype=bool)
    for name, value in equal.items():
        equals = pc.equal(rows[name], pa.scalar(value, rows.schema.field(name).type))
        mask &= pc.fill_null(equals, False).to_numpy()
    return mask


def select(rows: pa.Table, **equal: Any) -> pa.Table:
    """Select the rows that have the given value in each given column, as in ``select(rows, intervention="base")``."""
    return rows.filter(pa.array(rows_with(rows, **equal))) if equal else rows


def equal_columns(rows: pa.Table, first: str, second: str) -> np.ndarray:
    """Mask of the rows that have equal values in two text columns: bool [rows]. Null equals nothing, not even null."""
    return pc.fill_null(pc.equal(rows[first], rows[second]), False).to_numpy()


def codes(rows: pa.Table, name: str) -> tuple[np.ndarray, list[str | None]]:
    """Encode a text column as integers: the code per row, int32 [rows], and the list of texts that the codes index."""
    encoded = pc.dictionary_encode(rows[name].combine_chunks(), null_encoding="encode")
    return encoded.indices.to_numpy(), encoded.dictionary.to_pylist()


def slice_codes(rows: pa.Table, name: str) -> tuple[np.ndarray, list[str | None]]:
    """Return the :func:`codes` of a meta column; raises RunError if a row has no slice of this name, or several."""
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
    """Select the rows whose base example belongs to a split."""
    numbers, names = slice_codes(rows, SPLIT)
    return rows.filter(pa.array(np.array([name == split for name in names], dtype=bool)[numbers]))


def number_runs(rows: pa.Table, name: str) -> np.ndarray:
    """Number sequences of adjacent rows with equal values in a column, such as of a uid, from 0: int32 [rows]."""
    starts = np.zeros(rows.num_rows, dtype=np.int32)
    starts[1:] = pc.not_equal(rows[name][1:], rows[name][:-1]).to_numpy()
    return np.cumsum(starts, dtype=np.int32)


def cluster_of(rows: pa.Table) -> np.ndarray:
    """Return an id of each row's cluster: int32 [rows]. It is the column ``group``, or the base example without one."""
    if rows["group"].null_count == rows.num_rows:
        return number_runs(rows, "uid")
    return codes(pa.table({"cluster": pc.coalesce(rows["group"], rows["uid"])}), "cluster")[0]


def require_canonical(rows: pa.Table) -> None:
    """Raise RunError if the rows are not sorted by the columns :data:`KEY`, or if two rows are equal in all of them."""
    first, second = rows[:-1], rows[1:]
    tied = np.ones(len(second), dtype=bool)
    wrong = np.zeros(len(second), dtype=bool)
    for name in KEY:
        wrong |= tied & pc.greater(first[name], second[name]).to_numpy()
        tied &= pc.equal(first[name], second[name]).to_numpy()
    if (wrong | tied).any():
        uid = second["uid"][int((wrong | tied).argmax())].as_py()
        raise RunError(f"Rows are not sorted by {', '.join(KEY)}, or a key is repeated, at the uid {uid}.")


def strings(rows: pa.Table, name: str) -> np.ndarray:
    """Return a text column as a NumPy array of objects; null becomes None."""
    return rows[name].to_numpy(zero_copy_only=False)


def probabilities(rows: pa.Table, name: str) -> np.ndarray:
    """Return a column of probability vectors as float32 [rows, labels]; raises RunError if a vector is missing."""
    column = rows[name].combine_chunks()
    if column.null_count:
        raise RunError(f"The column {name!r} has {column.null_count} rows without probabilities. Evaluate again.")
    return column.flatten().to_numpy().reshape(len(column), column.type.list_size)


def save_rows(path: Path, rows: pa.Table, metadata: Mapping[str, Any]) -> str:
    """Write rows to a Parquet file, with ``metadata`` as JSON in its schema, and return the sha256 of the file."""
    entry = json.dumps({"schema": SCHEMA, **metadata}, sort_keys=True)
    rows = rows.replace_schema_metadata({ENTRY: entry})
    repeated = [name for name in (*STRINGS, "version", "draw") if name != "partner" and name in rows.schema.names]
    repeated.append("slices.list.element")
    pq.write_table(rows, path, GROUP, use_dictionary=repeated, compression="zstd", write_page_checksum=True)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_rows(path: str | Path) -> tuple[pa.Table, dict[str, Any]]:
    """Read the rows and the metadata that :func:`save_rows` wrote; raises RunError if the file is not complete."""
    try:
        rows = pq.read_table(path, memory_map=True, page_checksum_verification=True)
    except FileNotFoundError:
        raise RunError(f"{path} does not exist. Evaluate again, with this evaluation in evaluations.") from None
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or "it is not a complete Parquet file"
        raise RunError(f"{path} cannot be read: {reason}. Evaluate again.") from None
    try:
        entry = json.loads((rows.schema.metadata or {}).get(ENTRY.encode(), b"{}"))
    except ValueError:
        entry = None
    return rows, require_schema(entry, str(path))


def contents(rows: pa.Table) -> dict[str, str]:
    """Map the uid of each base example to the hash of its label and parts."""
    base = select(rows, intervention=BASE)
    return dict(zip(base["uid"].to_pylist(), base["content"].to_pylist(), strict=True))


def describe_difference(first: Mapping[str, str], second: Mapping[str, str]) -> str | None:
    """Describe how the :func:`contents` of two runs differ; None if they are equal, so that rows may be joined."""
    if unpaired := sorted(first.keys() ^ second.keys()):
        return f"{len(unpaired):,} are in one run only, the first is {unpaired[0]}"
    if changed := sorted(uid for uid, content in first.items() if content != second[uid]):
        return f"{len(changed):,} of {len(first):,} have another text or label, the first is {changed[0]}"
    return None
