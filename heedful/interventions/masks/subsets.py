"""Uniform subsets of given sizes, and the masks of LIME."""

import numpy as np


def subsets(sizes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """A uniform subset of each size: bool [subsets, n].

    Args:
        sizes: int64 [subsets], each from 0 to ``n``.
        n: How many features there are.
        rng: Is asked for ``len(sizes) * n`` numbers.
    """
    # the order of random numbers is a uniform permutation, and its numbers below a size a uniform subset of that size
    orders = rng.random((len(sizes), n)).argsort(axis=1)
    return orders < np.asarray(sizes)[:, None]


def neighbours(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """The masks of LIME: for each a size uniform from 1 to ``n``, then a uniform subset of that size that is hidden.

    Source: LimeTextExplainer of the lime package, 0.2.0.1. Its ``num_samples`` counts the unmasked example, too.

    Returns:
        bool [count, n], True where a feature stays. Some of them may coincide, and some hide everything.
    """
    hidden = subsets(rng.integers(1, n + 1, size=count), n, rng)
    return ~hidden
