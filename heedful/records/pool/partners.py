"""Partners for swaps: examples whose swap creates a pair that is not in the data."""

from functools import cached_property

import numpy as np

from heedful.records.pool.related import Related

PAIRS = 2**22  # pairs of examples per block


class Partners:
    """Partners for a swap: unrelated examples whose lent parts make a new pair.

    A pair is real, and not new, if an example of the pool has the same remaining parts and the same lent parts.

    Args:
        related: The relation of the examples.
        base: Numbers of the contents of the remaining parts: int64 [examples].
        lent: Numbers of the contents of the lent parts: int64 [examples].
    """

    def __init__(self, related: Related, base: np.ndarray, lent: np.ndarray) -> None:
        self.related = related
        self._base = base
        self._lent = lent
        self._width = int(lent.max(initial=0)) + 1
        self._real = np.unique(base * self._width + lent)  # all real pairs
        self._is_shared = np.bincount(base)[base] > 1 if len(base) else np.zeros(0, dtype=bool)

    def admits(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Whether positions ``j`` may lend to positions ``i``: bool [positions]."""
        admitted = ~self.related.share(i, j)
        open_ = np.flatnonzero(admitted & self._is_shared[i])  # unique remaining parts make new pairs only
        if len(open_):
            pairs = self._base[i[open_]] * self._width + self._lent[j[open_]]
            places = np.minimum(np.searchsorted(self._real, pairs), len(self._real) - 1)
            admitted[open_] = self._real[places] != pairs
        return admitted

    def all_of(self, i: int) -> np.ndarray:
        """All positions that may lend to position ``i``: int64, sorted."""
        everyone = np.arange(len(self._base))
        return everyone[self.admits(np.full(len(everyone), i), everyone)]

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of partners per example: int64 [examples]."""
        return self.related.strangers - self.real

    @cached_property
    def real(self) -> np.ndarray:
        """Number of unrelated examples that would make a real pair, per example: int64 [examples]."""
        counts = np.zeros(len(self._base), dtype=np.int64)
        if not self._is_shared.any():
            return counts
        by_lent = np.argsort(self._lent, kind="stable")
        sizes = np.bincount(self._lent, minlength=self._width)
        starts = np.cumsum(sizes) - sizes
        contents = self._real % self._width  # lent, sorted by the remaining parts
        owners = self._real // self._width
        positions = np.flatnonzero(self._is_shared)
        first = np.searchsorted(owners, self._base[positions])
        number = np.searchsorted(owners, self._base[positions], side="right") - first
        summed = np.concatenate([[0], np.cumsum(sizes[contents])])
        weights = summed[first + number] - summed[first]  # number of candidates
        begin = 0
        while begin < len(positions):
            end = begin + max(1, int(np.searchsorted(np.cumsum(weights[begin:]), PAIRS)))
            owner, lent = _ranges(first[begin:end], number[begin:end])
            which, places = _ranges(starts[contents[lent]], sizes[contents[lent]])
            i = positions[begin:end][owner[which]]
            j = by_lent[places]
            counts += np.bincount(i[~self.related.share(i, j)], minlength=len(counts))
            begin = end
        return counts


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate ranges: the number of the range of each entry, and the entries."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    ends = np.cumsum(sizes)
    return owner, np.arange(len(owner)) - np.repeat(ends - sizes, sizes) + np.repeat(starts, sizes)
