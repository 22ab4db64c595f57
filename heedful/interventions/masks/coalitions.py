"""Coalitions (subsets of kept features) for KernelSHAP, in pairs of a coalition and its complement."""

from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np

from heedful.interventions.masks.subsets import subsets


@dataclass(frozen=True)
class Coalitions:
    """Distinct pairs of a coalition (a subset of kept features) and its complement.

    Attributes:
        half: One coalition per pair, True where a feature is kept: bool [pairs, n]. The other coalition is the
            complement.
        weights: Shapley kernel weights of the pairs: float64 [pairs]. The weights sum to 1 if every size is present.
        draws: How often each pair was drawn, 0 for pairs of an enumerated size: int64 [pairs].
        complete: Whether all coalitions except the empty and the full one are present.
    """

    half: np.ndarray
    weights: np.ndarray
    draws: np.ndarray
    complete: bool

    @property
    def present(self) -> np.ndarray:
        """The masks of all coalitions, each followed by its complement: bool [2 * pairs, n]."""
        return np.stack([self.half, ~self.half], axis=1).reshape(-1, self.half.shape[1])


def coalitions(n: int, budget: int, rng: np.random.Generator) -> Coalitions:
    """Choose coalitions (subsets of features) within a budget of masks, in pairs of a subset and its complement.

    The size of a pair is the size of its smaller subset. The sizes 1, 2, ... are enumerated, with all pairs of a size,
    until the budget left is too small for the next size. The budget left is then spent on random pairs of all other
    sizes. Equal pairs are merged.

    Args:
        n: Number of features, at least 2.
        budget: Maximum number of masks, at least 2.
        rng: Random number generator; not used if the budget covers all ``2**n - 2`` coalitions.
    """
    # Size 1 alone determines phi (the attributions). A further size is enumerated if the expected number of draws from
    # the remaining budget would cover its pairs. A random pair has a size drawn by the Shapley kernel, then a uniform
    # subset. Sources: Lundberg and Lee 2017, theorem 2 (kernel), KernelExplainer of shap (enumerated sizes), Covert and
    # Lee 2021 (complementary pairs).
    sizes = np.arange(1, n // 2 + 1)
    kernel = np.where(2 * sizes < n, 2.0, 1.0) / (sizes * (n - sizes))  # weight of all pairs of each size
    kernel /= kernel.sum()
    counts = [comb(n, size) if 2 * size < n else comb(n, size) // 2 for size in sizes.tolist()]
    remaining = budget // 2
    complete = remaining >= sum(counts)
    full = 0  # number of enumerated sizes
    while full < len(sizes) and counts[full] <= remaining:
        expected = remaining * kernel[full] / kernel[full:].sum()
        if not complete and full and expected < counts[full]:
            break
        remaining -= counts[full]
        full += 1
    enumerated = [_enumerated(n, size, counts[size - 1]) for size in range(1, full + 1)]
    half = np.concatenate([np.zeros((0, n), dtype=bool), *enumerated])
    weights = np.repeat(kernel[:full] / np.array(counts[:full], dtype=float), counts[:full])
    draws = np.zeros(len(half), dtype=np.int64)
    if remaining and not complete:
        mass = kernel[full:].sum()
        pairs, times = _random_pairs(n, rng.choice(sizes[full:], size=remaining, p=kernel[full:] / mass), rng)
        half = np.concatenate([half, pairs])
        draws = np.concatenate([draws, times])
        weights = np.concatenate([weights, mass * times / remaining])
    return Coalitions(half, weights, draws, complete)


def _enumerated(n: int, size: int, pairs: int) -> np.ndarray:
    """Return one subset of ``size`` features from each pair of a subset and its complement: bool [pairs, n].

    Args:
        n: Number of features.
        size: Number of features in each returned subset, at most n / 2.
        pairs: Number of pairs: ``comb(n, size)``; half of this if ``size`` is n / 2, the size of both subsets.
    """
    # for size n / 2, the first half of the combinations has the first feature, and the other half are complements
    members = np.array(list(islice(combinations(range(n), size), pairs)))
    half = np.zeros((pairs, n), dtype=bool)
    half[np.arange(pairs)[:, None], members] = True
    return half


def _random_pairs(n: int, sizes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw pairs of complementary subsets of features uniformly at random, and merge equal pairs.

    Args:
        n: Number of features.
        sizes: Size of the smaller subset of each drawn pair, at most n / 2: int [draws].
        rng: Random number generator.

    Returns:
        One subset of each distinct pair, bool [pairs, n]: the smaller subset, or, if both subsets have n / 2 features,
        the subset with the first feature. And the number of draws per distinct pair, int64 [pairs].
    """
    masks = subsets(sizes, n, rng)
    masks ^= (2 * sizes == n)[:, None] & ~masks[:, :1]  # of size n / 2, take the subset with the first feature
    packed, counts = np.unique(np.packbits(masks, axis=1), axis=0, return_counts=True)
    return np.unpackbits(packed, axis=1, count=n).astype(bool), counts
