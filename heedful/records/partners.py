"""Which examples are related (share a value, such as the content of a part), and which may be partners in a swap.

A partner lends a part to an example. It is unrelated to the example, and the swap does not recreate an example of the
data. Values are compared by their 64-bit hashes.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.records.randomness import keys

ODD = np.uint64(0x9E3779B97F4A7C15)  # spreads small numbers over 64 bits
PAIRS = 2**22  # pairs of examples that are compared at a time, to limit memory


def names_of(table: pa.Table, kind: str) -> tuple[str, ...]:
    """The names of the columns of a kind: "premise" for the kind "groups" and the column "groups.premise"."""
    return tuple(name.partition(".")[2] for name in table.column_names if name.startswith(f"{kind}."))


def column_texts(table: pa.Table, name: str) -> Iterator[str]:
    """Iterate over the values of a text column, converting one batch at a time to Python objects."""
    for batch in table.select([name]).to_batches(max_chunksize=4096):
        yield from batch[0].to_pylist()


def identities(table: pa.Table, columns: Sequence[str]) -> pa.Array:
    """Hash the values of some text columns together, for each row of a table: texts of 16 hexadecimal digits [rows]."""
    values = (column_texts(table, name) for name in columns)
    return pa.array([f"{key:016x}" for key in keys(map(repr, zip(*values, strict=True))).tolist()], pa.string())


def row_hashes(table: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """Hash the values of some columns together, for each example: uint64 [examples]."""
    hashes = np.zeros(table.num_rows, dtype=np.uint64)
    for name in columns:
        hashes = hashes * ODD + _hashes(table[name])
    return hashes


def row_numbers(table: pa.Table, columns: Sequence[str]) -> np.ndarray:
    """Number the distinct combinations of values in some columns, and return each row's number: int64 [examples]."""
    return np.unique(row_hashes(table, columns), return_inverse=True)[1].astype(np.int64)


def _hashes(column: pa.ChunkedArray) -> np.ndarray:
    """Hash the values of a column: uint64 [examples]; a column of sha256 hashes is truncated instead."""
    if pc.all(pc.match_substring_regex(column, "^[0-9a-f]{64}$"), skip_nulls=False).as_py():
        digits = pc.utf8_slice_codeunits(column, 0, 16).to_pylist()
        return np.frombuffer(bytes.fromhex("".join(digits)), dtype="<u8")
    return keys(text for chunk in column.chunks for text in chunk.to_pylist())


def related(table: pa.Table, within: str | None = None, without: Collection[str] = ()) -> "Related":
    """Return which examples of a pool share the content of a part, except ``without``, or another group's value.

    Examples with different values in the meta column ``within``, such as "split", also count as related, so that a swap
    stays within the split.
    """
    groups, parts = names_of(table, "groups"), names_of(table, "parts")
    contents = [group for group in groups if group in parts and group not in without]
    further = [[group] for group in groups if group not in parts]
    values = None if within is None else row_numbers(table, [f"meta.{within}"])
    vocabularies = [names for names in (contents, *further) if names]
    return Related([np.stack([_hashes(table[f"groups.{n}"]) for n in names]) for names in vocabularies], values)


class Related:
    """Tells which examples are related: those that share a value, such as the text of a part, or differ in the subset.

    Values are compared only within a vocabulary (a set of columns). The columns of all parts are one vocabulary, since
    a text may be the premise of one example and the hypothesis of another. Each further group is a vocabulary.

    Args:
        columns: One array for each vocabulary, with the hashes of its columns: uint64 [columns, examples].
        within: Index of the subset of each example, such as the split: int64 [examples].
    """

    def __init__(self, columns: Sequence[np.ndarray], within: np.ndarray | None = None) -> None:
        self._within = within
        if within is not None:  # equal values in different subsets become different values
            columns = [hashes ^ (within.astype(np.uint64) * ODD) for hashes in columns]
        numbered = []
        values = 0
        for hashes in columns:
            unique, codes = np.unique(hashes, return_inverse=True)
            numbered.append(codes.reshape(hashes.shape).astype(np.int32) + np.int32(values))
            values += len(unique)
        self._codes = np.concatenate(numbered)  # ids of the values: int32 [all columns, examples]
        self._vocabularies = np.split(self._codes, np.cumsum([len(hashes) for hashes in columns])[:-1])

    def share(self, i: np.ndarray | int, j: np.ndarray | slice) -> np.ndarray:
        """Whether the examples at positions ``i`` are related to the examples at positions ``j``: bool [positions]."""
        shared: np.ndarray = np.zeros((), dtype=bool)
        if self._within is not None:
            shared = self._within[i] != self._within[j]
        for codes in self._vocabularies:
            for a, b in product([row[i] for row in codes], [row[j] for row in codes]):
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
        # are left out of the total at the end. Per set, ``last`` is the highest row of its values, ``positions`` its
        # example, and ``sets`` an id that is equal for equal values.
        codes = np.sort(self._codes, axis=0)
        n = self._codes.shape[1]
        is_shared = np.bincount(codes.ravel())[codes] > 1
        is_shared[1:] &= codes[1:] != codes[:-1]  # a repeated value of an example counts once
        related = np.zeros(n, dtype=np.int64)
        sign = 1
        last, positions = np.nonzero(is_shared)
        sets = codes[last, positions].astype(np.int64)
        while len(sets):
            _, sets, counts = np.unique(sets, return_inverse=True, return_counts=True)
            sharing = counts[sets] - 1
            related += sign * np.bincount(positions, weights=sharing, minlength=n).astype(np.int64)
            last, positions, sets = (per_set[sharing > 0] for per_set in (last, positions, sets))
            # a larger set gets a value from a row after the last, so that it is formed once
            last, extended = np.nonzero((np.arange(len(codes))[:, None] > last) & is_shared[:, positions])
            positions, sets = positions[extended], sets[extended] * np.int64(codes.max() + 1)
            sets += codes[last, positions]
            sign = -sign
        everyone = n if self._within is None else np.bincount(self._within)[self._within]
        return everyone - 1 - related


class Partners:
    """The partners of each example in a swap: unrelated, and the lent parts with the kept ones are new in the pool.

    Args:
        base: Ids of the contents of the kept parts: int64 [examples]. If no part is kept, of all parts, so that every
            swap with an unrelated example counts as new.
        lent: Ids of the contents of the parts that are lent: int64 [examples].
    """

    def __init__(self, related: Related, base: np.ndarray, lent: np.ndarray) -> None:
        self.related = related
        self._base = base
        self._lent = lent
        self._width = int(lent.max(initial=0)) + 1
        self._real = np.unique(base * self._width + lent)  # numbers of the real pairs
        self._is_shared = np.bincount(base)[base] > 1 if len(base) else np.zeros(0, dtype=bool)

    def admits(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Whether example ``j[k]`` is a partner of example ``i[k]``, for each k: bool [k]; both are int64 positions."""
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
        """Number of unrelated examples per example whose swap would yield an example of the pool: int64 [examples]."""
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
    """Concatenate integer ranges: for each integer the index of its range, and the integer, both int64."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    ends = np.cumsum(sizes)
    return owner, np.arange(len(owner)) - np.repeat(ends - sizes, sizes) + np.repeat(starts, sizes)
