"""LIME: the coefficients of a linear model of f around the example (Ribeiro, Singh and Guestrin 2016)."""

from collections.abc import Sequence

import numpy as np

from heedful.interventions.masks import neighbours
from heedful.metrics.attributions.methods.method import Rounds
from heedful.metrics.attributions.methods.regression import drawn_error, inverse, normal_equations, product

NAME, VERSION = "lime", 1
WIDTH, ALPHA = 25.0, 1.0  # of the kernel, and of the ridge


def explain(
    n: int, full: float, nothing: float, budget: int, rng: np.random.Generator, segments: Sequence[int]
) -> Rounds:
    """Explain one example by ``budget`` instances, including the unmasked example: see :class:`~.method.Method`.

    It takes one round. The phi do not sum to ``full - nothing``.
    """
    present = np.concatenate([np.ones((1, n), dtype=bool), neighbours(n, budget - 1, rng)])
    values = np.full(budget, nothing)
    values[0] = full
    unknown = np.asarray(present.any(axis=1))
    unknown[0] = False
    if unknown.any():
        values[unknown] = yield present[unknown]
    return coefficients(present, values)


def coefficients(present: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ridge regression of f on the masks, weighted by how close they are to the example, over all features.

    The weight is ``sqrt(exp(-d**2 / 25**2))`` with d = 100 * cosine distance to the unmasked example: with the square
    root of the lime package, which the formula of Ribeiro et al. 2016 (section 3.4) lacks. Alpha is 1, and the
    intercept is not penalised.

    The error is the sandwich estimate (HC3) over the drawn masks: how far the coefficients would scatter with other
    masks. It does not include the shrinkage by alpha.

    Args:
        present: bool [masks, n]; the first mask is the unmasked example, the others were drawn independently.
        values: f per mask, float64 [masks].

    Returns:
        phi and their errors, float64 [n] each.
    """
    weights = kernel(present)
    shares = weights / weights.sum()
    x = present - product(shares, present.astype(np.float64))
    y = values - product(shares, values)
    inverted, _ = inverse(normal_equations(x, weights) + ALPHA * np.eye(x.shape[1]))
    unit = product(x, inverted)  # change of phi per unit of residual, before weighting
    phi = product(weights * y, unit)
    leverage = shares + weights * (unit * x).sum(axis=1)
    neighbours_only = slice(1, None)
    influence = (
        unit[neighbours_only]
        * (weights * (y - product(x, phi)))[neighbours_only, None]
        / (1 - leverage[neighbours_only, None])
    )
    return phi, drawn_error(influence, np.ones(len(influence), dtype=np.int64))


def kernel(present: np.ndarray) -> np.ndarray:
    """Similarity of masks to the unmasked example: float64 [masks], 1 for the example itself.

    Example:
        >>> kernel(np.array([[True, True], [True, False], [False, False]])).round(4).tolist()
        [1.0, 0.5034, 0.0003]
    """
    cosine = np.sqrt(present.mean(axis=1))  # of a mask and all ones; 0 if everything is masked
    return np.exp(-((100 * (1 - cosine)) ** 2) / WIDTH**2 / 2)
