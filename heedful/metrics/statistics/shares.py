"""Shares, differences of shares and means, each with its 95 % interval over clusters of entries.

:mod:`heedful.metrics.statistics.intervals` describes the intervals.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from heedful.metrics.statistics.intervals import LEVEL, Entries, covariances, interval, paired_interval, share_of
from heedful.metrics.statistics.paired import RecordedRatio, recorded
from heedful.records import Measurement

Clusters = Sequence[str] | np.ndarray | None


def numbered(clusters: np.ndarray) -> np.ndarray:
    """Replace the names of clusters by integer ids, from 0 in ascending order of the names: int64 [entries]."""
    if clusters.dtype.kind in "iu" and (clusters[1:] >= clusters[:-1]).all():  # sorted already, as in rows
        return np.cumsum(np.diff(clusters, prepend=clusters[:1]) != 0)
    return np.unique(clusters, return_inverse=True)[1]


def ways_of(entries: int, *clusters: Clusters, lenders: np.ndarray | None = None) -> list[np.ndarray]:
    """Return the integer id of each entry's cluster, for each way of clustering: int [entries] each.

    Args:
        entries: Number of entries.
        *clusters: Cluster names per entry, for each way; None is skipped. If all are None, each entry is a cluster.
        lenders: As in :func:`share`, for pairs of the first of ``clusters`` and the cluster of the lender.
    """
    if lenders is not None:
        return np.split(numbered(np.concatenate([np.asarray(clusters[0]), lenders])), 2)
    ways = [numbered(np.asarray(names)) for names in clusters if names is not None]
    return ways or [np.arange(entries)]


def _columns(values: ArrayLike, counts: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Convert values and counts to float64 [entries]; counts are 1 by default."""
    column = np.asarray(values, dtype=np.float64)
    return column, np.ones_like(column) if counts is None else np.asarray(counts, dtype=np.float64)


def _cells(entries: int, cells: np.ndarray | None) -> np.ndarray:
    return np.zeros(entries, dtype=np.int64) if cells is None else numbered(cells)


def _mean(values: np.ndarray, counts: np.ndarray, cells: np.ndarray) -> float:
    """Return the mean over cells of the share (values / counts) of each cell; nan if a cell has no counts."""
    sums = np.bincount(cells, counts)
    return float((np.bincount(cells, values) / sums).mean()) if len(sums) and sums.all() else float("nan")


def share(
    hits: ArrayLike,
    clusters: Clusters = None,
    flags: tuple[str, ...] = (),
    reason: str = "no example was predicted",
    *,
    counts: ArrayLike | None = None,
    cells: np.ndarray | None = None,
    also: Clusters = None,
    lenders: np.ndarray | None = None,
    n: int | None = None,
    minus: ArrayLike | None = None,
) -> Measurement:
    """Compute a share of hits, or a mean of scores between 0 and 1, with its 95 % interval; or with ``minus``, the
    difference of two shares over the same entries.

    An entry is the data of one observation, such as a changed example. The share is the sum of the hits divided by the
    sum of the counts. Clusters are groups of entries that depend on each other, such as the examples of one article.
    They affect the interval, not the value.

    Args:
        hits: Number of hits or sum of scores per entry, between 0 and the count of the entry: [entries].
        clusters: Cluster per entry; None if each entry is a cluster.
        flags: Flags of the number.
        reason: Reason why the number is undefined, if the counts of a cell sum to 0.
        counts: Number of predictions that an entry sums up, 1 by default: [entries].
        cells: Group per entry, such as its label: int [entries]. If given, a share is computed for each group (cell),
            and the number is the unweighted mean of these shares.
        also: Cluster per entry in a second grouping, such as by word pair; ignored with ``lenders``.
        lenders: For swaps: per entry, the cluster of the lender, which is the example that the new part comes from.
            ``clusters`` must then hold the cluster of the example that gets the part, with the same ids: an example may
            get a part in one entry and lend its own in another.
        n: Number of examples; by default the number of entries.
        minus: Hits of the share that is subtracted: [entries].
    """
    column, weights = _columns(hits, counts)
    cell = _cells(len(column), cells)
    n = len(column) if n is None else n
    value = _mean(column, weights, cell)
    if np.isnan(value):
        return Measurement(None, n, flags=flags, reason=reason)
    ways = ways_of(len(column), clusters, also, lenders=lenders)
    entries = Entries(column, weights, cell, ways, lenders is not None)
    if minus is not None:
        less, _ = _columns(minus, None)
        bounds = paired_interval(entries, entries._replace(hits=less))
        return Measurement(value - _mean(less, weights, cell), n, ci95=bounds, flags=flags)
    distinct = len(np.unique(ways[0]))
    fewer = distinct if distinct < n else None
    names = tuple(np.asarray(way) for way in (clusters, also, lenders) if way is not None)
    measured = Measurement(value, n, ci95=interval(share_of(entries)), flags=flags, clusters=fewer)
    return recorded(measured, entries._replace(ways=names))


