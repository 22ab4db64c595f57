"""The difference of one number between two runs on the same examples, with its paired 95 % interval.

A run's numbers are made of rows as always, under :func:`recording`: then each share keeps what it is a share of, by the
clusters that both runs have.
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
    """What a share is of.

    Attributes:
        hits: float64 [entries], between 0 and ``of``.
        of: float64 [entries], for how many each counts.
        cells: int [entries]: the share is the unweighted mean of that of each.
        ways: For each way of clustering, the name of each entry's cluster, the same in runs on the same examples.
        are_pairs: Whether the ways are an example and its lender, of the same names.
    """

    hits: np.ndarray
    of: np.ndarray
    cells: np.ndarray
    ways: tuple[np.ndarray, ...]
    are_pairs: bool = False

    @property
    def numbered_ways(self) -> list[np.ndarray]:
        """The number of each entry's cluster for each way: int [entries]; of pairs, by the same names in both ways."""
        if self.are_pairs:
            return np.split(np.unique(np.concatenate(self.ways), return_inverse=True)[1], 2)
        return [np.unique(way, return_inverse=True)[1] for way in self.ways]


@dataclass(frozen=True, kw_only=True)
class Share(Measurement):
    """A share that keeps what it is of."""

    entries: Entries


@contextmanager
def recording() -> Iterator[None]:
    """Have shares keep what they are of."""
    token = _is_recording.set(True)
    try:
        yield
    finally:
        _is_recording.reset(token)


def recorded(
    measured: Measurement,
    hits: np.ndarray,
    of: np.ndarray,
    *ways: np.ndarray,
    cells: np.ndarray | None = None,
    are_pairs: bool = False,
) -> Measurement:
    """A share with what it is of, under :func:`recording` and where its clusters have names; else as it is.

    The arguments are those of :class:`Entries`; without cells all are of one.
    """
    if not _is_recording.get() or not ways:
        return measured
    one = np.zeros(len(hits), dtype=np.int64)
    entries = Entries(hits, of, one if cells is None else cells, ways, are_pairs)
    return Share(**{**vars(measured), "entries": entries})


def change(first: Measurement, second: Measurement) -> Measurement | None:
    """The second number less the first; None where one of them is undefined, not a share, or of other cells.

    Args:
        first: A number of a run, made under :func:`recording`.
        second: The same number of another run, on the same examples.
    """
    if not (isinstance(first, Share) and isinstance(second, Share)):
        return None
    if first.value is None or second.value is None:
        return None
    if not np.array_equal(np.unique(first.entries.cells), np.unique(second.entries.cells)):
        return None
    one, other, cells, ways = aligned(second.entries, first.entries)
    bounds = between(one, other, cells, ways, are_pairs=first.entries.are_pairs)
    clusters = [m.clusters for m in (first, second) if m.clusters is not None]
    n = min(first.n, second.n)
    return Measurement(second.value - first.value, n, ci95=bounds, clusters=min(clusters, default=None))


def aligned(one: Entries, other: Entries) -> tuple[Any, ...]:
    """The entries of both as rows of the same clusters and cells, as :func:`~.intervals.between` takes them."""
    n = len(one.of)
    columns = ("hits", "of", "cells")
    hits, of, cells = (np.concatenate([getattr(one, name), getattr(other, name)]) for name in columns)
    ways = [np.concatenate(both) for both in zip(one.ways, other.ways, strict=True)]
    ways = Entries(hits, of, cells, tuple(ways), one.are_pairs).numbered_ways
    cells = np.unique(cells, return_inverse=True)[1]
    places = np.stack([*ways, cells])
    if np.array_equal(places[:, :n], places[:, n:]) and np.array_equal(one.of, other.of):
        return (one.hits, one.of), (other.hits, other.of), cells[:n], [way[:n] for way in ways]
    where, row = np.unique(places, axis=1, return_inverse=True)
    row = row.ravel()
    sums = [
        tuple(np.bincount(row[here], values, where.shape[1]) for values in (side.hits, side.of))
        for side, here in ((one, slice(n)), (other, slice(n, None)))
    ]
    return *sums, where[-1], list(where[:-1])
