"""Transitions between predictions when a row of a table is edited, and the share of forbidden transitions.

A transition is the pair of the predictions before and after the edit. Deleting a row, for instance, must not turn
neutral into entailment. Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), §5 and appendix; figure 3,
tables 5, 6, 13 to 17.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.tables.allowed_transitions import LABELS, RELEVANCE, Rule, allowed, key_of, transitions
from heedful.metrics.hits import is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.number import Curve, Number, Settings
from heedful.metrics.statistics.shares import share as share_of
from heedful.records import Context, DataError, Measurement, MetricName, RunError
from heedful.records.rows import SPLIT, codes, rows_with, slice_codes

TRANSITIONS = "transitions"
INVALID, COMPOSED = "invalid", "invalid_composed"  # statistics
TITLES = {INVALID: "invalid: {}", COMPOSED: "invalid: {} (composed)"}  # labels of lines, with the operation
FROM = {f"{invalid}/from_{label}": f"from {label}" for invalid in TITLES for label in LABELS}


@dataclass(frozen=True)
class TableRowsSettings(Settings):
    """Settings of the evaluation of edited tables.

    Attributes:
        operations: Names of the interventions, such as "delete".
    """

    operations: tuple[str, ...]


def forbidden(key: str, rule: Rule = "union") -> np.ndarray:
    """Whether changes of a predicted label are forbidden: bool [before, after], in the order of ``LABELS``.

    Args:
        key: Operation on the table and relevance of the edited row, such as "delete/relevant".
        rule: How several operations are combined, see
            :func:`~heedful.interventions.tables.allowed_transitions.transitions`.
    """
    return np.array([[not allowed(key, before, after, rule) for after in LABELS] for before in LABELS])


class Changes:
    """Predictions before and after an operation on tables, on the edited examples for which no answer is missing.

    Args:
        rows: Rows, among them the rows of the operation.
        operation: Name of the intervention.
        splits: Names of the splits, if there are several.

    Attributes:
        before: Prediction before the edit, as a position in ``LABELS``: int [rows].
        after: Prediction after the edit: int [rows].
        table: Id of the table, equal for equal tables: int [rows].
        split: Position in ``splits``, 0 without splits: int [rows].
        relevance: Relevance of the deleted row, as a position in ``RELEVANCE``, or -1: int [rows].
        hypotheses: Number of different examples that the operation edited, also those with a missing answer.

    Raises:
        HeedfulError: A prediction is none of the three labels, or a row does not name one of the splits.
    """

    def __init__(self, rows: pa.Table, operation: str, splits: Sequence[str] = ()) -> None:
        columns = ["uid", "y", "y2", "allowed", "clusters", "slices"]
        rows = rows.select(columns).filter(pa.array(rows_with(rows, intervention=operation)))
        self.hypotheses = pc.count_distinct(rows["uid"]).as_py()
        tables = pa.table({"table": pa.chunked_array([pc.list_element(rows["clusters"].combine_chunks(), 1)])})
        has_labels = is_answer(rows) & is_answer(rows, "y2")
        self.table = codes(tables, "table")[0][has_labels]
        rows = rows.filter(pa.array(has_labels))
        self.before = _label_positions(rows, "y")
        self.after = _label_positions(rows, "y2")
        self.split = (
            _split_positions(rows, splits) if splits and rows.num_rows else np.zeros(rows.num_rows, dtype=np.int64)
        )
        at, keys = codes(rows, "allowed")
        number_of = {name: i for i, name in enumerate(RELEVANCE)}
        self.relevance = np.array([number_of.get((key or "").rpartition("/")[2], -1) for key in keys], dtype=np.int64)[
            at
        ]

    def matrix(self) -> np.ndarray:
        """Number of edited examples for each transition: int64 [before, after]."""
        n = len(LABELS)
        return np.bincount(self.before * n + self.after, minlength=n * n).reshape(n, n)


def _label_positions(rows: pa.Table, name: str) -> np.ndarray:
    at, labels = codes(rows, name)
    if strange := [label for label in labels if label not in LABELS]:
        raise DataError(
            f"Transitions are known between {', '.join(LABELS)}, and a prediction is {strange[0]!r}. Leave that "
            "evaluation out, or take data with these labels."
        )
    return np.array([LABELS.index(label) for label in labels], dtype=np.int64)[at]


def _split_positions(rows: pa.Table, splits: Sequence[str]) -> np.ndarray:
    at, names = slice_codes(rows, SPLIT)
    if strange := [name for name in names if name not in splits]:
        raise RunError(f"A row has the split {strange[0]!r}, and there are {', '.join(splits)}. Evaluate again.")
    return np.array([splits.index(name) for name in names], dtype=np.int64)[at]


@dataclass(frozen=True)
class _Share:
    """The share of transitions of interest among edited examples. A transition is a pair of predictions, before and
    after an edit of the table.

    Attributes:
        name: Metric name.
        label: If not None, only examples with this prediction before the edit count. If None, the share is computed for
            each prediction before the edit, and averaged without weights.
        among: Edited examples that count: bool [rows].
        hit: Edited examples with a transition of interest: bool [rows].
    """

    name: MetricName
    label: str | None
    among: np.ndarray
    hit: np.ndarray


def _shares_to_measure(changes: Changes, mask: np.ndarray, key: str, name: MetricName) -> Iterator[_Share]:
    """Yield the shares to measure: of all forbidden transitions, of those from each label, and of each transition.

    Args:
        changes: The edited examples of an operation.
        mask: Edited examples that count: bool [rows].
        key: Key into the table of allowed transitions, such as "delete/relevant".
        name: Metric name of the operation.
    """
    of_label = {label: mask & (changes.before == b) for b, label in enumerate(LABELS)}
    rules: dict[str, Rule] = {INVALID: "union"}
    if transitions(key) != transitions(key, "composed"):
        rules[COMPOSED] = "composed"
    for invalid, rule in rules.items():
        wrong = forbidden(key, rule)[changes.before, changes.after]
        yield _Share(name._replace(statistic=invalid), None, mask, wrong)
        for label, mine in of_label.items():
            yield _Share(name._replace(statistic=f"{invalid}/from_{label}"), label, mine, wrong)
    for label, mine in of_label.items():
        for a, after in enumerate(LABELS):
            yield _Share(name._replace(statistic=f"from_{label}/to_{after}"), label, mine, changes.after == a)


def _share_in_split(share: _Share, changes: Changes, split: int) -> Measurement:
    """Compute the share of ``share.hit`` among a split's edited examples; the examples of a table are a cluster."""
    mine = share.among & (changes.split == split)
    hit = share.hit[mine]
    before = changes.before[mine]
    table = changes.table[mine]
    if share.label is not None:
        return share_of(hit, table, reason=_missing(share.label))
    if not len(hit):
        return Measurement(None, 0, reason="no table could be edited this way")
    if missing := [label for b, label in enumerate(LABELS) if b not in before]:
        return Measurement(None, len(hit), reason=_missing(missing[0]))
    return share_of(hit, table, cells=before)


