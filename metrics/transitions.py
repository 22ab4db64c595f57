"""What becomes of predictions when a table is edited, and how much of it is not allowed.

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), §5 and appendix; figure 3, tables 5, 6, 13 to 17.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from interventions.randomness import generator
from interventions.transitions import LABELS, RELEVANCE, Rule, allowed, key_of, transitions
from metrics.measurement import RESAMPLES, Measurement, bootstrap_interval, flagged
from metrics.multiway import interval
from records import NO_LABEL, HeedError
from records.rows import codes, where

BLOCK = 2**20  # numbers that are held at a time
TRANSITIONS, COMPOSED = "transitions", "invalid_composed"  # in the names of metrics


def forbidden(key: str, rule: Rule = "union") -> np.ndarray:
    """Whether each label must not become each label: bool [labels, labels], in the order of ``LABELS``."""
    return np.array([[not allowed(key, before, after, rule) for after in LABELS] for before in LABELS])


class Changes:
    """The rows of one operation as numbers; those where the model gave no label, before or after, are left out.

    Args:
        rows: Rows, those of the operation among them.
        operation: Name of the intervention.

    Attributes:
        before, after: Predictions as places in ``LABELS``: int [rows].
        table: Number of the table, from 0 without gaps: int [rows].
        relevance: Of the deleted rows, as a place in ``RELEVANCE``, or -1: int [rows].
        hypotheses: How many base examples there are.

    Raises:
        HeedError: A prediction is none of the three labels.
    """

    def __init__(self, rows: pa.Table, operation: str) -> None:
        columns = ["uid", "y", "y2", "allowed", "clusters"]
        rows = rows.select(columns).filter(pa.array(where(rows, intervention=operation)))
        self.hypotheses = pc.count_distinct(rows["uid"]).as_py()
        rows = rows.filter(pa.array(~where(rows, y=NO_LABEL) & ~where(rows, y2=NO_LABEL)))
        self.before, self.after = (_places(rows, name) for name in ("y", "y2"))
        tables = pa.table({"table": pa.chunked_array([pc.list_element(rows["clusters"].combine_chunks(), 1)])})
        self.table = codes(tables, "table")[0] if rows.num_rows else np.zeros(0, dtype=np.int32)
        at, keys = codes(rows, "allowed")
        known = {name: i for i, name in enumerate(RELEVANCE)}
        self.relevance = np.array([known.get(key.rpartition("/")[2], -1) for key in keys], dtype=np.int64)[at]

    def matrix(self) -> np.ndarray:
        """How many edited examples of each prediction get each prediction: int64 [before, after]."""
        n = len(LABELS)
        return np.bincount(self.before * n + self.after, minlength=n * n).reshape(n, n)


def _places(rows: pa.Table, name: str) -> np.ndarray:
    at, labels = codes(rows, name)
    unknown = [label for label in labels if label not in LABELS]
    if unknown:
        raise HeedError(f"Transitions are known between {', '.join(LABELS)}; a prediction is {unknown[0]!r}.")
    return np.array([LABELS.index(label) for label in labels], dtype=np.int64)[at]


def _share(hit: np.ndarray, table: np.ndarray, key: tuple[str | int, ...], reason: str) -> Measurement:
    """Share of hits, with an interval that resamples tables."""
    if not len(hit):
        return Measurement(None, 0, reason=reason)
    _, cluster = np.unique(table, return_inverse=True)
    ci95 = bootstrap_interval(np.bincount(cluster, hit), np.bincount(cluster).astype(np.float64), key)
    return Measurement(float(hit.mean()), len(hit), ci95=ci95, flags=flagged(ci95))


def _average_interval(
    hit: np.ndarray, before: np.ndarray, table: np.ndarray, key: tuple[str | int, ...]
) -> tuple[float, float]:
    """95 % interval of the mean over labels of the share of hits, resampling tables for all labels together.

    A resample in which a label does not come up has no value and is left out.
    """
    n, labels = table.max() + 1, len(LABELS)
    cell = table * labels + before
    totals, counts = (np.bincount(cell, w, n * labels).reshape(n, labels) for w in (hit, np.ones_like(hit)))
    kinds, frequency = np.unique(np.concatenate([totals, counts], axis=1), axis=0, return_counts=True)
    rng, means = generator("bootstrap", *key), []
    step = max(1, BLOCK // len(kinds))
    for start in range(0, RESAMPLES, step):
        drawn = rng.multinomial(n, frequency / n, size=min(step, RESAMPLES - start)) @ kinds
        with np.errstate(invalid="ignore"):  # 0 / 0 is nan
            means.append((drawn[:, :labels] / drawn[:, labels:]).mean(axis=1))
    return interval(np.concatenate(means))


def _invalid(changes: Changes, here: np.ndarray, wrong: np.ndarray, name: str, seed: int) -> dict[str, Measurement]:
    """The share of forbidden transitions: the average over labels under ``name``, and from each label.

    Args:
        changes: The rows of an operation.
        here: Which of them: bool [rows].
        wrong: Forbidden transitions: bool [labels, labels].
        name: Name of the average.
        seed: Keys the bootstrap.
    """
    before, table = changes.before[here], changes.table[here]
    hit = wrong[before, changes.after[here]].astype(np.float64)
    found = {}
    for b, label in enumerate(LABELS):
        full, mine = f"{name}/from_{label}", before == b
        found[full] = _share(hit[mine], table[mine], (seed, full), _missing(label))
    missing = [label for b, label in enumerate(LABELS) if b not in before]
    if not len(hit):
        average = Measurement(None, 0, reason="no table could be edited this way")
    elif missing:
        average = Measurement(None, len(hit), reason=_missing(missing[0]))
    else:
        ci95 = _average_interval(hit, before, np.unique(table, return_inverse=True)[1], (seed, name))
        value = float(np.mean([found[f"{name}/from_{label}"].value for label in LABELS]))
        average = Measurement(value, len(hit), ci95=ci95, flags=flagged(ci95))
    return {name: average} | found


def _missing(label: str) -> str:
    return f"no edited example was predicted as {label!r}"


def invalid_transitions(rows: pa.Table, data: str, operations: Sequence[str], seed: int = 0) -> dict[str, Measurement]:
    """Transitions between predictions, and how many of them are forbidden, for each operation on table rows.

    A share is of the edited examples (one for each edited row) whose ORIGINAL prediction is a label; ``n`` is their
    number. The average is over the three labels, unweighted; without any of them it is undefined. Intervals resample
    tables, with all the hypotheses about them.

    Args:
        rows: Rows of :class:`~interventions.row_edits.RowEdits`.
        data: Name of the data set, for the metric names.
        operations: Names of the interventions.
        seed: Keys the bootstrap.

    Returns:
        With ``name`` = ``transitions/<data>/<operation>``: ``name/invalid``, the average share of forbidden
        transitions; ``name/invalid/from_<label>``; ``name/from_<label>/to_<label>``, the share of each transition.
        ``name/invalid_composed`` where the relational composition of several operations allows something else than the
        union. These take no notice of which rows are relevant; where it is known of some, ``<operation>_relevant`` and
        ``<operation>_irrelevant`` have them, judged accordingly.
    """
    found: dict[str, Measurement] = {}
    for operation in operations:
        changes = Changes(rows, operation)
        subsets = {operation: (np.ones(len(changes.before), dtype=bool), key_of(operation))}
        if np.isin(changes.relevance, [RELEVANCE.index(known) for known in RELEVANCE[:2]]).any():
            for known in RELEVANCE[:2]:
                here = changes.relevance == RELEVANCE.index(known)
                subsets[f"{operation}_{known}"] = here, key_of(operation, known)
        for subset, (here, key) in subsets.items():
            name = f"{TRANSITIONS}/{data}/{subset}"
            found |= _invalid(changes, here, forbidden(key), f"{name}/invalid", seed)
            if transitions(key) != transitions(key, "composed"):
                found |= _invalid(changes, here, forbidden(key, "composed"), f"{name}/{COMPOSED}", seed)
            for b, before in enumerate(LABELS):
                mine = here & (changes.before == b)
                for a, after in enumerate(LABELS):
                    full = f"{name}/from_{before}/to_{after}"
                    hit = (changes.after[mine] == a).astype(np.float64)
                    found[full] = _share(hit, changes.table[mine], (seed, full), _missing(before))
    return found
