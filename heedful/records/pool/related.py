"""Related examples, which are never partners: they share a value."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

ODD = np.uint64(0x9E3779B97F4A7C15)  # spreads small numbers over 64 bits


class Related:
    """Examples are related if they share a value in columns of the same vocabulary.

    Args:
        columns: Per vocabulary, hashes of the values of its columns: uint64 [columns, examples].
        within: int64 [examples]; examples with different values are related as well. None for no restriction.

    Attributes:
        codes: Numbers of the values: int32 [columns, examples]; vocabularies have distinct numbers.
    """

    def __init__(self, columns: Sequence[np.ndarray], within: np.ndarray | None = None) -> None:
        self._within = within
        if within is not None:  # distinguish values by it
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
        """Number of unrelated examples, per example: int64 [examples].

        The related examples are a union over the values of the example, counted by inclusion and exclusion. Sets of
        values that no other example has are not extended.
        """
        codes = np.sort(self.codes, axis=0)
        n = self.codes.shape[1]
        is_shared = np.bincount(codes.ravel())[codes] > 1
        is_shared[1:] &= codes[1:] != codes[:-1]  # counts repeated values of an example once
        related = np.zeros(n, dtype=np.int64)
        sign = 1
        last, positions = np.nonzero(is_shared)  # sets of one value: the row of the last value, and the example
        sets = codes[last, positions].astype(np.int64)
        while len(sets):
            _, sets, counts = np.unique(sets, return_inverse=True, return_counts=True)
            sharing = counts[sets] - 1
            related += sign * np.bincount(positions, weights=sharing, minlength=n).astype(np.int64)
            is_repeated = sharing > 0
            last, positions, sets = _with_one_more(
                last[is_repeated], positions[is_repeated], sets[is_repeated], codes, is_shared
            )
            sign = -sign
        everyone = n if self._within is None else np.bincount(self._within)[self._within]
        return everyone - 1 - related


def _with_one_more(
    last: np.ndarray, positions: np.ndarray, sets: np.ndarray, codes: np.ndarray, is_shared: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Extend sets of values by a value of the same example in a later row."""
    larger = [(last[:0], positions[:0], sets[:0])]
    for row in range(1, len(codes)):
        extended = np.flatnonzero((last < row) & is_shared[row].take(positions))
        owners = positions[extended]
        numbers = sets[extended] * np.int64(codes.max() + 1) + codes[row].take(owners)
        larger.append((np.full(len(owners), row), owners, numbers))
    all_last, all_positions, all_sets = (np.concatenate(columns) for columns in zip(*larger, strict=True))
    return all_last, all_positions, all_sets
