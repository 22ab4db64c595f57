"""Evidence: does a model use the rows of a table that annotators marked as relevant?

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), section 5.3. An example is a pair of a table and a
hypothesis. A model uses a row of the table if the prediction changes when only this row is deleted. A pair counts if
its gold label is not neutral, annotators marked at least one row (footnote 9), and the model answers the pair and all
of its deletions.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.hits import is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.number import Counts, Number, Settings
from heedful.metrics.statistics.shares import share
from heedful.metrics.tables.challenge import CHALLENGE, KINDS, NEUTRAL, challenge
from heedful.metrics.tables.challenge import WORDS as challenge_words
from heedful.metrics.tables.transitions import WORDS as transition_words
from heedful.metrics.tables.transitions import invalid_transitions
from heedful.metrics.tables.which_table import tables_of
from heedful.records import Context, DataError, MetricName
from heedful.records.rows import BASE, TRANSITIONS, equal_columns, rows_with, select, strings

EVIDENCE, DELETE, VALUES = "evidence", "delete", "values"
SHARES = ("all", "partial", "none", "ignored")
HEADLINES = ("precision", "recall", *SHARES, "correct")
HIDDEN = ["macro_precision", "macro_precision_or_zero", "macro_recall", "exact", "ignored_of_none", "correct/ignored"]
HIDDEN += [f"among_correct/{name}" for name in SHARES]  # statistics without a line in tables


@dataclass(frozen=True)
class EvidenceSettings(Settings):
    """Settings of the evaluation "evidence"."""

    data: str  # name of the annotated data set
    table: str  # name of the part that holds the table
    relevant: Mapping[str, Sequence[str]]  # uid to the keys of the marked rows


def evidence(rows: pa.Table, data: str, part: str, relevant: Mapping[str, Set[str]]) -> Iterator[Number | Counts]:
    """Compare the rows of tables that a model uses with the rows that annotators marked as relevant.

    For intervals, the pairs of a table form one cluster; ``n`` counts the pairs in the denominator. Precision is the
    share of marked rows among the used rows, recall the share of used rows among the marked rows. The micro average
    sums rows over pairs; the macro average is the mean over pairs. A pair without used rows adds nothing to the micro
    average of precision; the macro average leaves the pair out, or sets its precision to 0. The paper does not define
    the averages.

    Args:
        rows: Base rows, and rows of the intervention "delete", one for each row of every table, with its key as
            ``variant``; they name tables as in :func:`~heedful.metrics.tables.which_table.tables_of`.
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

        Counts: "pairs" and "tables"; then the omitted pairs by reason, "neutral" (gold label), "without_evidence" (no
        row is marked), "without_deletions" (no row was deleted), "without_answers" (an answer to the pair or to a
        deletion is missing), and "not_predicted" (the pair is marked but has no base row).

    Raises:
        HeedfulError: A marked row was not deleted, or a pair does not name its table.
    """
    base, is_deletion = select(rows, intervention=BASE), rows_with(rows, intervention=DELETE, part=part)
    deletions = rows.filter(pa.array(is_deletion))
    uids = strings(base, "uid")
    keys = list(zip(strings(deletions, "uid"), strings(deletions, "variant"), strict=True))
    pair = pc.index_in(deletions["uid"], value_set=base["uid"].combine_chunks()).to_numpy()

    def per_pair(mask: np.ndarray) -> np.ndarray:
        return np.bincount(pair, mask, minlength=len(uids))

    is_marked = np.array([key in relevant.get(uid, ()) for uid, key in keys], dtype=bool)
    is_used = ~equal_columns(deletions, "y", "y2")
    n_marked = np.array([len(relevant.get(uid, ())) for uid in uids], dtype=np.float64)
    omissions = {
        "neutral": rows_with(base, gold=NEUTRAL),
        "without_evidence": n_marked == 0,
        "without_deletions": per_pair(np.ones(len(keys))) == 0,
        "without_answers": per_pair(~(is_answer(deletions) & is_answer(deletions, "y2"))) > 0,
    }
    lacks_deletion = ~omissions["neutral"] & ~omissions["without_deletions"] & (per_pair(is_marked) < n_marked)
    for uid in uids[lacks_deletion]:
        never = min(key for key in relevant[uid] if (uid, key) not in keys)
        raise DataError(
            f"The relevant row {never!r} of {uid} was never deleted. Name keys as they stand in the table, and delete "
            "each row once."
        )
    is_counted, counts = np.ones(len(uids), dtype=bool), {}
    for reason, mask in omissions.items():
        counts[reason] = int((is_counted & mask).sum())
        is_counted &= ~mask
    counts["not_predicted"] = len({uid for uid in relevant if relevant[uid]}.difference(uids))
    tables = tables_of(pa.concat_tables([base, deletions]), uids[is_counted])
    yield {"pairs": len(tables), "tables": len(set(tables)), **counts}

    hit, extra, n_marked = per_pair(is_used & is_marked), per_pair(is_used & ~is_marked), n_marked[is_counted]
    hit, extra, correct = (values[is_counted] for values in (hit, extra, equal_columns(base, "gold", "y")))
    used, every, precision = hit + extra, np.ones(len(hit)), hit / np.maximum(1, hit + extra)
    masks = dict(zip(SHARES, (hit == n_marked, (hit < n_marked) & (hit > 0), hit == 0, used == 0), strict=True))
    ratios = {  # sums of hits and of counts, one number per pair
        "precision": (hit, used),
        "recall": (hit, n_marked),
        "macro_precision": (precision, used > 0),
        "macro_precision_or_zero": (precision, every),
        "macro_recall": (hit / n_marked, every),
        **{name: (mask, every) for name, mask in masks.items()},
        "exact": ((hit == n_marked) & (extra == 0), every),
        "ignored_of_none": (used == 0, hit == 0),
        "correct": (correct, every),
    }
    for group, mask in masks.items():
        ratios |= {f"correct/{group}": (mask & correct, every), f"among_correct/{group}": (mask & correct, correct)}
    reasons = dict.fromkeys(("precision", "macro_precision"), "no deletion of a row flips a prediction")
    reasons["ignored_of_none"] = "every pair uses a relevant row"
    changed = is_deletion & is_answer(rows) & pc.is_in(rows["uid"], pa.array(sorted(relevant), pa.string())).to_numpy()
    for statistic, (hits, count) in ratios.items():
        reason = reasons.get(statistic, "no prediction is correct")
        reason = reason if len(hit) else "no pair that was predicted and changed has rows marked as relevant"
        measured = share(hits, tables, reason=reason, counts=count, n=int((count > 0).sum()))
        is_about_rows = statistic in HEADLINES and statistic != "correct"
        name = MetricName(EVIDENCE, data, statistic=statistic)
        yield Number(name, measured, statistic in HEADLINES, changed if is_about_rows else None)


def numbers(rows: pa.Table, context: Context) -> Iterator[Number | Counts]:
    """Yield the comparison of used and marked rows; how predictions change when a relevant or an irrelevant row is
    deleted; and accuracy when the values of the marked rows are copied to another table.
    """
    settings = EvidenceSettings.from_context(context)
    relevant = {uid: set(keys) for uid, keys in settings.relevant.items()}
    yield from evidence(rows, settings.data, settings.table, relevant)
    for number in invalid_transitions(rows, f"{settings.data}-{EVIDENCE}", [DELETE]):
        if isinstance(number, Number) and number.name.part != DELETE:  # deletions of relevant, and of irrelevant rows
            yield number
    swapped = MetricName(CHALLENGE, settings.data, VALUES)
    yield from challenge(rows, swapped, [VALUES], context.seed, KINDS[:1])  # labels stay


def headlines(context: Context) -> list[MetricName]:
    """Return the names of precision and recall."""
    data = EvidenceSettings.from_context(context).data
    return [MetricName(EVIDENCE, data, statistic=statistic) for statistic in HEADLINES[:2]]


WORDS = challenge_words | transition_words | {f"{EVIDENCE}/{statistic}": None for statistic in HIDDEN}
METRIC = Metric("evidence", numbers, headlines, (EVIDENCE, TRANSITIONS, CHALLENGE), WORDS, whole_examples=True)
