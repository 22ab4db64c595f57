"""Coalitions for KernelSHAP, in complementary pairs."""

from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np

from heedful.interventions.masks.subsets import subsets


@dataclass(frozen=True)
class Coalitions:
    """Distinct pairs of a coalition and its complement.

    Attributes:
        half: bool [pairs, n], one coalition of each pair, True where a feature stays; the other is its complement.
        weights: float64 [pairs], the share of the Shapley kernel that a pair stands for; they sum to 1 where each size
            is there.
        draws: int64 [pairs], how often a pair was drawn; 0 for one of a size that is there as a whole.
        complete: Whether all coalitions are there, but for none and all of the features.
    """

    half: np.ndarray
    weights: np.ndarray
    draws: np.ndarray
    complete: bool

    @property
    def present(self) -> np.ndarray:
        """All masks: bool [2 * pairs, n], each followed by its complement."""
        return np.stack([self.half, ~self.half], axis=1).reshape(-1, self.half.shape[1])


def coalitions(n: int, budget: int, rng: np.random.Generator) -> Coalitions:
    """The coalitions that a budget buys: whole sizes from the outside in, the rest drawn by the Shapley kernel.

    The budget goes first to each feature alone and all but each, which determine phi, where it holds them. A further
    size and its complement are there as a whole where the budget left would draw at least as many pairs of them as
    there are: a size that takes the budget from the sizes further in costs more than it gains. What is left buys pairs
    that are drawn independently, with replacement: a size by the Shapley kernel over the sizes left, then a uniform
    subset. Pairs that coincide are merged and counted.

    Sources: Lundberg and Lee 2017, theorem 2 (kernel) and the KernelExplainer of the shap package (whole sizes); Covert
    and Lee 2021 (complementary pairs).

    Args:
        n: How many features there are, at least 2.
        budget: At most so many masks, at least 2.
        rng: Is not asked where the budget covers all ``2**n - 2`` coalitions.
    """
    sizes = np.arange(1, n // 2 + 1)
    kernel = np.where(2 * sizes < n, 2.0, 1.0) / (sizes * (n - sizes))  # of a size and its complement together
    kernel /= kernel.sum()
    counts = [_pairs_of(n, size) for size in sizes.tolist()]
    left = budget // 2
    complete = left >= sum(counts)
    whole = 0
    while whole < len(sizes) and counts[whole] <= left:
        expected = left * kernel[whole] / kernel[whole:].sum()
        if not complete and whole and expected < counts[whole]:
            break
        left -= counts[whole]
        whole += 1
    certain = [_whole_size(n, size, counts[size - 1]) for size in range(1, whole + 1)]
    half = np.concatenate([np.zeros((0, n), dtype=bool), *certain])
    weights = np.repeat(kernel[:whole] / np.array(counts[:whole], dtype=float), counts[:whole])
    draws = np.zeros(len(half), dtype=np.int64)
    if left and not complete:
        rest = kernel[whole:].sum()
        drawn, times = _drawn_pairs(n, rng.choice(sizes[whole:], size=left, p=kernel[whole:] / rest), rng)
        half = np.concatenate([half, drawn])
        draws = np.concatenate([draws, times])
        weights = np.concatenate([weights, rest * times / left])
    return Coalitions(half, weights, draws, complete)


def _pairs_of(n: int, size: int) -> int:
    """How many pairs consist of a subset of this size, at most half of all features, and its complement."""
    return comb(n, size) if 2 * size < n else comb(n, size) // 2


def _whole_size(n: int, size: int, pairs: int) -> np.ndarray:
    """One subset of each pair of this size: bool [pairs, n]; of two halves, the one with the first feature."""
    # of two halves: combinations come in lexicographic order, and the first half of them have the first feature
    members = np.array(list(islice(combinations(range(n), size), pairs)))
    half = np.zeros((pairs, n), dtype=bool)
    half[np.arange(pairs)[:, None], members] = True
    return half


def _drawn_pairs(n: int, sizes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Distinct ones of a uniform subset of each size, bool [pairs, n], and how often each is drawn, int64 [pairs]."""
    drawn = subsets(sizes, n, rng)
    drawn ^= (2 * sizes == n)[:, None] & ~drawn[:, :1]  # of two halves, the one with the first feature
    packed, counts = np.unique(np.packbits(drawn, axis=1), axis=0, return_counts=True)
    return np.unpackbits(packed, axis=1, count=n).astype(bool), counts
