"""Accuracy and consistency on counterparts: edited versions of examples, with the gold labels that the data name.

Source: "Evaluating Models' Local Decision Boundaries via Contrast Sets" (Gardner et al. 2020), section 2.3.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from heedful.metrics.accuracy import constant_flags
from heedful.metrics.hits import alike, is_answer, met
from heedful.metrics.metric import Metric
from heedful.metrics.number import Counts, Number
from heedful.metrics.statistics.shares import share
from heedful.records import MANY, Context, MetricName
from heedful.records.rows import BASE, cluster_of, equal_columns, rows_with, select, strings

FAMILY = "counterpart"
NONE = "no example has a counterpart with a gold label"
BY_KIND = ("edited", "pair", "other_gold/moves")


def _texts(*columns: np.ndarray) -> np.ndarray:
    """Join the values of some columns to one text per row: texts [rows]."""
    return np.array(["\n".join(values) for values in zip(*columns, strict=True)], dtype=str)


def counterpart(rows: pa.Table, context: Context) -> Iterator[Number | Counts]:
    """Measure accuracy and consistency on sets of counterparts: originals with their edited versions, or groups.

    A missing answer is wrong. It is not counted in the shares of predictions that move or stay.

    Yields:
        With ``name`` = ``counterpart/<data>``:

        - ``name/all``: share of the sets in which every member is right (the consistency of Gardner et al. 2020);
        - ``name/pair``: share of the pairs of an example and its counterpart in which both are right;
        - ``name/original``, ``name/edited``: accuracy on the examples that have a counterpart, and on their
          counterparts, each once; in a group, all members are both;
        - ``name/other_gold/...``: of the answers whose gold label the edit changes, the shares that change to the
          new gold label (``moves``), that change to another label (``elsewhere``), and that do not change (``stays``;
          of two texts, if both are right before the edit);
        - ``name/same_gold/stays``: share of the predictions that do not change, if the edit keeps the gold label;
        - ``edited``, ``pair`` and ``other_gold/moves`` in the slice ``kind=<kind>``, for at most 20 kinds of edit.

        Counts: ``sets``; ``pairs``; ``alone``, the examples without a counterpart.
    """
    is_changed = rows_with(rows, intervention=FAMILY)
    edits, cluster = rows.filter(pa.array(is_changed)), cluster_of(rows)[is_changed]
    base, kind = select(rows, intervention=BASE), context.kind
    content = dict(zip(strings(base, "uid"), strings(base, "content"), strict=True))
    uid, partner, variant = (strings(edits, column) for column in ("uid", "partner", "variant"))
    sides = ("y", "gold"), ("y2", "gold2")
    before, after = (kind.scores(strings(edits, y), strings(edits, gold)) for y, gold in sides)
    is_right = (before >= 0.5) & (after >= 0.5)
    sets, first, of_set = np.unique(_sets(edits), return_index=True, return_inverse=True)
    wrong = np.bincount(of_set, ~is_right, minlength=len(sets)) > 0
    flags, name = constant_flags(rows), MetricName(FAMILY, context.data)
    yield Number(name._replace(statistic="all"), share(~wrong, cluster[first], flags, NONE), headline=True)

    edited = np.where(partner == "", _texts(uid, variant), partner)
    pairs = np.where(uid < edited, _texts(uid, edited), _texts(edited, uid))
    answered = is_answer(edits) & is_answer(edits, "y2")
    has_old_answer = kind.scores(strings(edits, "y2"), strings(edits, "gold")) >= 0.5
    stays = alike(edits, kind) | (has_old_answer & (before >= 0.5))  # another text with the old answer stays
    is_same, is_met = equal_columns(edits, "gold", "gold2"), met(edits, kind)
    every, flips, same = np.ones(len(uid), dtype=bool), answered & ~is_same, answered & is_same
    no_flip = "no edit changes the gold label"
    measured = {  # statistic: values, edits that count, names of entries that count once, reason
        "pair": (is_right, every, pairs, NONE),
        "original": (before, every, np.array([content[each] for each in uid], dtype=str), NONE),
        "edited": (after, every, edited, NONE),
        "other_gold/moves": (is_met & ~stays, flips, None, no_flip),
        "other_gold/elsewhere": (~is_met & ~stays, flips, None, no_flip),
        "other_gold/stays": (stays, flips, None, no_flip),
        "same_gold/stays": (stays, same, None, "no edit keeps the label"),
    }
    of_kind = np.array([text.rpartition("#")[0] for text in variant], dtype=str)
    kinds = np.unique(of_kind).tolist() if any(of_kind) else []
    for statistic, (values, mask, names, reason) in measured.items():
        is_pair = statistic == "pair"
        of_slices = {f"kind={(k or 'none').replace('/', '-')}": mask & (of_kind == k) for k in kinds}
        for text, mine in {"": mask, **(of_slices if statistic in BY_KIND and len(kinds) <= MANY else {})}.items():
            at = np.flatnonzero(mine)
            at = at if names is None else at[np.unique(names[at], return_index=True)[1]]
            m = share(values[at].astype(float), cluster[at], () if text else flags, reason)
            full = name._replace(statistic=statistic, slice=text)
            yield Number(full, m, is_pair and not text, is_changed if is_pair and not text else None)
    alone = len(content.keys() - {*uid} - {*partner})
    yield {"sets": len(sets), "pairs": len(np.unique(pairs)), "alone": alone}


def _sets(edits: pa.Table) -> np.ndarray:
    """Return the name of the set of each edit, its second cluster: texts [edits]."""
    return np.array([clusters[1] for clusters in edits["clusters"].to_pylist()], dtype=str)


def headlines(context: Context) -> list[MetricName]:
    """Return the names of the two consistencies."""
    return [MetricName(FAMILY, context.data, statistic=statistic) for statistic in ("all", "pair")]


WORDS: dict[str, str | None] = {
    f"{FAMILY}/all": "consistency, all of a set",
    f"{FAMILY}/pair": "consistency, pair",
    f"{FAMILY}/original": "accuracy, originals",
    f"{FAMILY}/edited": "accuracy, edited",
    f"{FAMILY}/other_gold/moves": "gold changes: moves to the new label",
    f"{FAMILY}/other_gold/elsewhere": "gold changes: moves elsewhere",
    f"{FAMILY}/other_gold/stays": "gold changes: stays",
    f"{FAMILY}/same_gold/stays": "gold stays: stays",
}
METRIC = Metric(FAMILY, counterpart, headlines, words=WORDS)
