"""Which examples of a pool share something, so that none of them is the partner of another."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

ODD = np.uint64(0x9E3779B97F4A7C15)  # spreads small numbers over 64 bits


class Related:
    """Examples that are related where they have the same value in columns that share a vocabulary.

    With ``within``, those that differ in it are related as well, so that none is the partner of another.

    Args:
        columns: For each vocabulary, the columns that share it: uint64 [columns, examples], equal for equal values.
        within: What only those who have the same of are not related: int64 [examples]; None for nothing.

    Attributes:
        codes: The values of all columns, numbered: int32 [columns, examples]; vocabularies have no number in common.
    """

    def __init__(self, columns: Sequence[np.ndarray], within: np.ndarray | None = None) -> None:
        self._within = within
        if within is not None:  # values of different ones are different values
            columns = [keys ^ (within.astype(np.uint64) * ODD) for keys in columns]
        self._rows = []
        numbered = []
        values = 0
        row = 0
        for keys in columns:
            unique, codes = np.unique(keys, return_inverse=True)
            numbered.append(codes.reshape(keys.shape).astype(np.int32) + np.int32(values))
            self._rows.append(range(row, row + len(keys)))
            values += len(unique)
            row += len(keys)
        self.codes = np.concatenate(numbered)

    def share(self, i: np.ndarray | int, j: np.ndarray | slice) -> np.ndarray:
        """Whether positions ``i`` share a value with positions ``j``: bool [positions]."""
        shared: np.ndarray = np.zeros((), dtype=bool)
        if self._within is not None:
            shared = self._within[i] != self._within[j]
        for rows in self._rows:
            first = [self.codes[row][i] for row in rows]
            second = [self.codes[row][j] for row in rows]
            for a in first:
                for b in second:
                    shared = shared | (a == b)
        return shared

    @cached_property
    def strangers(self) -> np.ndarray:
        """How many examples share no value with each one: int64 [examples].

        Those that share one are a union over the values of the example: by inclusion and exclusion, the examples that
        have one of them, less those that have two, and so on. No superset of values that nobody else has can count.
        """
        codes = np.sort(self.codes, axis=0)
        n = self.codes.shape[1]
        is_shared = np.bincount(codes.ravel())[codes] > 1
        is_shared[1:] &= codes[1:] != codes[:-1]  # a value that an example has twice is one value
        related = np.zeros(n, dtype=np.int64)
        sign = 1
        last, positions = np.nonzero(is_shared)  # sets of one value: the row of the last value, and whose set it is
        sets = codes[last, positions].astype(np.int64)
        while len(sets):
            _, sets, counts = np.unique(sets, return_inverse=True, return_counts=True)
            others = counts[sets] - 1
            related += sign * np.bincount(positions, weights=others, minlength=n).astype(np.int64)
            is_repeated = others > 0
            last, positions, sets = _with_one_more(
                last[is_repeated], positions[is_repeated], sets[is_repeated], codes, is_shared
            )
            sign = -sign
        everyone = n if self._within is None else np.bincount(self._within)[self._within]
        return everyone - 1 - related


def _with_one_more(
    last: np.ndarray, positions: np.ndarray, sets: np.ndarray, codes: np.ndarray, is_shared: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each set of values with one more of the same example, from a later row: as the sets were given."""
    larger = [(last[:0], positions[:0], sets[:0])]
    for row in range(1, len(codes)):
        extended = np.flatnonzero((last < row) & is_shared[row].take(positions))
        owners = positions[extended]
        numbers = sets[extended] * np.int64(codes.max() + 1) + codes[row].take(owners)
        larger.append((np.full(len(owners), row), owners, numbers))
    all_last, all_positions, all_sets = (np.concatenate(columns) for columns in zip(*larger, strict=True))
    return all_last, all_positions, all_sets
