"""Uniform subsets of given sizes, and the masks of LIME."""

import numpy as np


def subsets(sizes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform subsets of given sizes: bool [subsets, n].

    Args:
        sizes: int64 [subsets], each from 0 to ``n``.
        n: Number of features.
        rng: Yields ``len(sizes) * n`` numbers.
    """
    # the ranks of random numbers are a uniform permutation, and its entries below a size a uniform subset of that size
    orders = rng.random((len(sizes), n)).argsort(axis=1)
    return orders < np.asarray(sizes)[:, None]


def neighbours(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """The masks of LIME: bool [count, n], with a uniform number of hidden features from 1 to ``n``.

    Masks may coincide, and a mask may hide all features. Source: LimeTextExplainer of the lime package, 0.2.0.1, whose
    ``num_samples`` also counts the unmasked example.
    """
    hidden = subsets(rng.integers(1, n + 1, size=count), n, rng)
    return ~hidden
