"""LIME (Ribeiro, Singh and Guestrin 2016): linear approximation of the probability of a label near an example."""

import numpy as np

from heedful.metrics.attributions.regression import fit, subsets

WIDTH, ALPHA = 25.0, 1.0  # width of the kernel, penalty of the ridge regression


def neighbours(n: int, budget: int, rng: np.random.Generator) -> np.ndarray:
    """Choose the masks of LIME: bool [budget, n], True for a feature that is kept.

    The first mask keeps all ``n`` features. Each other mask hides a uniform number of features from 1 to ``n``, and
    then a uniform subset of this size. Masks may be equal.

    Source: LimeTextExplainer of the package lime 0.2.0.1.
    """
    hidden = subsets(rng.integers(1, n + 1, size=budget - 1), n, rng)
    return np.concatenate([np.ones((1, n), dtype=bool), ~hidden])


def coefficients(masks: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit the probability of a label on masks by ridge regression, with weights (:func:`kernel`) and an intercept.

    Args:
        masks: The masks of :func:`neighbours`: bool [masks, n].
        values: Probability per mask: float64 [masks].

    Returns:
        The coefficients phi, whose sum has no meaning, and their standard errors (:func:`.regression.fit`): float64 [n]
        each.
    """
    x = np.column_stack([np.ones(len(masks)), masks])
    draws = np.ones(len(masks), dtype=np.int64)
    draws[0] = 0
    penalty = ALPHA * np.eye(x.shape[1])
    penalty[0, 0] = 0  # the intercept is free
    phi, error = fit(x, values, kernel(masks), draws, penalty)
    return phi[1:], error[1:]


def kernel(masks: np.ndarray) -> np.ndarray:
    """Return the similarity of masks, bool [masks, n], to the unmasked example, between 0 and 1: float64 [masks].

    Example:
        >>> kernel(np.array([[True, True], [True, False], [False, False]])).round(4).tolist()
        [1.0, 0.5034, 0.0003]
    """
    # The weight is sqrt(exp(-d**2 / 25**2)) with d = 100 * cosine distance to the unmasked example. The lime package
    # takes this square root, the formula in section 3.4 of the paper does not.
    cosine = np.sqrt(masks.mean(axis=1))
    return np.exp(-((100 * (1 - cosine)) ** 2) / WIDTH**2 / 2)
