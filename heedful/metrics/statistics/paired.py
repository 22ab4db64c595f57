"""Difference of a number between two runs on the same examples, with its paired 95 % interval.

A paired interval needs the entries (hits and counts) of both shares. Within :func:`recording`, shares keep their
entries. Entries store their clusters by name, since names are the same in both runs.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import numpy as np

from heedful.metrics.statistics.intervals import Entries, paired_interval, turns
from heedful.records import Measurement

_is_recording: ContextVar[bool] = ContextVar("is_recording", default=False)


@dataclass(frozen=True, kw_only=True)
class RecordedShare(Measurement):
    """A share that keeps its entries (hits and counts, such as one per example), for paired intervals."""

    entries: Entries


@contextmanager
def recording() -> Iterator[None]:
    """Context manager within which shares keep their entries, so that :func:`change` can compute paired intervals.

    Within the context manager, :func:`.shares.share` returns a :class:`RecordedShare`, provided that its argument
    ``clusters`` is given. The entries are the hits, count and cluster of each observation, such as an example. Clusters
    are groups of dependent observations.
    """
    token = _is_recording.set(True)
    try:
        yield
    finally:
        _is_recording.reset(token)


def recorded(measured: Measurement, entries: Entries) -> Measurement:
    """Attach the entries of a share to its measurement inside :func:`recording`; otherwise return the measurement
    unchanged.
    """
    if not _is_recording.get() or not entries.ways:
        return measured
    return RecordedShare(**{**vars(measured), "entries": entries})


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
    """
    if not (isinstance(first, RecordedShare) and isinstance(second, RecordedShare)):
        return None
    if first.value is None or second.value is None:
        return None
    if not np.array_equal(np.unique(first.entries.cells), np.unique(second.entries.cells)):
        return None
    bounds = paired_interval(*aligned(second.entries, first.entries))
    clusters = [m.clusters for m in (first, second) if m.clusters is not None]
    n = min(first.n, second.n)
    return Measurement(second.value - first.value, n, ci95=bounds, clusters=min(clusters, default=None))


def joined(several: Sequence[Entries]) -> Entries:
    """Concatenate several :class:`.Entries` to one.

    Entries are the data of a share of hits: hits, count, cell and clusters per observation, such as an example.
    """
    hits, counts, cells = (np.concatenate([getattr(e, name) for e in several]) for name in Entries._fields[:3])
    ways = tuple(np.concatenate(names) for names in zip(*(e.ways for e in several), strict=True))
    return Entries(hits, counts, cells, ways, several[0].are_pairs)


def aligned(first: Entries, second: Entries) -> tuple[Entries, Entries]:
    """Put the entries of two shares into a common order: entry i of both shares then has the same cell and clusters.

    An entry is the data of one observation, such as an example: hits, count, cell and clusters. A cell is a group with
    a share of its own, such as a label. A cluster is a group of dependent entries.

    Returns:
        The entries of the first and of the second share. If the given order or counts differ, the k-th entry with a
        cell and clusters in one share belongs to the k-th such entry in the other share. If a share lacks an entry of
        the other share, an entry with hits 0 and count 0 is added.
    """
    n = len(first.counts)
    both = number_ways(joined([first, second]))
    rows = [*both.ways, np.unique(both.cells, return_inverse=True)[1]]
    places = np.stack([*rows, turns(*rows, np.arange(len(both.counts)) < n)])
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
