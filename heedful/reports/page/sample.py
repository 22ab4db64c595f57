"""The rows that a page shows as examples: some for each kind, drawn by a hash of their uids."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics.hits import alike
from heedful.records import Context, keys, random_key, words_of
from heedful.records.rows import BASE, KEY, codes, probabilities, same, strings, where
from heedful.reports.results import Evaluated

MOST = 600  # examples of a run
NULL = "null"
BASES = ("accuracy", "answers")  # evaluations whose examples are base rows
COLUMNS = (*KEY, "gold", "y", "y2", "p", "p2", "partner", "slices", "unread")
RIGHT = 0.5  # least score of a right answer


class Sample(NamedTuple):
    """A sample of rows.

    Attributes:
        rows: The rows in the order of the page, each with its "evaluation"; "changed", whether the answer changed or a
            base answer is wrong; the probability of the first answer before ("p") and after ("p2"), and how far it
            "moved".
        total: Number of rows to draw from: the first draw for each example and change.
    """

    rows: list[dict[str, Any]]
    total: int


def sampled(evaluated: Mapping[str, Evaluated], seed: int, most: int = MOST) -> Sample:
    """Draw rows for each evaluation, intervention, part, answer and outcome in turn.

    The sample depends on the seed and the uids, not on the order of rows.

    Args:
        evaluated: Evaluation to its rows and their metadata.
        seed: Seed of the run.
        most: Number of rows, at most.
    """
    ranked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    total = 0
    for name, (rows, metadata) in evaluated.items():
        if "y2" not in rows.schema.names:  # attributions, which have a section of their own
            continue
        context = Context.of(metadata["context"])
        rows = rows.select(COLUMNS).filter(pa.array(_candidates(rows, name)))
        total += rows.num_rows
        changed = _changed(rows, context)
        turns, ranks = _turns(rows, changed, seed)
        first = np.lexsort([ranks, turns])[:most]
        columns = zip(turns[first].tolist(), ranks[first].tolist(), changed[first].tolist(), strict=True)
        entries = _entries(rows.take(first), name, context.labels)
        for (turn, rank, has_changed), entry in zip(columns, entries, strict=True):
            entry["changed"] = has_changed
            ranked.append(((turn, rank, name, *(entry[column] for column in KEY)), entry))
    ranked.sort(key=lambda pair: pair[0])
    return Sample([entry for _, entry in ranked[:most]], total)


def _candidates(rows: pa.Table, name: str) -> np.ndarray:
    """The first draw for each change; for accuracy, base rows and flips of the null control: bool [rows]."""
    is_base, is_null = where(rows, intervention=BASE), where(rows, intervention=NULL)
    if name in BASES:
        return is_base | (is_null & ~same(rows, "y", "y2"))
    return (rows["draw"].to_numpy() <= 0) & ~is_base & ~is_null


def _changed(rows: pa.Table, context: Context) -> np.ndarray:
    """Whether each answer changed, or a base answer is wrong: bool [rows]."""
    is_base = where(rows, intervention=BASE)
    changed = ~is_base & ~alike(rows, ~is_base, context.kind)
    if not context.unlabelled:
        base = rows.filter(pa.array(is_base))
        changed[is_base] = context.kind.scores(strings(base, "y"), strings(base, "gold")) < RIGHT
    return changed


def _turns(rows: pa.Table, changed: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Number of earlier rows of the same kind, int64 [rows], and rank by the hash, uint64 [rows]."""
    kind = changed.astype(np.int64)
    for column in ("intervention", "part", "y"):
        values, names = codes(rows, column)
        kind = kind * len(names) + values
    uid, uids = codes(rows, "uid")
    high, low, *_ = words_of(random_key(seed, "page"), keys([text or "" for text in uids])[uid])
    ranks = (high.astype(np.uint64) << np.uint64(32)) | low
    variants, names = codes(rows, "variant")
    by_name = np.argsort(np.argsort(np.array(names, dtype=object), kind="stable"), kind="stable")[variants]
    order = np.lexsort([by_name, ranks, kind])
    starts = np.flatnonzero(np.diff(kind[order], prepend=-1))
    turns = np.empty(rows.num_rows, dtype=np.int64)
    turns[order] = np.arange(rows.num_rows) - np.repeat(starts, np.diff(starts, append=rows.num_rows))
    return turns, ranks


def _entries(rows: pa.Table, name: str, labels: Sequence[str]) -> list[dict[str, Any]]:
    """Rows as dictionaries, with the probability of the base prediction before and after the change."""
    entries = rows.select(COLUMNS).to_pylist()
    p, p2 = (_answer_probabilities(rows, column, labels) for column in ("p", "p2"))
    for entry, before, after in zip(entries, p, p2, strict=True):
        moved = None if before is None or after is None else after - before
        entry |= {"evaluation": name, "p": before, "p2": after, "moved": moved}
    return entries


def _answer_probabilities(rows: pa.Table, column: str, labels: Sequence[str]) -> list[float | None]:
    """The probability of the base prediction ``y`` in a column; None if it has none, or ``y`` is not a label."""
    index = {label: k for k, label in enumerate(labels)}
    answers = rows["y"].to_pylist()
    has_p = np.array([answer in index for answer in answers], dtype=bool) & rows[column].is_valid().to_numpy()
    values: list[float | None] = [None] * rows.num_rows
    if has_p.any():
        p = probabilities(rows.filter(pa.array(has_p)), column)
        for k, row in enumerate(np.flatnonzero(has_p).tolist()):
            values[row] = float(p[k, index[answers[row]]])
    return values
