"""Numbers with 95 % intervals that resample clusters: all that shares its error comes and goes together."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from heedful.records import Measurement, generator

RESAMPLES = 10_000
BLOCK = 2**20  # numbers that are held at a time
NO_WIDTH, LEFT_OUT = "interval_without_width", "resamples_left_out"
Key = tuple[str | int, ...]
Formula = Callable[[np.ndarray], np.ndarray]


def ratio(sums: np.ndarray) -> np.ndarray:
    """The first column by the second; nan where that is 0."""
    return np.divide(sums[..., 0], sums[..., 1], out=np.full(sums.shape[:-1], np.nan), where=sums[..., 1] != 0)


def difference(sums: np.ndarray) -> np.ndarray:
    """The ratio of the first two columns less that of the next two."""
    return ratio(sums[..., :2]) - ratio(sums[..., 2:])


def sums_of(columns: Sequence[np.ndarray], clusters: Sequence[str] | np.ndarray | None = None) -> np.ndarray:
    """Sums of columns over the entries of each cluster: float64 [clusters, columns].

    Args:
        columns: Each float64 [entries].
        clusters: The cluster of each entry; None where each is its own.
    """
    if clusters is None:
        return np.stack(columns, axis=1)
    at = numbered(np.asarray(clusters))
    return np.stack([np.bincount(at, column) for column in columns], axis=1)


def numbered(clusters: np.ndarray) -> np.ndarray:
    """The number of each entry's cluster, from 0 in ascending order: int64 [entries]."""
    if clusters.dtype.kind in "iu" and (clusters[1:] >= clusters[:-1]).all():  # as in rows: nothing to sort
        return np.cumsum(np.diff(clusters, prepend=clusters[:1]) != 0)
    return np.unique(clusters, return_inverse=True)[1]


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
    kinds, frequency = distinct(sums)
    rng = generator("bootstrap", *key)
    step = max(1, BLOCK // len(kinds))
    sizes = [min(step, resamples - start) for start in range(0, resamples, step)]
    return np.concatenate([rng.multinomial(len(sums), frequency / len(sums), size=n) @ kinds for n in sizes])


def distinct(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of sums [clusters, columns] in ascending order, and how often each comes."""
    counts = sums.astype(np.int64)
    shape = counts.max(axis=0, initial=0) + 1
    if (counts != sums).any() or counts.min(initial=0) < 0 or np.prod(shape, dtype=np.float64) > BLOCK:
        return np.unique(sums, axis=0, return_counts=True)
    frequency = np.bincount(np.ravel_multi_index(tuple(counts.T), tuple(shape)))  # small counts need no sorting
    present = np.flatnonzero(frequency)
    return np.stack(np.unravel_index(present, shape), axis=1).astype(np.float64), frequency[present]


def interval(resampled: np.ndarray) -> tuple[float, float]:
    """The 2.5 % and the 97.5 % quantile of the resamples that are not nan."""
    low, high = np.quantile(resampled[~np.isnan(resampled)], [0.025, 0.975])
    return float(low), float(high)


def left_out(resampled: np.ndarray) -> tuple[str, ...]:
    """The flag of a number that is undefined in more than 2.5 % of its resamples, or nothing."""
    return (LEFT_OUT,) if np.isnan(resampled).mean() > 0.025 else ()


def measured(value: float, n: int, resampled: np.ndarray, flags: tuple[str, ...] = ()) -> Measurement:
    """A number with the interval of its resamples.

    Further flags say where many resamples are left out, and where the interval has no width, and thus says nothing.

    Args:
        value: The number.
        n: How many examples it rests on.
        resampled: float64 [resamples]; nan where it is undefined. If all are, there is no interval.
        flags: What else a reader must know.
    """
    flags += left_out(resampled)
    if np.isnan(resampled).all():
        return Measurement(value, n, flags=flags)
    low, high = interval(resampled)
    return Measurement(value, n, ci95=(low, high), flags=flags if low < high else (*flags, NO_WIDTH))


def estimate(
    columns: Sequence[ArrayLike],
    clusters: Sequence[str] | np.ndarray | None,
    key: Key,
    n: int,
    reason: str,
    formula: Formula = ratio,
    flags: tuple[str, ...] = (),
) -> Measurement:
    """A number made of sums, with an interval that resamples clusters.

    Resamples in which the number is undefined are left out of the interval; where they are more than 2.5 %, a flag says
    so.

    Args:
        columns: Each float64 [entries], what is summed.
        clusters: The cluster of each entry; None where each is its own.
        key: What the interval is for; keys the random numbers.
        n: How many examples the number rests on.
        reason: Why the number is undefined, if it is.
        formula: From sums [..., columns] to the number [...]; nan where it is undefined.
        flags: What else a reader must know.
    """
    numbers = [np.asarray(column, dtype=np.float64) for column in columns]
    value = float(formula(np.stack(numbers, axis=1).sum(axis=0)))
    if np.isnan(value):
        return Measurement(None, n, flags=flags, reason=reason)
    resampled = formula(resample(sums_of(numbers, clusters), key))
    return measured(value, n, resampled, flags)


def share(
    hits: np.ndarray,
    key: Key,
    clusters: Sequence[str] | np.ndarray | None = None,
    flags: tuple[str, ...] = (),
    reason: str = "no example was predicted",
) -> Measurement:
    """The mean of what is hit, or of what it is worth, with an interval that resamples clusters.

    Args:
        hits: [entries].
        key: What the interval is for; keys the random numbers.
        clusters: The cluster of each entry; None where each is its own.
        flags: What a reader must know.
        reason: Why there is none, where there are no entries.
    """
    if not len(hits):
        return Measurement(None, 0, flags=flags, reason=reason)
    hits = np.asarray(hits, dtype=np.float64)
    resampled = ratio(resample(sums_of((hits, np.ones_like(hits)), clusters), key))
    return measured(float(hits.mean()), len(hits), resampled, flags)
