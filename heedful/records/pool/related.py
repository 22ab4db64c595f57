"""Find out which examples are related (share a value, such as the content of a part), and count the unrelated ones.

Related examples never lend parts to each other in a swap.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

ODD = np.uint64(0x9E3779B97F4A7C15)  # spreads small numbers over 64 bits


class Related:
    """Tells which examples are related: two examples are related if they share a value, such as the text of a part.

    Values are compared only within a vocabulary (a set of columns). The columns of all parts are one vocabulary, since
    a text may be the premise of one example and the hypothesis of another. Each further group is a vocabulary.

    Args:
        columns: One array for each vocabulary, with the hashes of its columns: uint64 [columns, examples].
        within: Index of the subset of each example, such as the split: int64 [examples]. Examples of different subsets
            always count as related, so that they lend each other no parts. None if all examples are one subset.

    Attributes:
        codes: Ids of the values, distinct across vocabularies: int32 [all columns, examples].
    """

    def __init__(self, columns: Sequence[np.ndarray], within: np.ndarray | None = None) -> None:
        self._within = within
        if within is not None:  # equal values in different subsets become different values
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
        """Whether the examples at positions ``i`` are related to the examples at positions ``j``: bool [positions]."""
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
        """For each example, the number of other examples that are not related to the example: int64 [examples]."""
        # An example E has one value in each row of codes. The related examples of E, which have at least one value of
        # E, are counted by inclusion and exclusion, so that not all pairs of examples are compared. For each set of
        # values of E, the number of other examples that have all values of the set is added (sets of 1, 3, ...
        # values) or subtracted (sets of 2, 4, ... values). If no other example has all values of a set, the larger sets
        # that contain the set contribute 0, and are not formed. Examples of different subsets share no value here; they
        # are left out of the total at the end.
        codes = np.sort(self.codes, axis=0)
        n = self.codes.shape[1]
        is_shared = np.bincount(codes.ravel())[codes] > 1
        is_shared[1:] &= codes[1:] != codes[:-1]  # a repeated value of an example counts once
        related = np.zeros(n, dtype=np.int64)
        sign = 1
        last, positions = np.nonzero(is_shared)  # for each set of one value: the row of its last value, and the example
        sets = codes[last, positions].astype(np.int64)
        while len(sets):
            _, sets, counts = np.unique(sets, return_inverse=True, return_counts=True)
            sharing = counts[sets] - 1
            related += sign * np.bincount(positions, weights=sharing, minlength=n).astype(np.int64)
            is_repeated = sharing > 0
            last, positions, sets = _extended_sets(
                last[is_repeated], positions[is_repeated], sets[is_repeated], codes, is_shared
            )
            sign = -sign
        everyone = n if self._within is None else np.bincount(self._within)[self._within]
        return everyone - 1 - related


def _extended_sets(
    last: np.ndarray, positions: np.ndarray, sets: np.ndarray, codes: np.ndarray, is_shared: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Add one more value to sets of values, in all possible ways, and return the larger sets.

    The values of an example are one column of ``codes``. A set contains some values of one example. The arrays
    ``last``, ``positions`` and ``sets`` describe the sets, one item per set. A value is added to a set if the value
    belongs to the same example, is ``is_shared``, and has a higher row index than all values of the set. For instance,
    a set with the values of rows 0 and 2 is extended by the value of row 3, but not by the value of row 1.

    Args:
        last: Highest row index among the values of each set: int64 [sets].
        positions: Column of the example to which each set belongs: int64 [sets].
        sets: Id of each set. Sets with equal values, which belong to different examples, have equal ids: int64 [sets].
        codes: Values of the examples, in ascending order: int32 [rows, examples].
        is_shared: False for values that occur once in ``codes``, and for repeats in an example: bool [rows, examples].

    Returns:
        The arrays ``last``, ``positions`` and ``sets`` of the larger sets.
    """
    # Values are added only from later rows, so that each larger set is formed once
    larger = [(last[:0], positions[:0], sets[:0])]
    for row in range(1, len(codes)):
        extended = np.flatnonzero((last < row) & is_shared[row].take(positions))
        owners = positions[extended]
        numbers = sets[extended] * np.int64(codes.max() + 1) + codes[row].take(owners)
        larger.append((np.full(len(owners), row), owners, numbers))
    all_last, all_positions, all_sets = (np.concatenate(columns) for columns in zip(*larger, strict=True))
    return all_last, all_positions, all_sets
