"""LIME (Ribeiro, Singh and Guestrin 2016): linear approximation of the probability of a label near an example."""

from collections.abc import Sequence

import numpy as np

from heedful.interventions.masks import neighbours
from heedful.metrics.attributions.methods.method import Rounds
from heedful.metrics.attributions.methods.regression import drawn_error, inverse, normal_equations, product

NAME, VERSION = "lime", 1
WIDTH, ALPHA = 25.0, 1.0  # width of the kernel, penalty of the ridge regression


def explain(
    n: int, full: float, nothing: float, budget: int, rng: np.random.Generator, segments: Sequence[int]
) -> Rounds:
    """Attribute a probability to the features of an example by LIME, in one round of masks.

    For arguments and results, see :meth:`.method.Method.explain`. The phi (contributions) do not sum to ``full -
    nothing``. The unmasked example is one of the ``budget`` masks, as in the lime package.
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
    """Fit f, the probability of a label, on masks by ridge regression.

    Masks that are more similar to the unmasked example weigh more (:func:`kernel`). The intercept is not penalised.

    Args:
        present: Masks, True for a feature that is kept: bool [masks, n]. The first is the unmasked example; the others
            were drawn independently.
        values: f per mask: float64 [masks].

    Returns:
        The coefficients (phi), and their standard errors over the drawn masks (HC3), without the bias of the penalty:
        float64 [n] each.
    """
    # The weight is sqrt(exp(-d**2 / 25**2)) with d = 100 * cosine distance to the unmasked example. The lime package
    # takes this square root, the formula in section 3.4 of the paper does not.
    weights = kernel(present)
    shares = weights / weights.sum()
    x = present - product(shares, present.astype(np.float64))
    y = values - product(shares, values)
    inverted, _ = inverse(normal_equations(x, weights) + ALPHA * np.eye(x.shape[1]))
    unit = product(x, inverted)  # change of phi per unit of unweighted residual
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
    """Return the similarity of masks to the unmasked example, between 0 and 1: float64 [masks].

    Args:
        present: Masks, True for a feature that is kept: bool [masks, n].

    Example:
        >>> kernel(np.array([[True, True], [True, False], [False, False]])).round(4).tolist()
        [1.0, 0.5034, 0.0003]
    """
    cosine = np.sqrt(present.mean(axis=1))  # cosine similarity to the mask of all ones
    return np.exp(-((100 * (1 - cosine)) ** 2) / WIDTH**2 / 2)
