"""Shares, differences of shares and means, each with its 95 % interval over clusters of entries that share their error.

:mod:`heedful.metrics.statistics.intervals` says which intervals these are.
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
    """The number of each entry's cluster, from 0 in ascending order: int64 [entries]."""
    if clusters.dtype.kind in "iu" and (clusters[1:] >= clusters[:-1]).all():  # as in rows: nothing to sort
        return np.cumsum(np.diff(clusters, prepend=clusters[:1]) != 0)
    return np.unique(clusters, return_inverse=True)[1]


def ways_of(entries: int, *clusters: Clusters) -> list[np.ndarray]:
    """The number of each entry's cluster for each way of clustering that is given; without any, each is its own."""
    given = [numbered(np.asarray(names)) for names in clusters if names is not None]
    return given or [np.arange(entries)]


def pairs_of(clusters: np.ndarray, lenders: np.ndarray) -> list[np.ndarray]:
    """The numbers of the clusters of examples and of their lenders, a name having one number in both."""
    return np.split(numbered(np.concatenate([clusters, lenders])), 2)


def _columns(values: ArrayLike, of: ArrayLike | None) -> tuple[np.ndarray, np.ndarray]:
    """Values and for how many each counts: two float64 [entries]."""
    worth = np.asarray(values, dtype=np.float64)
    return worth, np.ones_like(worth) if of is None else np.asarray(of, dtype=np.float64)


def _cells(entries: int, cells: np.ndarray | None) -> np.ndarray:
    return np.zeros(entries, dtype=np.int64) if cells is None else numbered(cells)


def _mean(values: np.ndarray, of: np.ndarray, cells: np.ndarray) -> float:
    """The mean over cells of sums of values by how many they count for; nan without any."""
    counts = np.bincount(cells, of)
    return float((np.bincount(cells, values) / counts).mean()) if len(counts) and counts.all() else float("nan")


def share(
    hits: ArrayLike,
    clusters: Clusters = None,
    flags: tuple[str, ...] = (),
    reason: str = "no example was predicted",
    *,
    of: ArrayLike | None = None,
    cells: np.ndarray | None = None,
    also: Clusters = None,
    lenders: np.ndarray | None = None,
    n: int | None = None,
) -> Measurement:
    """The share of hits, or the mean of what entries are worth.

    Args:
        hits: [entries], between 0 and ``of``.
        clusters: The cluster of each entry; None where each is its own.
        flags: What a reader must know.
        reason: Why there is none, where there are no entries.
        of: [entries], for how many each counts; by default for one.
        cells: int [entries]. Where there are several it is the unweighted mean of the share of each.
        also: The clusters of a second way in which entries share their error.
        lenders: The cluster of the example that lent a part to each entry, by the names of ``clusters``.
        n: How many examples it rests on; by default as many as entries.
    """
    worth, counts = _columns(hits, of)
    cell = _cells(len(worth), cells)
    n = len(worth) if n is None else n
    value = _mean(worth, counts, cell)
    if np.isnan(value):
        return Measurement(None, n, flags=flags, reason=reason)
    if lenders is None:
        ways = ways_of(len(worth), clusters, also)
    else:
        ways = pairs_of(np.asarray(clusters), lenders)
    entries = shares(worth, counts, cell, ways, lenders is not None)
    distinct = len(np.unique(ways[0]))
    fewer = distinct if distinct < n else None
    names = [np.asarray(names) for names in (clusters, also, lenders) if names is not None]
    measured = Measurement(value, n, ci95=interval(entries), flags=flags, clusters=fewer)
    return recorded(measured, worth, counts, *names, cells=cell, are_pairs=lenders is not None)


def sure(values: np.ndarray, clusters: np.ndarray) -> Measurement:
    """The mean of what is known of each entry, float64 [entries], one or more: it has no interval."""
    measured = Measurement(float(values.mean()), len(values))
    return recorded(measured, values, np.ones_like(values), clusters)


def difference(
    one: ArrayLike,
    other: ArrayLike,
    clusters: Clusters = None,
    flags: tuple[str, ...] = (),
    reason: str = "no example was predicted",
    *,
    of: ArrayLike | None = None,
    other_of: ArrayLike | None = None,
    cells: np.ndarray | None = None,
    also: Clusters = None,
    n: int | None = None,
) -> Measurement:
    """One share less another, over the same clusters.

    Args:
        one: [entries], hits of the first share, or what entries are worth, between 0 and ``of``.
        other: [entries], those of the other.
        clusters: As of :func:`share`; and so are flags, reason, cells, also and n.
        of: [entries], for how many each entry counts in the first; by default for one.
        other_of: [entries], the same in the other; by default ``of``.
    """
    first, counts = _columns(one, of)
    second, others = _columns(other, counts if other_of is None else other_of)
    cell = _cells(len(first), cells)
    n = len(first) if n is None else n
    value = _mean(first, counts, cell) - _mean(second, others, cell)
    if np.isnan(value):
        return Measurement(None, n, flags=flags, reason=reason)
    bounds = between((first, counts), (second, others), cell, ways_of(len(first), clusters, also))
    return Measurement(value, n, ci95=bounds, flags=flags)


def mean(values: ArrayLike, clusters: Clusters = None, flags: tuple[str, ...] = ()) -> Measurement:
    """The mean of numbers without bounds, with the interval of Student's t over clusters.

    There is none of fewer than two clusters, or where all numbers are the same: nothing says how far others may be.

    Args:
        values: float64 [entries], one or more.
        clusters: As of :func:`share`; and so are the flags.
    """
    worth, counts = _columns(values, None)
    value = float(worth.mean())
    (at,) = ways_of(len(worth), clusters)
    influence = np.bincount(at, worth - value) / len(worth)
    few = len(influence) - 1
    if not few or (worth == worth[0]).all():
        return Measurement(value, len(worth), flags=flags)
    error = np.sqrt((influence**2).sum() * (few + 1) / few)
    away = float(stdtrit(few, (1 + LEVEL) / 2) * error)
    return Measurement(value, len(worth), ci95=(value - away, value + away), flags=flags)
