"""Accuracy where several answers are right, each of its worth: gold labels are JSON objects of answer to worth.

Source: Goyal et al. (2017), VQA 2.0; what an answer is worth comes with the data.
"""

from collections import Counter

import numpy as np
import pyarrow as pa

from metrics.metric import Numbers
from metrics.statistics.bootstrap import share, sums_of
from metrics.statistics.majority import NOT_ABOVE_MAJORITY, above_zero
from records import MANY, SOFT, HeedError, Measurement, MetricName
from records.rows import BASE, select, sliced, strings

CLUSTER = "cluster"  # the slice that says which examples share what they are about


def _worth(base: pa.Table) -> np.ndarray:
    """The worth of each answer: float64 [rows]."""
    return SOFT.scores(strings(base, "y"), strings(base, "gold"))


def by_cluster(rows: pa.Table) -> np.ndarray:
    """The number of the cluster of each row: int [rows]; of the row itself, where no slice says it."""
    try:
        return sliced(rows, CLUSTER)[0]
    except HeedError:
        return np.arange(rows.num_rows)


def soft_accuracy(rows: pa.Table, data: str, seed: int = 0) -> Numbers:
    """Mean worth of base predictions; intervals resample clusters with all that is asked about them.

    Args:
        rows: Rows; the base rows among them count.
        data: Name of the data set, for the metric names.
        seed: Keys the bootstrap.

    Returns:
        ``accuracy/<data>``; ``accuracy/<data>/majority``, what one gets who always gives the answer that is worth most
        in all; and ``accuracy/<data>/<name>=<value>`` for each slice of at most :data:`~records.MANY` values, in which
        "/" becomes "-".
    """
    base, full = select(rows, intervention=BASE), MetricName("accuracy", data)
    if not base.num_rows:
        return {full: Measurement(None, 0, reason="no example was predicted")}
    values, cluster = _worth(base), by_cluster(base)
    result = {full: share(values, (seed, str(full)), cluster, soft_flags(rows, seed))}
    result[full._replace(statistic="majority")] = Measurement(float(_best_answer(base).mean()), len(values))
    for name in [text.partition("=")[0] for text in base["slices"][0].as_py()]:
        of, found = sliced(base, name)
        for k in sorted(range(len(found)), key=found.__getitem__) if name != CLUSTER and len(found) <= MANY else ():
            part = full._replace(slice=f"{name}={(found[k] or 'none').replace('/', '-')}")
            result[part] = share(values[of == k], (seed, str(part)), cluster[of == k])
    return result


def soft_flags(rows: pa.Table, seed: int = 0) -> tuple[str, ...]:
    """The flag of results whose accuracy is not above that of the best single answer (p < 0.05), or nothing."""
    base = select(rows, intervention=BASE)
    more = sums_of([_worth(base) - _best_answer(base)], by_cluster(base))
    return () if above_zero(more[:, 0], (seed, "majority")) < 0.05 else (NOT_ABOVE_MAJORITY,)


def _best_answer(base: pa.Table) -> np.ndarray:
    """The worth in each row of the answer that is worth most in all: float64 [rows]; of equals, the first by name."""
    found, totals = SOFT.parse_golds(strings(base, "gold")), Counter()
    for gold in found:
        totals.update(gold)
    best = min(totals, key=lambda answer: (-round(totals[answer], 9), answer), default="")
    return np.array([gold.get(best, 0.0) for gold in found], dtype=np.float64)
