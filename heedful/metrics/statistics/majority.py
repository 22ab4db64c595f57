"""Test of a score, such as accuracy, against the majority baseline (the score of the best constant answer)."""

from collections.abc import Sequence

import numpy as np

from heedful.metrics.statistics.bootstrap import Key
from heedful.metrics.statistics.shares import numbered
from heedful.records import generator

NOT_ABOVE_MAJORITY = "not_above_majority"
CHOICES = 10_000  # random choices of signs


def majority_flag(scores: np.ndarray, best: np.ndarray, clusters: np.ndarray, key: Key) -> tuple[str, ...]:
    """Return a flag if a mean score is not above the score of the best constant answer (p < 0.05); else no flag.

    The paper marks models that are "not significantly better than random", but names no test (CAT, table 4). Here, the
    test is :func:`above_zero`, on the differences between the scores of the model and of the best constant answer.

    Args:
        scores: Score per prediction, between 0 and 1: [examples].
        best: Score of the best constant answer on each example: [examples].
        clusters: Cluster per example: int [examples].
        key: Seed and purpose, which determine the random numbers.
    """
    differences = np.asarray(scores, dtype=np.float64) - np.asarray(best, dtype=np.float64)
    is_above = above_zero(np.bincount(numbered(clusters), differences), (*key, "majority")) < 0.05
    return () if is_above else (NOT_ABOVE_MAJORITY,)


def above_zero(differences: Sequence[float] | np.ndarray, key: Key) -> float:
    """Return the p value of a one-sided randomisation test of whether differences are above 0.

    Under the null hypothesis, each difference has either sign with the same probability. So the signs are drawn 10,000
    times, and the observed signs are added. The p value is the share of these 10,001 choices in which the sum of the
    differences is at least the observed sum.

    Args:
        differences: Sum of the differences within each cluster: float64 [clusters].
        key: Seed and purpose, which determine the random numbers.
    """
    # Rounding and a tolerance make equal sums ties, although floats are added in another order. The signs of equal
    # differences are drawn together, so that the cost does not grow with their number.
    size, count = np.unique(np.round(np.abs(differences), 9), return_counts=True)
    against = generator("signs", *key).binomial(count, 0.5, size=(CHOICES, len(count)))
    sums = (count - 2 * against) @ size
    return float((1 + (sums >= np.sum(differences) - 1e-6).sum()) / (1 + CHOICES))
