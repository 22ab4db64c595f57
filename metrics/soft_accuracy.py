"""Accuracy where several answers are right, each of its worth: gold labels are JSON objects of answer to worth.

Source: Goyal et al. (2017), VQA 2.0; what an answer is worth comes with the data.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metrics.statistics.bootstrap import NOT_ABOVE_MAJORITY, RESAMPLES, bootstrap_interval, flagged
from records import MANY, SOFT, HeedError, Measurement, generator
from records.rows import BASE, select, sliced, strings

CLUSTER = "cluster"  # the slice that says which examples share what they are about


def golds(rows: pa.Table) -> list[dict[str, float]]:
    """What each answer is worth, for each row."""
    return SOFT.parse_golds(strings(rows, "gold"))


def worth(rows: pa.Table, answer: str = "y") -> np.ndarray:
    """What the answers in a column are worth: float64 [rows]; one that gold does not name is worth nothing."""
    return SOFT.scores(strings(rows, answer), strings(rows, "gold"))


def by_cluster(rows: pa.Table) -> np.ndarray:
    """The number of the cluster of each row: int [rows]; of the row itself, where no slice says it."""
    try:
        return sliced(rows, CLUSTER)[0]
    except HeedError:
        return np.arange(rows.num_rows)


def soft_accuracy(rows: pa.Table, data: str, seed: int = 0) -> dict[str, Measurement]:
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
    base, full = select(rows, intervention=BASE), f"accuracy/{data}"
    if not base.num_rows:
        return {full: Measurement(None, 0, reason="no example was predicted")}
    values, cluster = worth(base), by_cluster(base)

    def mean(kept: np.ndarray, name: str, flags: tuple[str, ...] = ()) -> Measurement:
        totals, counts = sums(values[kept], cluster[kept])
        interval = bootstrap_interval(totals, counts, (seed, name))
        return Measurement(float(values[kept].mean()), int(kept.sum()), ci95=interval, flags=flagged(interval, flags))

    result = {full: mean(np.ones(len(values), dtype=bool), full, soft_flags(rows, seed))}
    result[f"{full}/majority"] = Measurement(float(_best_answer(base).mean()), len(values))
    for name in [text.partition("=")[0] for text in base["slices"][0].as_py()]:
        of, found = sliced(base, name)
        for k in sorted(range(len(found)), key=found.__getitem__) if name != CLUSTER and len(found) <= MANY else ():
            part = f"{full}/{name}={(found[k] or 'none').replace('/', '-')}"
            result[part] = mean(of == k, part)
    return result


def soft_flags(rows: pa.Table, seed: int = 0) -> tuple[str, ...]:
    """The flag of results whose accuracy is not above that of the best single answer (p < 0.05), or nothing."""
    base = select(rows, intervention=BASE)
    more, _ = sums(worth(base) - _best_answer(base), by_cluster(base))
    return () if above_zero(more, (seed, "majority")) < 0.05 else (NOT_ABOVE_MAJORITY,)


def above_zero(differences: Sequence[float] | np.ndarray, key: tuple[str | int, ...]) -> float:
    """p value of the one-sided randomisation test that differences are not as often against as for the first of two.

    If it makes no difference which of the two is which, each difference has either sign with the same chance. The p
    value is the share, among 10,000 random choices of all signs and the one that was seen, with at least that sum.
    Equal differences are counted, so that the cost does not grow with their number.

    Args:
        differences: float64 [clusters], the sum of the differences within each.
        key: What the test is for; keys the random numbers.
    """
    size, count = np.unique(np.round(np.abs(differences), 9), return_counts=True)
    against = generator("signs", *key).binomial(count, 0.5, size=(RESAMPLES, len(count)))
    sums = (count - 2 * against) @ size
    return float((1 + (sums >= np.sum(differences) - 1e-6).sum()) / (1 + RESAMPLES))


def _best_answer(base: pa.Table) -> np.ndarray:
    """What the answer that is worth most in all is worth for each row: float64 [rows]; of equals, the first by name."""
    found, totals = golds(base), Counter()
    for gold in found:
        totals.update(gold)
    best = min(totals, key=lambda answer: (-round(totals[answer], 9), answer), default="")
    return np.array([gold.get(best, 0.0) for gold in found], dtype=np.float64)


def sums(values: np.ndarray, cluster: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Sum, number) of the values of each cluster."""
    _, numbers = np.unique(cluster, return_inverse=True)
    return np.bincount(numbers, values), np.bincount(numbers).astype(np.float64)
