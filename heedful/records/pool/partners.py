"""Which examples of a pool may lend parts to which, so that what comes of it is a pair that nobody wrote."""

from functools import cached_property

import numpy as np

from heedful.records.pool.related import Related

PAIRS = 2**22  # pairs of examples that are looked at together


class Partners:
    """Partners for a swap: unrelated examples that lend some parts.

    An example does not lend to a related one, nor where the pair that comes of it is a real one: where some other
    example of the pool has all of the parts that are kept and all of those that are lent.

    Args:
        related: Which examples are related.
        kept: The content of the parts that stay, as numbers, equal for equal contents: int64 [examples].
        lent: The same of the parts that are lent.
    """

    def __init__(self, related: Related, kept: np.ndarray, lent: np.ndarray) -> None:
        self.related = related
        self._kept = kept
        self._lent = lent
        self._width = int(lent.max(initial=0)) + 1
        self._real = np.unique(kept * self._width + lent)  # (content kept, content lent) of all real pairs, as one
        self._is_shared = np.bincount(kept)[kept] > 1 if len(kept) else np.zeros(0, dtype=bool)

    def admits(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Whether positions ``j`` may lend to positions ``i``: bool [positions]."""
        admitted = ~self.related.share(i, j)
        asked = np.flatnonzero(admitted & self._is_shared[i])  # where nobody else has the kept part, no pair is real
        if len(asked):
            pairs = self._kept[i[asked]] * self._width + self._lent[j[asked]]
            places = np.minimum(np.searchsorted(self._real, pairs), len(self._real) - 1)
            admitted[asked] = self._real[places] != pairs
        return admitted

    def all_of(self, i: int) -> np.ndarray:
        """All positions that may lend to position ``i``: int64, sorted."""
        everyone = np.arange(len(self._kept))
        return everyone[self.admits(np.full(len(everyone), i), everyone)]

    @cached_property
    def counts(self) -> np.ndarray:
        """How many others may lend to each example: int64 [examples]."""
        return self.related.strangers - self.real

    @cached_property
    def real(self) -> np.ndarray:
        """How many unrelated others would make a real pair with each example: int64 [examples]."""
        counts = np.zeros(len(self._kept), dtype=np.int64)
        if not self._is_shared.any():
            return counts
        by_lent = np.argsort(self._lent, kind="stable")
        sizes = np.bincount(self._lent, minlength=self._width)
        starts = np.cumsum(sizes) - sizes
        contents = self._real % self._width  # lent, by ascending content kept
        owners = self._real // self._width
        positions = np.flatnonzero(self._is_shared)
        first = np.searchsorted(owners, self._kept[positions])
        number = np.searchsorted(owners, self._kept[positions], side="right") - first
        summed = np.concatenate([[0], np.cumsum(sizes[contents])])
        weights = summed[first + number] - summed[first]  # how many others are looked at for each
        begin = 0
        while begin < len(positions):
            end = begin + max(1, int(np.searchsorted(np.cumsum(weights[begin:]), PAIRS)))
            of, lent = _ranges(first[begin:end], number[begin:end])
            which, places = _ranges(starts[contents[lent]], sizes[contents[lent]])
            i = positions[begin:end][of[which]]
            j = by_lent[places]
            counts += np.bincount(i[~self.related.share(i, j)], minlength=len(counts))
            begin = end
        return counts


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ranges of numbers, one after the other: the number of the range of each entry, and the entry."""
    of = np.repeat(np.arange(len(sizes)), sizes)
    ends = np.cumsum(sizes)
    return of, np.arange(len(of)) - np.repeat(ends - sizes, sizes) + np.repeat(starts, sizes)
