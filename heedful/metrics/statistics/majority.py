"""Tests of an accuracy against the majority baseline (the accuracy of the best constant answer)."""

from collections.abc import Sequence

import numpy as np
from scipy.special import betainc

from heedful.metrics.statistics.bootstrap import Key
from heedful.metrics.statistics.intervals import Entries, interval, share_of
from heedful.metrics.statistics.shares import numbered
from heedful.records import generator

NOT_ABOVE_MAJORITY = "not_above_majority"
CHOICES = 10_000  # random choices of signs


def majority_flag(scores: np.ndarray, best: np.ndarray, clusters: np.ndarray, key: Key) -> tuple[str, ...]:
    """Return a flag if an accuracy is not above the accuracy of the best constant answer (p < 0.05); else no flag.

    The paper marks models that are "not significantly better than random", but names no test (CAT, table 4). There are
    three tests:

    - all scores are 0 or 1, and each example is a cluster: the exact binomial test;
    - all scores are 0 or 1, and some clusters are larger: the lower end of the one-sided 95 % interval over clusters
      must lie above the accuracy of the best constant answer;
    - some scores lie between 0 and 1: the randomisation test of :func:`above_zero`.

    The first two tests treat the accuracy of the best constant answer as known.

    Args:
        scores: Score per prediction, between 0 and 1: [examples].
        best: Score of the best constant answer on each example: [examples].
        clusters: Cluster per example: int [examples].
        key: Seed and purpose, which determine the random numbers.
    """
    scores = np.asarray(scores, dtype=np.float64)
    best = np.asarray(best, dtype=np.float64)
    if not len(scores):
        return (NOT_ABOVE_MAJORITY,)
    majority = float(best.mean())
    if not (np.isin(scores, (0, 1)).all() and np.isin(best, (0, 1)).all()):
        is_above = above_zero(np.bincount(numbered(clusters), scores - best), (*key, "majority")) < 0.05
    elif len(np.unique(clusters)) == len(clusters):
        is_above = binomial_p(int(scores.sum()), len(scores), majority) < 0.05
    else:
        every = np.ones(len(scores))
        entries = Entries(scores, every, np.zeros(len(scores), dtype=np.int64), [numbered(clusters)])
        is_above = interval(share_of(entries), 0.9)[0] > majority
    return () if is_above else (NOT_ABOVE_MAJORITY,)


def binomial_p(hits: int, n: int, share: float) -> float:
    """Return the p value of the exact one-sided binomial test: the probability of at least ``hits`` hits among ``n``.

    The value equals ``scipy.stats.binomtest(hits, n, share, alternative="greater").pvalue``, without the import of
    scipy.stats, which takes longer than the measurement of a function.

    Args:
        hits: Number of hits.
        n: Number of trials.
        share: Probability of a hit under the null hypothesis.

    Example:
        >>> binomial_p(2, 2, 0.5)
        0.25
    """
    # not bdtrc, which is less exact: 2e-11 of the value for 10,000 trials
    return float(betainc(hits, n - hits + 1, share)) if hits else 1.0


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
