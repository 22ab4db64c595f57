"""KernelSHAP: Shapley values by regression on coalitions (PAPERS: OOD performance from few examples)."""

from collections.abc import Sequence

import numpy as np

from interventions.masks import Coalitions, coalitions
from metrics.attributions.method import Rounds, demand
from metrics.attributions.sandwich import drawn_error

NAME, VERSION = "shap", 1
RIDGE = 0.1  # where coalitions are fewer than unknowns; z has variance 1 or so, and weights sum to 1
FEWEST = 0.25  # of the features: so many pairs have to be drawn, or their scatter says nothing of the sizes not drawn
RANK = 1e-9  # an eigenvalue below this share of the largest one is 0


def explain(
    n: int, full: float, nothing: float, budget: int, rng: np.random.Generator, segments: Sequence[int]
) -> Rounds:
    """Explain one example: see :class:`~.method.Method`. One round.

    Exact where the budget is ``2**n - 2`` or more. From ``2 * n`` on, each word stands alone and is left out alone,
    once each, so that an additive f is explained exactly; :func:`shapley` says what holds below that.
    """
    if n == 1:
        return np.array([full - nothing]), np.zeros(1)
    demand(NAME, budget, 2, n)
    chosen = coalitions(n, budget, rng)
    values = yield chosen.present
    return shapley(chosen, values, full, nothing)


def shapley(chosen: Coalitions, values: np.ndarray, full: float, nothing: float) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares with ``sum(phi) = full - nothing`` (Lundberg and Lee 2017, theorem 2).

    Of a coalition and its complement only the difference counts: with z = 1 for a feature that stays and -1 for one
    that is masked, ``z @ phi`` is to equal ``f(S) - f(complement of S)``. What is fitted is how far each phi is from an
    equal share of the sum.

    Fewer pairs than features (a budget below ``2 * n``) do not determine phi, or so badly that errors explode. A ridge
    then draws each phi towards the equal share: the sum still holds, the largest phi come out too small, an additive f
    is not explained exactly any more, and the errors are nan.

    Args:
        chosen: The coalitions.
        values: f of ``chosen.present``, float64 [2 * pairs].
        full: f of all features.
        nothing: f of none.

    Returns:
        phi, and the sandwich estimate of its standard error (HC3) over the pairs that were drawn, float64 [n] each.
        The error is 0 where all coalitions are there; nan where the pairs that were drawn are fewer than a quarter of
        the features, or than two.
    """
    n, weights = chosen.half.shape[1], chosen.weights / chosen.weights.sum()
    z = np.where(chosen.half, 1.0, -1.0)
    share = (full - nothing) / n
    target = values[::2] - values[1::2] - z.sum(axis=1) * share
    z -= z.mean(axis=1, keepdims=True)  # a direction that the sum leaves free
    normal = (z * weights[:, None]).T @ z
    eigenvalues, vectors = np.linalg.eigh(normal)
    is_scarce = eigenvalues[1] <= RANK * eigenvalues[-1] or (not chosen.complete and len(z) < n)
    vectors, eigenvalues = vectors[:, 1:], eigenvalues[1:]  # the first one is the sum, with eigenvalue 0
    bread = vectors / (eigenvalues + is_scarce * RIDGE) @ vectors.T
    apart = bread @ (z.T @ (weights * target))
    if chosen.complete:
        return share + apart, np.zeros(n)
    if is_scarce or chosen.draws.sum() < FEWEST * n:
        return share + apart, np.full(n, np.nan)
    drawn = chosen.draws > 0
    z, draws, residuals = z[drawn], chosen.draws[drawn], (target - z @ apart)[drawn]
    each = weights[drawn] / draws  # the weight of a single draw
    leverage = each * np.einsum("ij,jk,ik->i", z, bread, z)
    scores = z * (each * residuals / (1 - leverage))[:, None]
    return share + apart, drawn_error(bread, scores, draws)
