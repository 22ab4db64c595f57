"""Which rows a page shows as examples: a few of each kind, chosen by a hash of their uids."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics.hits import alike
from heedful.records import Context, keys, random_key, words_of
from heedful.records.rows import BASE, KEY, codes, probabilities, same, strings, where
from heedful.reports.results import Evaluated

MOST = 600  # examples of a run; the size of the page may leave room for fewer
NULL = "null"
BASES = ("accuracy", "answers")  # evaluations whose base rows are what they are about
COLUMNS = (*KEY, "gold", "y", "y2", "p", "p2", "partner", "slices", "unread")
RIGHT = 0.5  # what an answer is worth at least that is called right


class Sample(NamedTuple):
    """Some of the rows of a run.

    Attributes:
        rows: Those chosen, in the order in which they are to be shown; each with its "evaluation", whether the answer
            "changed", or is wrong where nothing was changed, and with the probability of the answer before the change,
            "p", what it became, "p2", and by how much it "moved".
        of: How many there are to choose from: the first change of each kind of each example.
    """

    rows: list[dict[str, Any]]
    of: int


def sampled(evaluated: Mapping[str, Evaluated], seed: int, most: int = MOST) -> Sample:
    """Choose rows of each evaluation, intervention, part, answer, and whether the answer changed, in turn.

    The choice depends on the seed, the uids and these alone, never on the order of anything.

    Args:
        evaluated: Evaluation to its rows and their metadata.
        seed: The run's seed.
        most: Choose so many.
    """
    found: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    total = 0
    for name, (rows, metadata) in evaluated.items():
        if "y2" not in rows.schema.names:  # of attributions, which have a section of their own
            continue
        context = Context.of(metadata["context"])
        rows = rows.select(COLUMNS).filter(pa.array(_candidates(rows, name)))
        total += rows.num_rows
        changed = _changed(rows, context)
        turns, ranks = _turns(rows, changed, seed)
        first = np.lexsort([ranks, turns])[:most]
        entries = _entries(rows.take(first), name, context.labels)
        for turn, rank, has_changed, entry in zip(
            turns[first].tolist(), ranks[first].tolist(), changed[first].tolist(), entries, strict=True
        ):
            entry["changed"] = has_changed
            found.append(((turn, rank, name, *(entry[column] for column in KEY)), entry))
    found.sort(key=lambda pair: pair[0])
    return Sample([entry for _, entry in found[:most]], total)


def _candidates(rows: pa.Table, name: str) -> np.ndarray:
    """The first draw of each change, and of accuracy the base rows: bool [rows]. Of the null control flips alone."""
    is_first = rows["draw"].to_numpy() <= 0
    is_base = where(rows, intervention=BASE)
    if name in BASES:
        return is_base | (where(rows, intervention=NULL) & ~same(rows, "y", "y2"))
    return is_first & ~is_base & ~where(rows, intervention=NULL)


def _changed(rows: pa.Table, context: Context) -> np.ndarray:
    """Whether each answer changed; of a base row, whether it is wrong: bool [rows]."""
    is_base = where(rows, intervention=BASE)
    found = ~is_base & ~alike(rows, ~is_base, context.kind)
    if not context.unlabelled:
        base = rows.filter(pa.array(is_base))
        found[is_base] = context.kind.scores(strings(base, "y"), strings(base, "gold")) < RIGHT
    return found


def _turns(rows: pa.Table, changed: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """How many rows of the same kind come before each of these, and its rank by the hash: int64 and uint64 [rows]."""
    kind = changed.astype(np.int64)
    for column in ("intervention", "part", "y"):
        of, names = codes(rows, column)
        kind = kind * len(names) + of
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
    """Rows as dictionaries, with what happened to the probability of the answer before the change."""
    entries = rows.select(COLUMNS).to_pylist()
    p = _of_answers(rows, "p", labels)
    p2 = _of_answers(rows, "p2", labels)
    for entry, before, after in zip(entries, p, p2, strict=True):
        moved = None if before is None or after is None else after - before
        entry |= {"evaluation": name, "p": before, "p2": after, "moved": moved}
    return entries


def _of_answers(rows: pa.Table, column: str, labels: Sequence[str]) -> list[float | None]:
    """The probability in a column of the answer before the change; None where there is none."""
    number = {label: k for k, label in enumerate(labels)}
    answers = rows["y"].to_pylist()
    here = np.array([answer in number for answer in answers], dtype=bool) & rows[column].is_valid().to_numpy()
    found: list[float | None] = [None] * rows.num_rows
    if here.any():
        p = probabilities(rows.filter(pa.array(here)), column)
        for k, row in enumerate(np.flatnonzero(here).tolist()):
            found[row] = float(p[k, number[answers[row]]])
    return found
