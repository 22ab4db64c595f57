"""Accuracy where several answers are right, each of its worth: gold labels are JSON objects of answer to worth.

Source: Goyal et al. (2017), VQA 2.0; what an answer is worth comes with the data.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from heedful.metrics.metric import Numbers
from heedful.metrics.slices import slices_of
from heedful.metrics.statistics.majority import majority_flag
from heedful.metrics.statistics.shares import share
from heedful.records import SOFT, Measurement, MetricName
from heedful.records.rows import BASE, cluster_of, select, strings


def _worth(base: pa.Table) -> np.ndarray:
    """The worth of each answer: float64 [rows]."""
    return SOFT.scores(strings(base, "y"), strings(base, "gold"))


def soft_accuracy(rows: pa.Table, data: str, seed: int = 0, slices: Sequence[str] = ()) -> Numbers:
    """Mean worth of base predictions; clusters are what examples share (``group``), or else examples.

    Args:
        rows: Rows; the base rows among them count.
        data: Name of the data set, for the metric names.
        seed: Keys the test of :func:`soft_flags`.
        slices: Meta columns by which there are numbers, too.

    Returns:
        ``accuracy/<data>``; ``accuracy/<data>/majority``, what one gets who always gives the answer that is worth most
        in all; and ``accuracy/<data>/<column>=<value>`` for each slice (:func:`~heedful.metrics.slices.slices_of`).
    """
    base = select(rows, intervention=BASE)
    full = MetricName("accuracy", data)
    if not base.num_rows:
        return {full: Measurement(None, 0, reason="no example was predicted")}
    values = _worth(base)
    cluster = cluster_of(base)
    result = {full: share(values, cluster, soft_flags(rows, seed))}
    result[full._replace(statistic="majority")] = Measurement(float(_best_answer(base).mean()), len(values))
    for text, kept in slices_of(base, slices):
        result[full._replace(slice=text)] = share(values[kept], cluster[kept])
    return result


def soft_flags(rows: pa.Table, seed: int = 0) -> tuple[str, ...]:
    """The flag of results with an accuracy that is not above that of the best single answer (p < 0.05)."""
    base = select(rows, intervention=BASE)
    return majority_flag(_worth(base), _best_answer(base), cluster_of(base), (seed,))


def _best_answer(base: pa.Table) -> np.ndarray:
    """The worth in each row of the answer that is worth most in all: float64 [rows]; of equals, the first by name."""
    found = SOFT.parse_golds(strings(base, "gold"))
    totals: dict[str, float] = {}
    for gold in found:
        for answer, worth in gold.items():
            totals[answer] = totals.get(answer, 0.0) + worth
    best = min(totals, key=lambda answer: (-round(totals[answer], 9), answer), default="")
    return np.array([gold.get(best, 0.0) for gold in found], dtype=np.float64)
