"""Partners for swaps: unrelated examples that lend a part without recreating an example of the data."""

from functools import cached_property

import numpy as np

from heedful.records.pool.related import Related

PAIRS = 2**22  # pairs of examples that are compared at a time, to limit memory


class Partners:
    """The possible partners of each example in a swap; a partner lends some of its parts to the example.

    A partner is unrelated to the example, and the swapped input is new: no example of the pool has both the kept parts
    of the example and the lent parts of the partner.

    Args:
        related: Tells which examples are related to each other.
        base: For each example, an id of the content of the kept parts: int64 [examples]. If no part is kept, an id of
            the content of all parts, so that every swap with an unrelated example counts as new.
        lent: For each example, an id of the content of the parts that are lent: int64 [examples].
    """

    def __init__(self, related: Related, base: np.ndarray, lent: np.ndarray) -> None:
        self.related = related
        self._base = base
        self._lent = lent
        self._width = int(lent.max(initial=0)) + 1
        self._real = np.unique(base * self._width + lent)  # numbers of the real pairs
        self._is_shared = np.bincount(base)[base] > 1 if len(base) else np.zeros(0, dtype=bool)

    def admits(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Whether example ``j[k]`` is a partner of example ``i[k]``, for each index k: bool [indices].

        Both arrays contain positions of examples in the pool: int64 [indices].
        """
        admitted = ~self.related.share(i, j)
        undecided = np.flatnonzero(admitted & self._is_shared[i])  # unique remaining parts make new pairs only
        if len(undecided):
            pairs = self._base[i[undecided]] * self._width + self._lent[j[undecided]]
            places = np.minimum(np.searchsorted(self._real, pairs), len(self._real) - 1)
            admitted[undecided] = self._real[places] != pairs
        return admitted

    def all_of(self, i: int) -> np.ndarray:
        """The positions of all partners of the example at position ``i``: int64 [partners], ascending."""
        everyone = np.arange(len(self._base))
        return everyone[self.admits(np.full(len(everyone), i), everyone)]

    @cached_property
    def counts(self) -> np.ndarray:
        """Number of partners per example: int64 [examples]."""
        return self.related.strangers - self.excluded_as_real

    @cached_property
    def excluded_as_real(self) -> np.ndarray:
        """For each example, the number of candidates that are excluded because the swap would yield an example of the
        pool: int64 [examples]. The candidates are all examples that are unrelated to the example.
        """
        counts = np.zeros(len(self._base), dtype=np.int64)
        if not self._is_shared.any():
            return counts
        by_lent = np.argsort(self._lent, kind="stable")
        sizes = np.bincount(self._lent, minlength=self._width)
        starts = np.cumsum(sizes) - sizes
        contents = self._real % self._width  # the lent parts of the real pairs, which are sorted by the remaining parts
        owners = self._real // self._width  # the remaining parts of the real pairs
        positions = np.flatnonzero(self._is_shared)
        first = np.searchsorted(owners, self._base[positions])
        number = np.searchsorted(owners, self._base[positions], side="right") - first
        summed = np.concatenate([[0], np.cumsum(sizes[contents])])
        weights = summed[first + number] - summed[first]  # examples that would make a real pair with each position
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
    """Concatenate integer ranges.

    Args:
        starts: First integers of the ranges: int64 [ranges].
        sizes: Lengths of the ranges: int64 [ranges].

    Returns:
        Two arrays int64 [sum of sizes]: for each integer the index of its range, and the integer.
    """
    owner = np.repeat(np.arange(len(sizes)), sizes)
    ends = np.cumsum(sizes)
    return owner, np.arange(len(owner)) - np.repeat(ends - sizes, sizes) + np.repeat(starts, sizes)
