"""Tests of an accuracy against that of the best single answer."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import binomtest

from metrics.statistics.bootstrap import RESAMPLES, Key
from records import generator

NOT_ABOVE_MAJORITY = "not_above_majority"


def above_majority(correct: int, n: int, majority_share: float) -> float:
    """p value of the one-sided exact binomial test that accuracy is above the majority share of the evaluated split.

    The paper marks models that are "not significantly better than random" without naming a test (CAT, table 4): this
    rule is Heed's own.
    """
    return float(binomtest(correct, n, majority_share, alternative="greater").pvalue)


def majority_flag(correct: int, n: int, majority_share: float) -> tuple[str, ...]:
    """The flag of an accuracy that is not above the majority share (:func:`above_majority`, p < 0.05), or nothing."""
    return () if n and above_majority(correct, n, majority_share) < 0.05 else (NOT_ABOVE_MAJORITY,)


def above_zero(differences: Sequence[float] | np.ndarray, key: Key) -> float:
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
