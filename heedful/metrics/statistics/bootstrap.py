"""The percentile bootstrap over clusters, for what has no interval in closed form: rankings of models."""

import numpy as np

from heedful.records import Measurement, generator

RESAMPLES = 10_000
BLOCK = 2**20  # numbers that are held at a time
LEFT_OUT = "resamples_left_out"
FEW_CLUSTERS = "few_clusters"
FEW = 30  # clusters
Key = tuple[str | int, ...]


def resample(sums: np.ndarray, key: Key, resamples: int = RESAMPLES) -> np.ndarray:
    """Column sums over as many clusters as there are, drawn with replacement.

    Clusters with equal sums are interchangeable, so a resample is one multinomial draw over the distinct ones: the same
    distribution as drawing clusters one by one, at a cost that does not grow with their number.

    Args:
        sums: float64 [clusters, columns].
        key: What the resamples are for; keys the random numbers.
        resamples: How many.

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
    """The flag of an interval that resamples fewer than 30 clusters of several entries, and is too narrow; or nothing.

    Args:
        clusters: The cluster of each entry, int [entries].
    """
    number = len(np.unique(clusters))
    return (FEW_CLUSTERS,) if number < min(FEW, len(clusters)) else ()


def measured(value: float, n: int, resampled: np.ndarray, flags: tuple[str, ...] = ()) -> Measurement:
    """A number with the interval of its resamples; a flag says where more than 2.5 % of these are left out.

    Args:
        value: The number.
        n: How many examples it rests on.
        resampled: float64 [resamples]; nan where it is undefined. If all are, there is no interval.
        flags: What else a reader must know.
    """
    undefined = np.isnan(resampled)
    flags += (LEFT_OUT,) if undefined.mean() > 0.025 else ()
    return Measurement(value, n, ci95=None if undefined.all() else interval(resampled), flags=flags)
