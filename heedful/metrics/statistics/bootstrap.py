"""Percentile bootstrap over clusters, for intervals of rankings of models, which have no closed form."""

import numpy as np

from heedful.records import Measurement, generator

RESAMPLES = 10_000
BLOCK = 2**20  # numbers in memory at a time
LEFT_OUT = "resamples_left_out"  # flag
FEW_CLUSTERS, FEW = "few_clusters", 30  # flag of an interval with fewer clusters
Key = tuple[str | int, ...]  # seed and purpose of random numbers


def resample(sums: np.ndarray, key: Key, resamples: int = RESAMPLES) -> np.ndarray:
    """Return the sum of each column over each bootstrap sample of clusters.

    A sample draws as many clusters as there are, with replacement.

    Args:
        sums: Sum of each column within each cluster: float64 [clusters, columns].
        key: Seed and purpose, which determine the random numbers.
        resamples: Number of samples.

    Returns:
        The sums: float64 [resamples, columns].
    """
    # Clusters with equal sums are interchangeable, so a sample is one multinomial draw over the distinct sums. The cost
    # of a draw does not grow with the number of clusters.
    kinds, frequency = np.unique(sums, axis=0, return_counts=True)
    rng = generator("bootstrap", *key)
    step = max(1, BLOCK // len(kinds))
    sizes = [min(step, resamples - start) for start in range(0, resamples, step)]
    return np.concatenate([rng.multinomial(len(sums), frequency / len(sums), size=n) @ kinds for n in sizes])


def interval(resampled: np.ndarray) -> tuple[float, float]:
    """Return the 2.5 % and the 97.5 % quantile of the resampled numbers that are not nan."""
    low, high = np.quantile(resampled[~np.isnan(resampled)], [0.025, 0.975])
    return float(low), float(high)


def few_clusters_flag(clusters: np.ndarray) -> tuple[str, ...]:
    """Return a flag that an interval may be too narrow, if there are fewer than 30 clusters; else no flag.

    If each example is its own cluster, there is no flag.

    Args:
        clusters: Cluster per example: int [examples].
    """
    number = len(np.unique(clusters))
    return (FEW_CLUSTERS,) if number < min(FEW, len(clusters)) else ()


def measured(value: float, n: int, resampled: np.ndarray, flags: tuple[str, ...] = ()) -> Measurement:
    """Create a measurement from a number and its bootstrap resamples, flagged if more than 2.5 % of the resamples are
    undefined.

    Args:
        value: The number.
        n: Sample size: the number of examples, or of samples of examples.
        resampled: The number in each resample, nan if undefined: float64 [resamples]. If all are undefined, the number
            has no interval.
        flags: Other flags of the number.
    """
    undefined = np.isnan(resampled)
    flags += (LEFT_OUT,) if undefined.mean() > 0.025 else ()
    return Measurement(value, n, ci95=None if undefined.all() else interval(resampled), flags=flags)
