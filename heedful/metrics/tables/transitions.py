"""Transitions: how predictions change when rows of the table are edited, and how often in ways that are not allowed.

A transition is the pair of the predictions before and after the edit. It is forbidden if the edit must not lead from
the first to the second; deleting a row, for instance, must not turn neutral into entailment. Source: "Is My Model Using
the Right Evidence?" (Gupta et al. 2022), §5 and appendix; figure 3, tables 5, 6, 13 to 17.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.tables.allowed_transitions import LABELS, RELEVANCE, Rule, key_of, transitions
from heedful.metrics.hits import is_answer, met
from heedful.metrics.metric import Metric
from heedful.metrics.number import Counts, Number, Settings
from heedful.metrics.statistics.shares import share
from heedful.records import CLASSIFICATION, Context, DataError, HeedfulError, Measurement, MetricName, RunError
from heedful.records.rows import SPLIT, TRANSITIONS, codes, rows_with, slice_codes

INVALID, COMPOSED = "invalid", "invalid_composed"  # statistics
MOVES = [f"{TRANSITIONS}/from_{before}/to_{after}" for before in LABELS for after in LABELS]
WORDS: dict[str, str | None] = {f"{move}{end}": None for move in MOVES for end in ("", "/*")}
WORDS |= {f"{TRANSITIONS}/{invalid}/from_{label}/*": None for invalid in (INVALID, COMPOSED) for label in LABELS}
WORDS |= {f"{TRANSITIONS}/{INVALID}": "invalid: {part}", f"{TRANSITIONS}/{COMPOSED}": "invalid: {part} (composed)"}

OTHER_LABEL = (
    f"Transitions are known between {', '.join(LABELS)}, and a prediction is {{!r}}. Leave that evaluation out, or "
    "take data with these labels."
)


@dataclass(frozen=True)
class TableRowsSettings(Settings):
    """Settings of the evaluation of edited tables: the names of the interventions, such as "delete"."""

    operations: tuple[str, ...]


class Changes:
    """Predictions before and after an operation on tables, on the edited examples for which no answer is missing.

    Attributes:
        rows: Rows of the edited examples.
        before: Prediction before the edit, as a position in ``LABELS``: int [rows].
        after: Prediction after the edit: int [rows].
        table: Id of the table, equal for equal tables: int [rows].
        split: Position in ``splits``, 0 without splits: int [rows].
        relevance: Relevance of the deleted row, such as "relevant": str [rows].
        hypotheses: Number of different examples that the operation edited, also those with a missing answer.

    Raises:
        HeedfulError: A prediction is none of the three labels, or a row does not name one of the splits.
    """

    def __init__(self, rows: pa.Table, operation: str, splits: Sequence[str] = ()) -> None:
        columns = ["uid", "y", "y2", "gold2", "expects", "clusters", "slices"]
        rows = rows.select(columns).filter(pa.array(rows_with(rows, intervention=operation)))
        self.hypotheses = pc.count_distinct(rows["uid"]).as_py()
        has_labels = is_answer(rows) & is_answer(rows, "y2")
        tables = pc.list_element(rows["clusters"].combine_chunks(), 1)
        self.table = codes(pa.table({"table": tables}), "table")[0][has_labels]
        self.rows = rows = rows.filter(pa.array(has_labels))
        self.before, self.after = (_positions(*codes(rows, y), LABELS, DataError, OTHER_LABEL) for y in ("y", "y2"))
        self.split = np.zeros(len(rows), dtype=np.int64)
        if splits:
            other_split = f"A row has the split {{!r}}, and there are {', '.join(splits)}. Evaluate again."
            self.split = _positions(*slice_codes(rows, SPLIT), splits, RunError, other_split)
        at, keys = codes(rows, "expects")
        self.relevance = np.array([(key or "").rpartition("/")[2] for key in keys], dtype=str)[at]

    def matrix(self) -> np.ndarray:
        """Count the edited examples with each transition: int64 [before, after]."""
        n = len(LABELS)
        return np.bincount(self.before * n + self.after, minlength=n * n).reshape(n, n)


def _positions(
    at: np.ndarray, names: Sequence[str | None], known: Sequence[str], error: type[HeedfulError], message: str
) -> np.ndarray:
    """Turn indices of ``names`` into positions in ``known``: int64 [rows]; an unknown name is put into ``message``."""
    for name in names:
        if name not in known:
            raise error(message.format(name))
    return np.array([known.index(name) for name in names], dtype=np.int64)[at]


def _share(changes: Changes, among: np.ndarray, hit: np.ndarray, labels: Sequence[str]) -> Measurement:
    """Compute the mean over ``labels``, predictions before the edit, of the share of ``hit`` among these edits."""
    before = changes.before[among]
    if missing := [label for label in labels if LABELS.index(label) not in before]:
        reason = f"no edited example was predicted as {missing[0]!r}"
        reason = reason if len(before) or len(labels) == 1 else "no table could be edited this way"
        return Measurement(None, len(before), reason=reason)
    return share(hit[among], changes.table[among], cells=before)


def _over_splits(changes: Changes, among: np.ndarray, hit: np.ndarray, of_split: dict[str, Measurement]) -> Measurement:
    """Compute the unweighted mean of a share over splits; ``of_split`` maps each split to the share within it."""
    n = sum(m.n for m in of_split.values())
    if undefined := [f"{split}: {m.reason}" for split, m in of_split.items() if m.value is None]:
        return Measurement(None, n, reason=undefined[0])
    cells = changes.split * len(LABELS) + changes.before
    mean = float(np.mean([m.value for m in of_split.values()]))  # share sums in another order, with other last bits
    return replace(share(hit[among], changes.table[among], cells=cells[among]), value=mean)


def invalid_transitions(
    rows: pa.Table, data: str, operations: Sequence[str], splits: Sequence[str] = ()
) -> Iterator[Number | Counts]:
    """Measure how often edits of table rows turn one predicted label into another, and how often this is forbidden.

    Edited examples without an answer before or after do not count. For intervals, all examples about a table, in all
    splits, form one cluster.

    The share of a label is the share among the ``n`` edited examples that are predicted as the label before the edit. A
    mean over labels is the unweighted mean of the shares of the three labels, and undefined if one of them is never
    predicted before the edit. Likewise over several splits: each number is the unweighted mean over splits.

    Args:
        rows: Rows of :class:`~heedful.interventions.tables.row_edits.RowEdits`.
        data: Name of the data set, for the metric names.
        operations: Names of the interventions.
        splits: Names of the splits, if there are several; each row has a slice "split=<split>".

    Yields:
        With ``name`` = ``transitions/<data>/<operation>``:

        - ``name/invalid``: mean over labels of the share of forbidden transitions; ``name/invalid/from_<label>``: this
          share for a label. Of several operations, such as "delete+insert", one must allow the transition;
        - ``name/invalid_composed``, ``name/invalid_composed/from_<label>``: the same by a rule for several operations
          in turn: a transition is allowed if a chain of steps, one allowed by each operation, leads from its first
          label to its second. Yielded only if this rule differs from the rule of ``invalid``;
        - ``name/from_<label>/to_<label>``: share of the transition between two labels.

        If relevance to the hypothesis is annotated, ``<operation>_relevant`` and ``<operation>_irrelevant`` are the
        numbers for edits of such rows, with the transitions that are forbidden for them. If there are several splits,
        ``<...>/split=<split>`` is the number of a split alone.

        Counts of an operation: "hypotheses", "tables" and "edited" examples, and the "transitions", the numbers of
        edited examples by the labels that are predicted before and after the edit.

    Raises:
        HeedfulError: As :class:`Changes`.
    """
    for operation in operations:
        changes = Changes(rows, operation, splits)
        subsets = {operation: (np.ones(len(changes.before), dtype=bool), key_of(operation))}
        if np.isin(changes.relevance, RELEVANCE[:2]).any():
            for relevance in RELEVANCE[:2]:
                mask = changes.relevance == relevance
                subsets[f"{operation}_{relevance}"] = mask, key_of(operation, relevance)
        for part, (mask, key) in subsets.items():
            for statistic, labels, hit in _statistics(changes, key):
                name = MetricName(TRANSITIONS, data, part, statistic)
                among = mask & np.isin(changes.before, [LABELS.index(label) for label in labels])
                of_split = {s: _share(changes, among & (changes.split == i), hit, labels) for i, s in enumerate(splits)}
                mean = _over_splits(changes, among, hit, of_split) if splits else _share(changes, among, hit, labels)
                is_main = part == operation and statistic == INVALID
                changed = is_answer(rows) & rows_with(rows, intervention=operation) if is_main else None
                yield Number(name, mean, statistic in (INVALID, COMPOSED), changed)
                yield from (Number(name._replace(slice=f"split={split}"), m) for split, m in of_split.items())
        matrix = [dict(zip(LABELS, row, strict=True)) for row in changes.matrix().tolist()]
        counts = {"hypotheses": changes.hypotheses, "tables": len(np.unique(changes.table))}
        counts |= {"edited": len(changes.before), "transitions": dict(zip(LABELS, matrix, strict=True))}
        yield {operation: counts}


def _statistics(changes: Changes, key: str) -> Iterator[tuple[str, Sequence[str], np.ndarray]]:
    """Yield the statistics of :func:`invalid_transitions`, with the predictions before the edit that they average over,
    and the mask of the transitions of interest; ``key`` such as "delete/relevant" tells which are allowed.
    """
    rules: dict[str, Rule] = {INVALID: "union"}
    rules |= {COMPOSED: "composed"} if transitions(key) != transitions(key, "composed") else {}
    for invalid, rule in rules.items():
        is_wrong = ~met(changes.rows, CLASSIFICATION, rule, f"{TRANSITIONS}/{key}")
        yield invalid, LABELS, is_wrong
        yield from ((f"{invalid}/from_{label}", [label], is_wrong) for label in LABELS)
    for label in LABELS:
        for a, after in enumerate(LABELS):
            yield f"from_{label}/to_{after}", [label], changes.after == a


def numbers(rows: pa.Table, context: Context) -> Iterator[Number | Counts]:
    """Yield all numbers of the evaluation of edited tables, for each operation."""
    operations = TableRowsSettings.from_context(context).operations
    yield from invalid_transitions(rows, context.data, operations, context.splits)


def headlines(context: Context) -> list[MetricName]:
    """Return the name of the share of forbidden transitions of every operation."""
    operations = TableRowsSettings.from_context(context).operations
    return [MetricName(TRANSITIONS, context.data, operation, INVALID) for operation in operations]


METRIC = Metric("table_rows", numbers, headlines, (TRANSITIONS,), WORDS)
