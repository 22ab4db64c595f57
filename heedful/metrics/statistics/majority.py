"""Tests of an accuracy against that of the best single answer."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import binomtest

from heedful.metrics.statistics.intervals import interval, shares
from heedful.metrics.statistics.shares import numbered
from heedful.records import generator

NOT_ABOVE_MAJORITY = "not_above_majority"
CHOICES = 10_000  # of signs
Key = tuple[str | int, ...]


def above_majority(correct: int, n: int, majority_share: float) -> float:
    """p value of the one-sided exact binomial test that accuracy is above the majority share of the evaluated split.

    The paper marks models that are "not significantly better than random" without naming a test (CAT, table 4): this
    rule is Heedful's own.
    """
    return float(binomtest(correct, n, majority_share, alternative="greater").pvalue)


def majority_flag(worth: np.ndarray, best: np.ndarray, clusters: np.ndarray, key: Key) -> tuple[str, ...]:
    """The flag of an accuracy that is not above that of the best single answer (p < 0.05), or nothing.

    Where answers are right or wrong, the share of the best single answer is taken as known: the test is that of
    :func:`above_majority` where each example is alone, and else whether the one-sided 95 % interval of the accuracy
    over clusters lies above it, which is the same test but for the clusters. Of soft answers it is that of
    :func:`above_zero`.

    Args:
        worth: What each prediction is worth, [examples]: 0 or 1, or something between.
        best: What the best single answer is worth there, [examples].
        clusters: The cluster of each example, int [examples].
        key: What the test is for; keys the random numbers.
    """
    worth = np.asarray(worth, dtype=np.float64)
    best = np.asarray(best, dtype=np.float64)
    if not len(worth):
        return (NOT_ABOVE_MAJORITY,)
    known = float(best.mean())
    if not (np.isin(worth, (0, 1)).all() and np.isin(best, (0, 1)).all()):
        is_above = above_zero(np.bincount(numbered(clusters), worth - best), (*key, "majority")) < 0.05
    elif len(np.unique(clusters)) == len(clusters):
        is_above = above_majority(int(worth.sum()), len(worth), known) < 0.05
    else:
        every = np.ones(len(worth))
        accuracy = shares(worth, every, np.zeros(len(worth), dtype=np.int64), [numbered(clusters)])
        is_above = interval(accuracy, 0.9)[0] > known
    return () if is_above else (NOT_ABOVE_MAJORITY,)


def above_zero(differences: Sequence[float] | np.ndarray, key: Key) -> float:
    """p value of the one-sided randomisation test that differences are not as often against as for the first of two.

    If it makes no difference which of the two is which, each difference has either sign with the same chance. The p
    value is the share, among 10,000 random choices of all signs and the one that was seen, with at least that sum.
    Equal differences are counted, so that the cost does not grow with their number.

    Args:
        differences: float64 [clusters], the sum of the differences within each.
        key: What the test is for; keys the random numbers.
    """
    # rounded, and with a tolerance below: sums of the same numbers in another order are ties, which count against it
    size, count = np.unique(np.round(np.abs(differences), 9), return_counts=True)
    against = generator("signs", *key).binomial(count, 0.5, size=(CHOICES, len(count)))
    sums = (count - 2 * against) @ size
    return float((1 + (sums >= np.sum(differences) - 1e-6).sum()) / (1 + CHOICES))
