"""Random subsets of features, and the masks of LIME."""

import numpy as np


def subsets(sizes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw uniform random subsets with given sizes.

    Args:
        sizes: Number of features in each subset, from 0 to ``n``: int64 [subsets].
        n: Number of features.
        rng: Random number generator.

    Returns:
        bool [subsets, n], True where a feature is in the subset.
    """
    # each row of orders is a uniform permutation, whose entries below a size are a uniform subset of this size
    orders = rng.random((len(sizes), n)).argsort(axis=1)
    return orders < np.asarray(sizes)[:, None]


def neighbours(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the masks of LIME: a uniform number of hidden features from 1 to ``n``, then a uniform subset.

    Source: LimeTextExplainer of the package lime 0.2.0.1, whose ``num_samples`` also counts the unmasked example.

    Args:
        n: Number of features.
        count: Number of masks; masks may be equal.
        rng: Random number generator.

    Returns:
        bool [count, n], True where a feature is kept.
    """
    hidden = subsets(rng.integers(1, n + 1, size=count), n, rng)
    return ~hidden