def exact_mean(values: np.ndarray, clusters: np.ndarray) -> Measurement:
    """Compute the mean of values that are known exactly, such as scores of a constant answer, without an interval.

    Args:
        values: float64 [entries].
        clusters: Cluster per entry: [entries].
    """
    measured = Measurement(float(values.mean()), len(values))
    return recorded(measured, Entries(values, np.ones_like(values), _cells(len(values), None), (clusters,)))


def mean(values: ArrayLike, clusters: Clusters = None, flags: tuple[str, ...] = ()) -> Measurement:
    """Compute the mean of unbounded numbers, with the interval of Student's t over clusters.

    The mean of a single cluster, or of equal numbers, has no interval.

    Args:
        values: At least one number: float64 [entries].
        clusters: As in :func:`share`, like ``flags``.
    """
    column, ones = _columns(values, None)
    return ratio(column, ones, Measurement(None, len(column), flags=flags), clusters)


def ratio(
    first: np.ndarray, second: np.ndarray, about: Measurement, clusters: Clusters, lenders: np.ndarray | None = None
) -> Measurement:
    """Compute the ratio of two means with its interval by the method of Fieller (1954, "Some problems in interval
    estimation") and Student's t over clusters, as in :func:`mean`.

    Args:
        first: The numbers in the first mean: float64 [entries].
        second: The numbers in the second mean: float64 [entries].
        about: The result if the interval of the second mean reaches 0, where the ratio is undefined.
        clusters: As in :func:`share`, like ``lenders``.
    """
    if not len(first) or second.mean() <= 0:
        return about
    ways, ones, cell = ways_of(len(first), clusters, lenders=lenders), np.ones(len(first)), _cells(len(first), None)
    over, under = (share_of(Entries(values, ones, cell, ways, lenders is not None)) for values in (first, second))
    var_over, var_under, cov = (covariances(p, q) for p, q in ((over, over), (under, under), (over, under)))
    top, bottom, square = first.mean(), second.mean(), stdtrit(max(1, over.fewest - 1), (1 + LEVEL) / 2) ** 2
    if ((scale := bottom**2 - square * var_under) <= 0).any():
        return about
    middle = top * bottom - square * cov
    spread = bottom**2 * var_over - 2 * top * bottom * cov + top**2 * var_under
    spread = spread - square * (var_over * var_under - cov**2)
    away = np.sqrt(square * np.maximum(spread, 0))
    low, high = float(((middle - away) / scale).min()), float(((middle + away) / scale).max())
    measured = replace(about, value=float(top / bottom), reason=None, ci95=(low, high) if low < high else None)
    influence = (first - top / bottom * second) / second.sum()
    names = tuple(np.asarray(way) for way in (clusters, lenders) if way is not None)
    return recorded(measured, Entries(influence, ones, cell, names, lenders is not None), RecordedRatio)
