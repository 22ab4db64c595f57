"""KernelSHAP: Shapley values by regression on coalitions (Lundberg and Lee 2017)."""

from collections.abc import Sequence

import numpy as np

from heedful.interventions.masks import Coalitions, coalitions
from heedful.metrics.attributions.methods.method import Rounds
from heedful.metrics.attributions.methods.regression import drawn_error, inverse, normal_equations, product

NAME, VERSION = "shap", 1
RIDGE = 0.1  # if there are fewer coalitions than unknowns; z has a variance of about 1, and weights sum to 1
FEWEST = 0.25  # share of the features: with fewer random pairs, their scatter does not represent the other sizes
RANK = 1e-9  # a pivot below this share of the diagonal is 0


def explain(
    n: int, full: float, nothing: float, budget: int, rng: np.random.Generator, segments: Sequence[int]
) -> Rounds:
    """Explain one example: see :class:`~.method.Method`. One round.

    Exact where the budget is ``2**n - 2`` or more. From ``2 * n``, the coalitions include each single word and its
    complement, so that an additive f is explained exactly; :func:`shapley` describes smaller budgets.
    """
    if n == 1:
        return np.array([full - nothing]), np.zeros(1)
    subsets = coalitions(n, budget, rng)
    values = yield subsets.present
    return shapley(subsets, values, full, nothing)


def is_scarce(n: np.ndarray, budget: int) -> np.ndarray:
    """Whether a budget does not determine the phi of examples with n features (:func:`shapley`): bool [examples].

    Args:
        n: int [examples].
        budget: Largest number of masks per example.

    Example:
        >>> is_scarce(np.array([2, 32, 33]), 64).tolist()
        [False, False, True]
    """
    return (2 * n > budget) & (n > 2)


def shapley(subsets: Coalitions, values: np.ndarray, full: float, nothing: float) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares with ``sum(phi) = full - nothing`` (Lundberg and Lee 2017, theorem 2).

    Only the difference between a coalition and its complement matters: with z = 1 for a feature that stays and -1 for
    one that is masked, ``z @ phi`` should equal ``f(S) - f(complement of S)``. The regression fits the deviation of phi
    from an equal share of the sum.

    With fewer pairs than features (a budget below ``2 * n``), phi is undetermined or ill-conditioned. A ridge penalty
    then shrinks each phi towards the equal share: the sum still holds, but the largest phi are too small, an additive f
    is not explained exactly, and the errors are nan.

    Args:
        subsets: The coalitions.
        values: f of ``subsets.present``, float64 [2 * pairs].
        full: f of all features.
        nothing: f without features.

    Returns:
        phi, and the sandwich estimate of its standard error (HC3) over the pairs that were drawn, float64 [n] each.
        The error is 0 if all coalitions are present, and nan for fewer than two random pairs, or fewer than a quarter
        of the number of features.
    """
    n = subsets.half.shape[1]
    weights = subsets.weights / subsets.weights.sum()
    z = np.where(subsets.half, 1.0, -1.0)
    share = (full - nothing) / n
    target = values[::2] - values[1::2] - z.sum(axis=1) * share
    z -= z.mean(axis=1, keepdims=True)  # the sum is fixed and does not enter the regression
    normal = normal_equations(z, weights) + 1 / n  # invertible, although the fixed sum is excluded
    inverted, pivot = inverse(normal)
    is_scarce = pivot < RANK or (not subsets.complete and len(z) < n)
    if is_scarce:
        inverted, _ = inverse(normal + RIDGE * np.eye(n))
    unit = product(z, inverted)  # change of phi per unit of residual, before weighting
    excess = product(weights * target, unit)
    phi = share + excess
    if subsets.complete:
        return phi, np.zeros(n)
    if is_scarce or subsets.draws.sum() < FEWEST * n:
        return phi, np.full(n, np.nan)
    is_drawn = subsets.draws > 0
    each = weights[is_drawn] / subsets.draws[is_drawn]  # the weight of a single draw
    leverage = each * (unit * z).sum(axis=1)[is_drawn]
    residuals = (target - product(z, excess))[is_drawn]
    return phi, drawn_error(unit[is_drawn] * (each * residuals / (1 - leverage))[:, None], subsets.draws[is_drawn])
