"""Shares, differences of shares and means, each with its 95 % interval over clusters of entries.

:mod:`heedful.metrics.statistics.intervals` describes the intervals.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from heedful.metrics.statistics.intervals import LEVEL, between, interval, shares
from heedful.metrics.statistics.paired import recorded
from heedful.records import Measurement

Clusters = Sequence[str] | np.ndarray | None


def numbered(clusters: np.ndarray) -> np.ndarray:
    """Number of the cluster per entry, from 0 in ascending order: int64 [entries]."""
    if clusters.dtype.kind in "iu" and (clusters[1:] >= clusters[:-1]).all():  # as in rows: nothing to sort
        return np.cumsum(np.diff(clusters, prepend=clusters[:1]) != 0)
    return np.unique(clusters, return_inverse=True)[1]


def ways_of(entries: int, *clusters: Clusters) -> list[np.ndarray]:
    """Number of the cluster per entry, for each way of clustering that is not None; by default each entry is a
    cluster."""
    ways = [numbered(np.asarray(names)) for names in clusters if names is not None]
    return ways or [np.arange(entries)]


def _columns(values: ArrayLike, counts: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Values and counts, which are 1 by default: two float64 [entries]."""
    column = np.asarray(values, dtype=np.float64)
    return column, np.ones_like(column) if counts is None else np.asarray(counts, dtype=np.float64)


def _cells(entries: int, cells: np.ndarray | None) -> np.ndarray:
    return np.zeros(entries, dtype=np.int64) if cells is None else numbered(cells)


def _mean(values: np.ndarray, counts: np.ndarray, cells: np.ndarray) -> float:
    """The mean over cells of sums of values divided by sums of counts; nan for an empty cell, or without cells."""
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
) -> Measurement:
    """The share of hits, or the mean of scores between 0 and 1.

    Args:
        hits: [entries], between 0 and ``counts``.
        clusters: Cluster per entry; None if each entry is a cluster.
        flags: Flags of the number.
        reason: Reason why the number is undefined, if it is.
        counts: [entries], weight per entry; by default 1.
        cells: int [entries]. With several, the number is the unweighted mean of their shares.
        also: Clusters of a second way of clustering.
        lenders: Cluster of the example that lent a part to each entry, with the same names as ``clusters``.
        n: Number of examples; by default the number of entries.
    """
    column, weights = _columns(hits, counts)
    cell = _cells(len(column), cells)
    n = len(column) if n is None else n
    value = _mean(column, weights, cell)
    if np.isnan(value):
        return Measurement(None, n, flags=flags, reason=reason)
    if lenders is None:
        ways = ways_of(len(column), clusters, also)
    else:
        ways = np.split(numbered(np.concatenate([np.asarray(clusters), lenders])), 2)
    bounds = interval(shares(column, weights, cell, ways, lenders is not None))
    distinct = len(np.unique(ways[0]))
    fewer = distinct if distinct < n else None
    names = [np.asarray(way) for way in (clusters, also, lenders) if way is not None]
    measured = Measurement(value, n, ci95=bounds, flags=flags, clusters=fewer)
    return recorded(measured, column, weights, *names, cells=cell, are_pairs=lenders is not None)


def sure(values: np.ndarray, clusters: np.ndarray) -> Measurement:
    """The mean of at least one value without sampling error, float64 [entries]; it has no interval."""
    measured = Measurement(float(values.mean()), len(values))
    return recorded(measured, values, np.ones_like(values), clusters)


def difference(
    first: ArrayLike,
    second: ArrayLike,
    clusters: Clusters = None,
    flags: tuple[str, ...] = (),
    reason: str = "no example was predicted",
    *,
    counts: ArrayLike | None = None,
    other_counts: ArrayLike | None = None,
    cells: np.ndarray | None = None,
    also: Clusters = None,
    n: int | None = None,
) -> Measurement:
    """The difference of two shares over the same clusters.

    Args:
        first: [entries], hits of the first share, or scores, between 0 and ``counts``.
        second: [entries], hits of the second share, between 0 and ``other_counts``.
        clusters: As in :func:`share`, like flags, reason, cells, also and n.
        counts: [entries], weight per entry in the first share; by default 1.
        other_counts: [entries], the same in the second share; by default ``counts``.
    """
    plus, weights = _columns(first, counts)
    minus, other_weights = _columns(second, weights if other_counts is None else other_counts)
    cell = _cells(len(plus), cells)
    n = len(plus) if n is None else n
    value = _mean(plus, weights, cell) - _mean(minus, other_weights, cell)
    if np.isnan(value):
        return Measurement(None, n, flags=flags, reason=reason)
    bounds = between((plus, weights), (minus, other_weights), cell, ways_of(len(plus), clusters, also))
    return Measurement(value, n, ci95=bounds, flags=flags)


def mean(values: ArrayLike, clusters: Clusters = None, flags: tuple[str, ...] = ()) -> Measurement:
    """The mean of unbounded numbers, with the interval of Student's t over clusters.

    A single cluster, or equal numbers, have no interval.

    Args:
        values: float64 [entries], at least one.
        clusters: As in :func:`share`, like the flags.
    """
    column, _ = _columns(values, None)
    value = float(column.mean())
    (at,) = ways_of(len(column), clusters)
    influence = np.bincount(at, column - value) / len(column)
    few = len(influence) - 1
    if not few or (column == column[0]).all():
        return Measurement(value, len(column), flags=flags)
    error = np.sqrt((influence**2).sum() * (few + 1) / few)
    away = float(stdtrit(few, (1 + LEVEL) / 2) * error)
    return Measurement(value, len(column), ci95=(value - away, value + away), flags=flags)
