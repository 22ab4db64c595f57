"""Tests of an accuracy against the majority baseline (the accuracy of the best single answer)."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import binomtest

from heedful.metrics.statistics.intervals import interval, shares
from heedful.metrics.statistics.shares import numbered
from heedful.records import generator

NOT_ABOVE_MAJORITY = "not_above_majority"
CHOICES = 10_000  # random choices of signs
Key = tuple[str | int, ...]


def above_majority(correct: int, n: int, majority_share: float) -> float:
    """p value of the one-sided exact binomial test that accuracy is above the majority share of the evaluated split.

    The paper marks models that are "not significantly better than random" without naming a test (CAT, table 4): this
    rule is Heedful's own.
    """
    return float(binomtest(correct, n, majority_share, alternative="greater").pvalue)


def majority_flag(scores: np.ndarray, best: np.ndarray, clusters: np.ndarray, key: Key) -> tuple[str, ...]:
    """The flag of an accuracy that is not above the majority baseline (p < 0.05), or no flag.

    If answers are right or wrong, the majority share is treated as known. The test is
    :func:`above_majority` if each example is a cluster; else the one-sided 95 % interval over clusters must lie above
    that share, which is the same test with clusters. Soft scores are tested by :func:`above_zero`.

    Args:
        scores: Score per prediction, [examples], between 0 and 1.
        best: Score of the best single answer on each example, [examples].
        clusters: Cluster per example, int [examples].
        key: Keys the random numbers.
    """
    scores = np.asarray(scores, dtype=np.float64)
    best = np.asarray(best, dtype=np.float64)
    if not len(scores):
        return (NOT_ABOVE_MAJORITY,)
    majority = float(best.mean())
    if not (np.isin(scores, (0, 1)).all() and np.isin(best, (0, 1)).all()):
        is_above = above_zero(np.bincount(numbered(clusters), scores - best), (*key, "majority")) < 0.05
    elif len(np.unique(clusters)) == len(clusters):
        is_above = above_majority(int(scores.sum()), len(scores), majority) < 0.05
    else:
        every = np.ones(len(scores))
        accuracy = shares(scores, every, np.zeros(len(scores), dtype=np.int64), [numbered(clusters)])
        is_above = interval(accuracy, 0.9)[0] > majority
    return () if is_above else (NOT_ABOVE_MAJORITY,)


def above_zero(differences: Sequence[float] | np.ndarray, key: Key) -> float:
    """p value of the one-sided randomisation test that differences are above 0.

    Under the null hypothesis each difference has either sign with the same chance. The p value is the share, among
    10,000 random choices of all signs and the observed one, with at least the observed sum. Equal differences are
    counted together, so that the cost does not grow with their number.

    Args:
        differences: float64 [clusters], the sum of the differences within each.
        key: Keys the random numbers.
    """
    # rounded, with a tolerance: sums of the same numbers in another order are ties, which increase the p value
    size, count = np.unique(np.round(np.abs(differences), 9), return_counts=True)
    against = generator("signs", *key).binomial(count, 0.5, size=(CHOICES, len(count)))
    sums = (count - 2 * against) @ size
    return float((1 + (sums >= np.sum(differences) - 1e-6).sum()) / (1 + CHOICES))
