"""LIME: the coefficients of a linear model of f around the example (PAPERS: OOD performance from few examples)."""

from collections.abc import Sequence

import numpy as np

from interventions.masks import neighbours
from metrics.attributions.method import Rounds, demand
from metrics.attributions.sandwich import drawn_error

NAME, VERSION = "lime", 1
WIDTH, ALPHA = 25.0, 1.0  # of the kernel, and of the ridge


def explain(
    n: int, full: float, nothing: float, budget: int, rng: np.random.Generator, segments: Sequence[int]
) -> Rounds:
    """Explain one example by ``budget`` instances, the unmasked one among them: see :class:`~.method.Method`.

    One round. The phi do not sum to ``full - nothing``.
    """
    demand(NAME, budget, 2, n)
    present = np.concatenate([np.ones((1, n), dtype=bool), neighbours(n, budget - 1, rng)])
    values = np.full(budget, nothing)
    values[0] = full
    unknown = present.any(axis=1)
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
    masks. It says nothing of the shrinkage by alpha.

    Args:
        present: bool [masks, n], the first of which is the unmasked example; the others were drawn independently.
        values: f of each, float64 [masks].

    Returns:
        phi and their errors, float64 [n] each.
    """
    weights = kernel(present)
    x = present - weights @ present / weights.sum()
    bread = np.linalg.inv((x * weights[:, None]).T @ x + ALPHA * np.eye(x.shape[1]))
    y = values - weights @ values / weights.sum()
    phi = bread @ (x.T @ (weights * y))
    leverage = weights * (1 / weights.sum() + np.einsum("ij,jk,ik->i", x, bread, x))
    scores = x * (weights * (y - x @ phi) / (1 - leverage))[:, None]
    return phi, drawn_error(bread, scores[1:], np.ones(len(x) - 1, dtype=np.int64))


def kernel(present: np.ndarray) -> np.ndarray:
    """How close masks are to the unmasked example: float64 [masks], 1 for the example itself.

    Example:
        >>> kernel(np.array([[True, True], [True, False], [False, False]])).round(4).tolist()
        [1.0, 0.5034, 0.0003]
    """
    cosine = np.sqrt(present.mean(axis=1))  # of a mask and all ones; 0 where everything is masked
    return np.exp(-((100 * (1 - cosine)) ** 2) / WIDTH**2 / 2)
