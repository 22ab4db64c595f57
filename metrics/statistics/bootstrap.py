"""Intervals by resampling clusters, and the test of an accuracy against the majority share."""

import numpy as np
from scipy.stats import binomtest

from records import generator

RESAMPLES = 10_000
NO_WIDTH, NOT_ABOVE_MAJORITY = "interval_without_width", "not_above_majority"


def bootstrap_interval(
    totals: np.ndarray, counts: np.ndarray, key: tuple[str | int, ...], resamples: int = RESAMPLES
) -> tuple[float, float]:
    """95 % percentile interval of sum(totals) / sum(counts), resampling clusters.

    Clusters with equal (total, count) are interchangeable, so a resample is one multinomial draw over the distinct
    pairs: the same distribution as drawing clusters one by one, at a cost that does not grow with their number.

    Args:
        totals: float64 [clusters], the sum of what is averaged within each cluster.
        counts: float64 [clusters], how many terms each cluster has.
        key: What the interval is for; keys the random numbers.
        resamples: Number of bootstrap samples.

    Returns:
        The 2.5 % and the 97.5 % quantile.
    """
    kinds, frequency = np.unique(np.stack([totals, counts], axis=1), axis=0, return_counts=True)
    clusters = int(frequency.sum())
    drawn = generator("bootstrap", *key).multinomial(clusters, frequency / clusters, size=resamples)
    low, high = np.quantile((drawn @ kinds[:, 0]) / (drawn @ kinds[:, 1]), [0.025, 0.975])
    return float(low), float(high)


def flagged(interval: tuple[float, float], flags: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The flags of a number, with one more if its interval has no width and thus says nothing."""
    return flags if interval[0] < interval[1] else (*flags, NO_WIDTH)


def above_majority(correct: int, n: int, majority_share: float) -> float:
    """p value of the one-sided exact binomial test that accuracy is above the majority share of the evaluated split.

    The paper marks models that are "not significantly better than random" without naming a test (CAT, table 4): this
    rule is Heed's own.
    """
    return float(binomtest(correct, n, majority_share, alternative="greater").pvalue)


def majority_flag(correct: int, n: int, majority_share: float) -> tuple[str, ...]:
    """The flag of an accuracy that is not above the majority share (:func:`above_majority`, p < 0.05), or nothing."""
    return () if n and above_majority(correct, n, majority_share) < 0.05 else (NOT_ABOVE_MAJORITY,)
