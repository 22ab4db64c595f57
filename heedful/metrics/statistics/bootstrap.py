"""The percentile bootstrap over clusters, for rankings of models, which have no closed-form interval."""

import numpy as np

from heedful.records import Measurement, generator

RESAMPLES = 10_000
BLOCK = 2**20  # numbers in memory at a time
LEFT_OUT = "resamples_left_out"
FEW_CLUSTERS = "few_clusters"
FEW = 30  # clusters
Key = tuple[str | int, ...]


def resample(sums: np.ndarray, key: Key, resamples: int = RESAMPLES) -> np.ndarray:
    """Column sums over a bootstrap sample of clusters.

    Clusters with equal sums are interchangeable, so a resample is one multinomial draw over distinct sums: the same
    distribution as drawing clusters one by one, at a cost that does not grow with their number.

    Args:
        sums: float64 [clusters, columns].
        key: Keys the random numbers.
        resamples: Number of resamples.

    Returns:
        float64 [resamples, columns].
    """
    kinds, frequency = np.unique(sums, axis=0, return_counts=True)
    rng = generator("bootstrap", *key)
    step = max(1, BLOCK // len(kinds))
    sizes = [min(step, resamples - start) for start in range(0, resamples, step)]
    return np.concatenate([rng.multinomial(len(sums), frequency / len(sums), size=n) @ kinds for n in sizes])


def interval(resampled: np.ndarray) -> tuple[float, float]:
    """The 2.5 % and the 97.5 % quantile of the resamples that are not nan."""
    low, high = np.quantile(resampled[~np.isnan(resampled)], [0.025, 0.975])
    return float(low), float(high)


def few_of(clusters: np.ndarray) -> tuple[str, ...]:
    """The flag of an interval that is too narrow, since it has fewer than 30 clusters; or no flag.

    Args:
        clusters: Cluster per entry, int [entries].
    """
    number = len(np.unique(clusters))
    return (FEW_CLUSTERS,) if number < min(FEW, len(clusters)) else ()


def measured(value: float, n: int, resampled: np.ndarray, flags: tuple[str, ...] = ()) -> Measurement:
    """A number with the interval of its resamples, flagged if more than 2.5 % of these are undefined.

    Args:
        value: The number.
        n: Number of examples.
        resampled: float64 [resamples]; nan for an undefined resample. If all are undefined, there is no interval.
        flags: Other flags.
    """
    undefined = np.isnan(resampled)
    flags += (LEFT_OUT,) if undefined.mean() > 0.025 else ()
    return Measurement(value, n, ci95=None if undefined.all() else interval(resampled), flags=flags)