def _over_splits(share: _Share, changes: Changes, of_split: dict[str, Measurement]) -> Measurement:
    """Compute the unweighted mean of a share over splits; for its interval, the examples of a table form one cluster.

    ``of_split`` maps each split to the share within this split.
    """
    n = sum(m.n for m in of_split.values())
    undefined = [f"{split}: {m.reason}" for split, m in of_split.items() if m.value is None]
    if undefined:
        return Measurement(None, n, reason=undefined[0])
    cells = changes.split * len(LABELS) + (changes.before if share.label is None else 0)
    measured = share_of(share.hit[share.among], changes.table[share.among], cells=cells[share.among])
    mean = float(np.mean([m.value for m in of_split.values()]))  # share_of sums in another order, with other last bits
    return replace(measured, value=mean)


def _missing(label: str) -> str:
    return f"no edited example was predicted as {label!r}"


def invalid_transitions(
    rows: pa.Table, data: str, operations: Sequence[str], splits: Sequence[str] = ()
) -> Iterator[Number]:
    """Measure how often edits of table rows turn one predicted label into another, and how often this is forbidden.

    A transition is the pair of the predictions before and after the edit. It is forbidden if the edit must not lead
    from the first to the second; for instance, deleting a row must not turn neutral into entailment. Edited examples
    without an answer before or after do not count. For intervals, all examples about a table, in all splits, form one
    cluster.

    The share of a label is the share among the ``n`` edited examples that are predicted as the label before the edit. A
    mean over labels is the unweighted mean of the shares of the three labels; its ``n`` is the number of all edited
    examples that count. The mean is undefined if one of the labels is never predicted before the edit. Over several
    splits, each number is the unweighted mean over splits, and undefined if it is undefined in a split.

    Args:
        rows: Rows of :class:`~heedful.interventions.tables.row_edits.RowEdits`.
        data: Name of the data set, for the metric names.
        operations: Names of the interventions.
        splits: Names of the splits, if there are several; each row has a slice "split=<split>".

    Yields:
        With ``name`` = ``transitions/<data>/<operation>``:

        - ``name/invalid``: mean over labels of the share of forbidden transitions; ``name/invalid/from_<label>``: this
          share for a label. If an intervention has several operations, such as "delete+insert", a transition is
          allowed if one of the operations allows it;
        - ``name/invalid_composed``, ``name/invalid_composed/from_<label>``: the same by a rule for several operations
          in turn. Each operation makes one allowed step from label to label; a transition is allowed if such steps lead
          from its first label to its second. Yielded only if this rule differs from the rule of ``invalid``;
        - ``name/from_<label>/to_<label>``: share of the transition between two labels.

        These numbers ignore whether edited rows are relevant to the hypothesis. If relevance is annotated,
        ``<operation>_relevant`` and ``<operation>_irrelevant`` are the numbers for edits of relevant or irrelevant
        rows, with the transitions that are forbidden for such edits. If there are several splits,
        ``<...>/split=<split>`` is the number of a split alone.
    """
    is_label = is_answer(rows)
    for operation in operations:
        changes = Changes(rows, operation, splits)
        subsets = {operation: (np.ones(len(changes.before), dtype=bool), key_of(operation))}
        if np.isin(changes.relevance, [RELEVANCE.index(relevance) for relevance in RELEVANCE[:2]]).any():
            for relevance in RELEVANCE[:2]:
                is_so = changes.relevance == RELEVANCE.index(relevance)
                subsets[f"{operation}_{relevance}"] = is_so, key_of(operation, relevance)
        for subset, (mask, key) in subsets.items():
            for share in _shares_to_measure(changes, mask, key, MetricName(TRANSITIONS, data, subset)):
                of_split = [_share_in_split(share, changes, split) for split in range(max(1, len(splits)))]
                by_split = dict(zip(splits, of_split, strict=True)) if splits else {}
                measured = _over_splits(share, changes, by_split) if splits else of_split[0]
                is_headline = subset == operation and share.name.statistic == INVALID
                changed = is_label & rows_with(rows, intervention=operation) if is_headline else None
                yield _labelled_number(share.name, measured, changed)
                for split, m in by_split.items():
                    yield _labelled_number(share.name._replace(slice=f"split={split}"), m)


def _labelled_number(name: MetricName, measured: Measurement, changed: np.ndarray | None = None) -> Number:
    """Create a number with its label in tables; ``changed`` marks the rows of edited examples: bool [rows]."""
    label, level = FROM.get(name.statistic, "") if not name.slice else "", 1
    if name.statistic in TITLES:
        title = TITLES[name.statistic].format(name.part.replace("_", ", "))
        label, level = (name.slice, 1) if name.slice else (title, 0)
    return Number(name, measured, label, level, headline=not level, changed=changed)


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield all numbers of the evaluation of edited tables, for each operation; the share of forbidden transitions of
    the first operation has a curve over epochs.
    """
    first, *further = TableRowsSettings.from_context(context).operations
    for number in invalid_transitions(rows, context.data, (first, *further), context.splits):
        is_first = number.name == MetricName(TRANSITIONS, context.data, first, INVALID)
        yield replace(number, curve=Curve("invalid", f"invalid: {first}", METRIC.name)) if is_first else number


METRIC = Metric("table_rows", numbers)
