"""KernelSHAP: Shapley values by regression of the probability of a label on coalitions, the sets of kept features
(Lundberg and Lee 2017).
"""

from dataclasses import dataclass
from itertools import combinations, islice
from math import comb

import numpy as np

from heedful.metrics.attributions.regression import fit, subsets

RIDGE = 0.1  # penalty if coalitions do not determine phi; z has a variance of about 1, and weights sum to 1
FEWEST = 0.25  # random pairs per feature; the scatter of fewer pairs does not represent coalitions of all sizes


@dataclass(frozen=True)
class Coalitions:
    """Distinct pairs of a coalition (a set of kept features) and its complement.

    Attributes:
        half: One coalition per pair, True where a feature is kept: bool [pairs, n].
        weights: Shapley kernel weights of the pairs: float64 [pairs]. The weights sum to 1 if every size is present.
        draws: How often each pair was drawn, 0 for pairs of an enumerated size: int64 [pairs].
        complete: Whether all coalitions except the empty and the full one are present.
    """

    half: np.ndarray
    weights: np.ndarray
    draws: np.ndarray
    complete: bool

    @property
    def masks(self) -> np.ndarray:
        """The masks of all and of no features, then of every coalition and its complement: bool [2 + 2 * pairs, n]."""
        n = self.half.shape[1]
        half = np.concatenate([np.ones((1, n), dtype=bool), self.half])
        return np.stack([half, ~half], axis=1).reshape(-1, n)


def coalitions(n: int, budget: int, rng: np.random.Generator) -> Coalitions:
    """Choose coalitions of ``n`` features, at most ``budget`` (at least 2), in pairs of a coalition and its complement.

    The size of a pair is the size of its smaller coalition. The sizes 1, 2, ... are enumerated, with all pairs of a
    size, until the budget left is too small for the next size. The budget left is then spent on random pairs of all
    other sizes. Equal pairs are merged.
    """
    # Size 1 alone determines phi. A further size is enumerated if the expected number of draws from the remaining
    # budget would cover its pairs. A random pair has a size drawn by the Shapley kernel, then a uniform subset.
    # Sources: Lundberg and Lee 2017, theorem 2 (kernel), KernelExplainer of shap (enumerated sizes), Covert and Lee
    # 2021 (complementary pairs).
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
    """Return one coalition of ``size`` features from each of the ``pairs`` pairs of this size: bool [pairs, n]."""
    # for size n / 2, the first half of the combinations has the first feature, and the other half are complements
    members = np.array(list(islice(combinations(range(n), size), pairs)))
    half = np.zeros((pairs, n), dtype=bool)
    half[np.arange(pairs)[:, None], members] = True
    return half


def _random_pairs(n: int, sizes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw one pair per size; return one coalition of every distinct pair, bool [pairs, n], and its number of draws."""
    masks = subsets(sizes, n, rng)
    masks ^= (2 * sizes == n)[:, None] & ~masks[:, :1]  # of size n / 2, take the coalition with the first feature
    packed, counts = np.unique(np.packbits(masks, axis=1), axis=0, return_counts=True)
    return np.unpackbits(packed, axis=1, count=n).astype(bool), counts


def is_scarce(n: np.ndarray, budget: int) -> np.ndarray:
    """Whether a budget of masks is too small to determine phi (:func:`shapley`) of ``n`` features: bool [examples].

    Example:
        >>> is_scarce(np.array([2, 32, 33]), 64).tolist()
        [False, False, True]
    """
    return (2 * n > budget) & (n > 2)


def shapley(chosen: Coalitions, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the Shapley values phi of n features by weighted least squares (Lundberg and Lee 2017, theorem 2).

    The phi sum to ``values[0] - values[1]``. The result is exact if all coalitions are present; and, if the
    contributions of features add up, for at least as many pairs as features. With fewer pairs, a ridge penalty moves
    each phi towards the mean of all phi, so that large phi are too small.

    Args:
        chosen: The coalitions.
        values: Probability of a label per mask of ``chosen.masks``: float64 [2 + 2 * pairs].

    Returns:
        phi, and their standard errors over the random pairs (:func:`.regression.fit`): float64 [n] each. The errors are
        0 if all coalitions are present, and nan with fewer pairs than features or hardly any random pair.
    """
    # With z = 1 for a feature of a coalition S and -1 for another feature, z @ phi should equal f(S) - f(complement of
    # S). The regression fits the deviations of phi from their mean, whose sum is 0.
    n = chosen.half.shape[1]
    weights = chosen.weights / chosen.weights.sum()
    differences = values[::2] - values[1::2]
    mean = differences[0] / n
    z = np.where(chosen.half, 1.0, -1.0)
    y = differences[1:] - z.sum(axis=1) * mean
    z -= z.mean(axis=1, keepdims=True)
    scarce = len(z) < n and not chosen.complete
    penalty = np.full((n, n), 1 / n) + RIDGE * scarce * np.eye(n)  # the constant is 0 for a sum of 0
    deviations, error = fit(z, y, weights, chosen.draws, penalty)
    if chosen.complete:
        error = np.zeros(n)
    elif scarce or chosen.draws.sum() < FEWEST * n:
        error = np.full(n, np.nan)
    return mean + deviations, error
