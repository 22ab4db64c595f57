"""Difference of a number between two runs on the same examples, with its paired 95 % interval.

A paired interval needs the entries (hits and counts) of both shares, or the influences of entries on both ratios.
Within :func:`recording`, shares and ratios keep their entries. Entries store their clusters by name, since names are
the same in both runs.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from heedful.metrics.statistics.intervals import (
    LEVEL,
    Bounds,
    Entries,
    covariances,
    paired_interval,
    share_of,
    turns,
)
from heedful.records import Measurement

_is_recording: ContextVar[bool] = ContextVar("is_recording", default=False)


@dataclass(frozen=True, kw_only=True)
class RecordedShare(Measurement):
    """A share that keeps its entries (hits and counts, such as one per example), for paired intervals."""

    entries: Entries


@dataclass(frozen=True, kw_only=True)
class RecordedRatio(Measurement):
    """A ratio of two means whose ``entries`` have influences on the ratio as hits, with sum 0."""

    entries: Entries


@contextmanager
def recording() -> Iterator[None]:
    """Context manager within which numbers keep their entries, so that :func:`change` can compute paired intervals.

    Within the context manager, :func:`.shares.share` returns a :class:`RecordedShare` and :func:`.shares.ratio` a
    :class:`RecordedRatio`, provided that the argument ``clusters`` is given. The entries are the hits, count and
    cluster of each observation, such as an example. Clusters are groups of dependent observations.
    """
    token = _is_recording.set(True)
    try:
        yield
    finally:
        _is_recording.reset(token)


def recorded(
    measured: Measurement, entries: Entries, kind: type[RecordedShare] | type[RecordedRatio] = RecordedShare
) -> Measurement:
    """Attach the entries of a share or ratio to its measurement inside :func:`recording`; otherwise return the
    measurement unchanged.
    """
    if not _is_recording.get() or not entries.ways:
        return measured
    return kind(**{**vars(measured), "entries": entries})


def number_ways(entries: Entries) -> Entries:
    """Return a copy of the entries with integer ids for clusters instead of names, in ascending order of the names."""
    if entries.are_pairs:
        ways = np.split(np.unique(np.concatenate(entries.ways), return_inverse=True)[1], 2)
    else:
        ways = [np.unique(way, return_inverse=True)[1] for way in entries.ways]
    return entries._replace(ways=ways)


def change(first: Measurement, second: Measurement) -> Measurement | None:
    """Measure the change of a number from one run to another, second minus first, with its paired interval.

    Args:
        first: A number of a run, computed within :func:`recording`.
        second: The same number of another run on the same examples.

    Returns:
        The change; None if a number is undefined or was not recorded, or if the shares have different cells (labels).
        The change of a ratio that changes equally in all clusters has no interval.
    """
    if first.value is None or second.value is None:
        return None
    value = second.value - first.value
    bounds: Bounds | None
    if isinstance(first, RecordedRatio) and isinstance(second, RecordedRatio):
        bounds = _interval_of_ratios(value, second.entries, first.entries)
    elif isinstance(first, RecordedShare) and isinstance(second, RecordedShare):
        if not np.array_equal(np.unique(first.entries.cells), np.unique(second.entries.cells)):
            return None
        bounds = paired_interval(*aligned(second.entries, first.entries))
    else:
        return None
    clusters = [m.clusters for m in (first, second) if m.clusters is not None]
    n = min(first.n, second.n)
    return Measurement(value, n, ci95=bounds, clusters=min(clusters, default=None), unit=first.unit)


def _interval_of_ratios(value: float, first: Entries, second: Entries) -> Bounds | None:
    """Return the interval of the first ratio minus the second (delta method, Student's t); None if it has no width."""
    # A cluster's influence on the difference is the sum of its influences on both ratios, the second with a minus sign,
    # so that entries need no common order, and an entry that one ratio lacks has no influence on this ratio
    entries = number_ways(joined([first, second._replace(hits=-second.hits)]))
    share = share_of(entries._replace(counts=np.full(len(entries.hits), 1 / len(entries.hits))))
    away = float(stdtrit(max(1, share.fewest - 1), (1 + LEVEL) / 2) * np.sqrt(covariances(share, share).max()))
    return (value - away, value + away) if away > 0 else None


def joined(several: Sequence[Entries]) -> Entries:
    """Concatenate several :class:`.Entries` to one."""
    hits, counts, cells = (np.concatenate([getattr(e, name) for e in several]) for name in Entries._fields[:3])
    ways = tuple(np.concatenate(names) for names in zip(*(e.ways for e in several), strict=True))
    return Entries(hits, counts, cells, ways, several[0].are_pairs)


def aligned(first: Entries, second: Entries) -> tuple[Entries, Entries]:
    """Put the :class:`.Entries` of two shares into a common order, in which entry i has one cell and one cluster.

    Returns:
        The entries of the first and of the second share. If the given order or counts differ, the k-th entry with a
        cell and clusters in one share belongs to the k-th such entry in the other share. If a share lacks an entry of
        the other share, an entry with hits 0 and count 0 is added.
    """
    n = len(first.counts)
    entries = number_ways(joined([first, second]))
    rows = [*entries.ways, np.unique(entries.cells, return_inverse=True)[1]]
    places = np.stack([*rows, turns(*rows, np.arange(len(entries.counts)) < n)])
    columns = [(first.hits, first.counts), (second.hits, second.counts)]
    if np.array_equal(places[:, :n], places[:, n:]) and np.array_equal(first.counts, second.counts):
        at = places[:, :n]
    else:
        at, row = np.unique(places, axis=1, return_inverse=True)
        places_of = np.split(row.ravel(), [n])
        columns = [
            (np.bincount(place, hits, at.shape[1]), np.bincount(place, counts, at.shape[1]))
            for place, (hits, counts) in zip(places_of, columns, strict=True)
        ]
    *ways, cells, _ = at
    after, before = (Entries(hits, counts, cells, ways, first.are_pairs) for hits, counts in columns)
    return after, before
