"""Difference of a number between two runs on the same examples, with its paired 95 % interval.

A paired interval needs the entries of both numbers: the hits and counts that a share is computed from. Within
:func:`recording`, shares keep their entries.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from heedful.metrics.statistics.intervals import between
from heedful.records import Measurement

_is_recording: ContextVar[bool] = ContextVar("is_recording", default=False)


@dataclass(frozen=True)
class Entries:
    """The entries of a share, such as one per changed example.

    Attributes:
        hits: Hits of each entry, between 0 and ``counts``: float64 [entries].
        counts: Weight of each entry: float64 [entries].
        cells: Cell of each entry: int [entries]. The share is the unweighted mean of the shares of all cells.
        ways: For each way of clustering, the name of the cluster of each entry; names are the same in both runs.
        are_pairs: Whether there are two ways, the example and the lender of its new part, with common names.
    """

    hits: np.ndarray
    counts: np.ndarray
    cells: np.ndarray
    ways: tuple[np.ndarray, ...]
    are_pairs: bool = False

    @property
    def numbered_ways(self) -> list[np.ndarray]:
        """For each way of clustering, the number of the cluster of each entry, by the order of names: int [entries]."""
        if self.are_pairs:
            return np.split(np.unique(np.concatenate(self.ways), return_inverse=True)[1], 2)
        return [np.unique(way, return_inverse=True)[1] for way in self.ways]


@dataclass(frozen=True, kw_only=True)
class RecordedShare(Measurement):
    """A share that keeps its entries."""

    entries: Entries


@contextmanager
def recording() -> Iterator[None]:
    """Context manager in which shares keep their entries."""
    token = _is_recording.set(True)
    try:
        yield
    finally:
        _is_recording.reset(token)


def recorded(
    measured: Measurement,
    hits: np.ndarray,
    counts: np.ndarray,
    *ways: np.ndarray,
    cells: np.ndarray | None = None,
    are_pairs: bool = False,
) -> Measurement:
    """Add the entries to a share, within :func:`recording` and if there are names of clusters.

    Args:
        measured: The share.
        hits: As in :class:`Entries`, like ``counts``, ``ways`` and ``are_pairs``.
        cells: As in :class:`Entries`; by default, all entries are in one cell.
    """
    if not _is_recording.get() or not ways:
        return measured
    cell = np.zeros(len(hits), dtype=np.int64) if cells is None else cells
    return RecordedShare(**{**vars(measured), "entries": Entries(hits, counts, cell, ways, are_pairs)})


def change(first: Measurement, second: Measurement) -> Measurement | None:
    """The second number minus the first, with its paired interval.

    Args:
        first: A number of a run, computed within :func:`recording`.
        second: The same number of another run on the same examples.

    Returns:
        None if a number is undefined or not a share, or if the cells differ.
    """
    if not (isinstance(first, RecordedShare) and isinstance(second, RecordedShare)):
        return None
    if first.value is None or second.value is None:
        return None
    if not np.array_equal(np.unique(first.entries.cells), np.unique(second.entries.cells)):
        return None
    after, before, cells, ways = aligned(second.entries, first.entries)
    bounds = between(after, before, cells, ways, are_pairs=first.entries.are_pairs)
    clusters = [m.clusters for m in (first, second) if m.clusters is not None]
    n = min(first.n, second.n)
    return Measurement(second.value - first.value, n, ci95=bounds, clusters=min(clusters, default=None))


def aligned(first: Entries, second: Entries) -> tuple[Any, ...]:
    """Align the entries of two shares by cluster and cell, as arguments of :func:`~.intervals.between`."""
    n = len(first.counts)
    columns = ("hits", "counts", "cells")
    hits, counts, cells = (np.concatenate([getattr(first, name), getattr(second, name)]) for name in columns)
    names = tuple(np.concatenate(way) for way in zip(first.ways, second.ways, strict=True))
    ways = Entries(hits, counts, cells, names, first.are_pairs).numbered_ways
    cells = np.unique(cells, return_inverse=True)[1]
    places = np.stack([*ways, cells])
    if np.array_equal(places[:, :n], places[:, n:]) and np.array_equal(first.counts, second.counts):
        return (first.hits, first.counts), (second.hits, second.counts), cells[:n], [way[:n] for way in ways]
    where, row = np.unique(places, axis=1, return_inverse=True)
    row = row.ravel()
    sums = [
        tuple(np.bincount(row[half], values, where.shape[1]) for values in (entries.hits, entries.counts))
        for entries, half in ((first, slice(n)), (second, slice(n, None)))
    ]
    return *sums, where[-1], list(where[:-1])
