"""Evidence: does a model use the rows of a table that annotators marked as relevant?

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), section 5.3. An example is a pair of a table and a
hypothesis. A model uses a row of the table if the prediction changes when only this row is deleted. A pair counts if
its gold label is not neutral and annotators marked at least one row (footnote 9).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.hits import is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.number import Curve, Number, Settings
from heedful.metrics.statistics.shares import share
from heedful.metrics.tables.challenge import CHALLENGE, KINDS, NEUTRAL, challenge
from heedful.metrics.tables.transitions import invalid_transitions
from heedful.metrics.tables.which_table import tables_of
from heedful.records import NO_LABEL, Context, DataError, MetricName
from heedful.records.rows import BASE, equal_columns, rows_with, select, strings

EVIDENCE, DELETE, VALUES = "evidence", "delete", "values"
SHARES = ("all", "partial", "none", "ignored")
HEADLINES = ("precision", "recall", *SHARES, "correct")
SHOWN = (*HEADLINES, *(f"correct/{name}" for name in SHARES[:3]))  # statistics with a line


@dataclass(frozen=True)
class EvidenceSettings(Settings):
    """Settings of the evaluation "evidence", which compares the table rows that a model uses with the rows that
    annotators marked as relevant.

    Attributes:
        of: Name of the annotated data set.
        table: Name of the part that holds the table.
        relevant: Maps uids to the keys of the marked rows.
    """

    of: str
    table: str
    relevant: Mapping[str, Sequence[str]]

    @property
    def marked(self) -> dict[str, frozenset[str]]:
        """Map each uid to the set of keys of the table rows that annotators marked as relevant."""
        return {uid: frozenset(keys) for uid, keys in self.relevant.items()}


@dataclass(frozen=True)
class _Pairs:
    """The pairs of a table and a hypothesis that count in the evaluation, with their used and marked table rows.

    Attributes:
        table: Name of the table of each pair.
        hit: Number of marked rows that the model uses: float64 [pairs].
        extra: Number of unmarked rows that the model uses: float64 [pairs].
        missed: Number of marked rows that the model does not use: float64 [pairs].
        correct: Whether the prediction on the full table is gold: bool [pairs].
        left_out: Numbers of pairs that do not count, by reason.
    """

    table: list[str]
    hit: np.ndarray
    extra: np.ndarray
    missed: np.ndarray
    correct: np.ndarray
    left_out: dict[str, int]


def _pairs(rows: pa.Table, part: str, relevant: Mapping[str, Set[str]]) -> _Pairs:
    base = select(rows, intervention=BASE)
    deletions = select(rows, intervention=DELETE, part=part)
    deleted = defaultdict[str, set[str]](set)
    used = defaultdict[str, set[str]](set)
    flips = ~equal_columns(deletions, "y", "y2")
    without = rows_with(deletions, y=NO_LABEL) | rows_with(deletions, y2=NO_LABEL)
    unanswered = set(strings(deletions.filter(pa.array(without)), "uid"))
    for uid, key, flip in zip(strings(deletions, "uid"), strings(deletions, "variant"), flips, strict=True):
        deleted[uid].add(key)
        if flip:
            used[uid].add(key)
    left_out = dict.fromkeys(("neutral", "without_evidence", "without_deletions", "without_answers"), 0)
    uids, counts = [], []
    for uid, gold, right in zip(
        strings(base, "uid"), strings(base, "gold"), equal_columns(base, "gold", "y"), strict=True
    ):
        marked = relevant.get(uid, frozenset())
        if gold == NEUTRAL:
            left_out["neutral"] += 1
        elif not marked:
            left_out["without_evidence"] += 1
        elif uid not in deleted:
            left_out["without_deletions"] += 1
        elif marked - deleted[uid]:
            raise DataError(
                f"The relevant row {min(marked - deleted[uid])!r} of {uid} was never deleted. Name keys as they stand "
                "in the table, and delete each row once."
            )
        elif uid in unanswered:
            left_out["without_answers"] += 1
        else:
            uids.append(uid)
            counts.append((len(marked & used[uid]), len(used[uid] - marked), len(marked - used[uid]), right))
    hit, extra, missed, correct = np.array(counts, dtype=np.float64).reshape(-1, 4).T
    tables = tables_of(pa.concat_tables([base, deletions]), uids)
    return _Pairs(tables, hit, extra, missed, correct.astype(bool), left_out)


def evidence_counts(rows: pa.Table, part: str, relevant: Mapping[str, Set[str]]) -> dict[str, int]:
    """Count the pairs and tables that :func:`evidence` measures, and the pairs that it omits.

    ``part`` is the part that holds the table; ``relevant`` maps uids to the keys of the table rows that annotators
    marked as relevant.

    Returns:
        "pairs" and "tables"; then the omitted pairs by reason, "neutral" (gold label), "without_evidence" (no row is
        marked), "without_deletions" (no row was deleted), "without_answers" (an answer to the pair or to a deletion is
        missing), and "not_predicted" (the pair is marked but has no base row).
    """
    pairs = _pairs(rows, part, relevant)
    base = set(strings(select(rows, intervention=BASE), "uid"))
    absent = sum(1 for uid, keys in relevant.items() if keys and uid not in base)
    counted = {"pairs": len(pairs.table), "tables": len(set(pairs.table))}
    return counted | pairs.left_out | {"not_predicted": absent}


def evidence(rows: pa.Table, data: str, part: str, relevant: Mapping[str, Set[str]]) -> Iterator[Number]:
    """Compare the rows of tables that a model uses with the rows that annotators marked as relevant.

    An example is a pair of a table and a hypothesis. A model uses a row if its prediction changes when only this row is
    deleted. A pair counts if its gold label is not neutral, a row is marked, and the model answers the pair and all of
    its deletions. For intervals, the pairs of a table form one cluster; ``n`` counts the pairs in the denominator.

    Precision is the share of marked rows among the used rows, recall the share of used rows among the marked rows. The
    micro average sums rows over pairs; the macro average is the mean over pairs. A pair without used rows adds nothing
    to the micro average of precision; the macro average leaves the pair out, or sets its precision to 0. The paper does
    not define the averages.

    Args:
        rows: Base rows, and rows of the intervention "delete", one for each row of each table, with the key of the
            deleted row as ``variant``. Rows name their table as in
            :func:`~heedful.metrics.tables.which_table.tables_of`.
        data: Name of the data set, for the metric names.
        part: The part that is the table.
        relevant: Maps uids to the keys of the marked rows.

    Yields:
        Under ``evidence/<data>/``:

        - ``precision``, ``recall``: micro averages;
        - ``macro_precision`` over the pairs with used rows, ``macro_precision_or_zero``, ``macro_recall``;
        - ``all``, ``partial``, ``none``: shares of pairs where the model uses all, some or none of the marked rows;
        - ``exact``: share of pairs where the model uses the marked rows and no other row;
        - ``ignored``: share of pairs without used rows; ``ignored_of_none``: the same among the pairs of ``none``;
        - ``correct``: share of pairs with a correct prediction; ``correct/<all, partial, none or ignored>``: share of
          pairs that are also in this group; the first three sum to ``correct`` (21 + 12 + 37 = 70 % in the paper);
        - ``among_correct/<...>``: share of the group among the pairs with a correct prediction.

    Raises:
        HeedfulError: A marked row was not deleted, or a pair does not name its table.
    """
    pairs = _pairs(rows, part, relevant)
    hit = pairs.hit
    used = pairs.hit + pairs.extra
    marked = pairs.hit + pairs.missed
    every = np.ones(len(hit))
    correct = pairs.correct.astype(np.float64)

    def number(statistic: str, total: np.ndarray, count: np.ndarray, reason: str = "") -> Number:
        name = MetricName(EVIDENCE, data, statistic=statistic)
        if not len(count):
            reason = "no pair that was predicted and changed has rows marked as relevant"
        measured = share(total, pairs.table, reason=reason, counts=count, n=int((count > 0).sum()))
        label = f"evidence: {statistic.replace('/', ', ')}" if statistic in SHOWN else ""
        return Number(name, measured, label, 0, headline=statistic in HEADLINES)

    silent = "no deletion of a row flips a prediction"
    uses = (used > 0).astype(np.float64)
    per_pair = np.divide(hit, used, out=np.zeros(len(hit)), where=used > 0)
    yield number("precision", hit, used, silent)
    yield number("recall", hit, marked)
    yield number("macro_precision", per_pair, uses, silent)
    yield number("macro_precision_or_zero", per_pair, every)
    yield number("macro_recall", np.divide(hit, marked, out=np.zeros(len(hit)), where=marked > 0), every)
    none = hit == 0
    uses_all = pairs.missed == 0
    shares = dict(zip(SHARES, (uses_all, ~uses_all & ~none, none, used == 0), strict=True))
    for name, of_share in shares.items():
        yield number(name, of_share, every)
    yield number("exact", uses_all & (pairs.extra == 0), every)
    yield number("ignored_of_none", used == 0, none, "every pair uses a relevant row")
    yield number("correct", correct, every)
    for name, of_share in shares.items():
        yield number(f"correct/{name}", of_share * correct, every)
        yield number(f"among_correct/{name}", of_share * correct, correct, "no prediction is correct")


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield all numbers of the evidence evaluation: used and marked table rows, changes of predictions when a relevant
    or an irrelevant row is deleted, and accuracy when values of marked rows are copied to another table.
    """
    settings = EvidenceSettings.from_context(context)
    deletions = rows_with(rows, intervention=DELETE, part=settings.table) & is_answer(rows)
    deletions &= pc.is_in(rows["uid"], value_set=pa.array(sorted(settings.relevant), pa.string())).to_numpy()
    for number in evidence(rows, settings.of, settings.table, settings.marked):
        statistic = number.name.statistic
        curve = Curve("evidence", f"evidence: {statistic}", "table_rows") if statistic in HEADLINES[:2] else None
        is_counted = statistic in HEADLINES and statistic != "correct"
        yield replace(number, changed=deletions if is_counted else None, curve=curve)
    for number in invalid_transitions(rows, f"{settings.of}-{EVIDENCE}", [DELETE]):
        if number.name.part != DELETE:  # deletions of relevant rows, and of irrelevant rows
            yield number
    swapped = MetricName(CHALLENGE, settings.of, VALUES)
    yield from challenge(rows, swapped, [VALUES], context.seed, KINDS[:1])  # labels stay


METRIC = Metric("evidence", numbers, whole_examples=True)
