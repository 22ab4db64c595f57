"""KernelSHAP: Shapley values by regression of the probability of a label on coalitions, the sets of kept features
(Lundberg and Lee 2017).
"""

from collections.abc import Sequence

import numpy as np

from heedful.interventions.masks import Coalitions, coalitions
from heedful.metrics.attributions.methods.method import Rounds
from heedful.metrics.attributions.methods.regression import drawn_error, inverse, normal_equations, product

NAME, VERSION = "shap", 1
RIDGE = 0.1  # penalty if coalitions do not determine phi; z has a variance of about 1, and weights sum to 1
FEWEST = 0.25  # random pairs per feature; the scatter of fewer pairs does not represent coalitions of all sizes
RANK = 1e-9  # a smaller pivot, as a share of the diagonal, counts as 0


def explain(
    n: int, full: float, nothing: float, budget: int, rng: np.random.Generator, segments: Sequence[int]
) -> Rounds:
    """Attribute a probability to the features of an example by KernelSHAP, in one round of masks.

    For arguments and results, see :meth:`.method.Method.explain`. The result is exact for a budget of at least
    ``2**n - 2``. For at least ``2 * n``, the masks include each single feature and its complement, so that the result
    is exact if the contributions of features add up. :func:`shapley` describes smaller budgets.
    """
    if n == 1:
        return np.array([full - nothing]), np.zeros(1)
    subsets = coalitions(n, budget, rng)
    values = yield subsets.present
    return shapley(subsets, values, full, nothing)


def is_scarce(n: np.ndarray, budget: int) -> np.ndarray:
    """Whether a budget of masks is too small to determine the Shapley values phi (:func:`shapley`): bool [examples].

    Args:
        n: Number of features per example: int [examples].
        budget: Largest number of masks per example.

    Example:
        >>> is_scarce(np.array([2, 32, 33]), 64).tolist()
        [False, False, True]
    """
    return (2 * n > budget) & (n > 2)


def shapley(subsets: Coalitions, values: np.ndarray, full: float, nothing: float) -> tuple[np.ndarray, np.ndarray]:
    """Estimate the Shapley values phi of n features by weighted least squares (Lundberg and Lee 2017, theorem 2).

    f is the probability of a label as a function of the kept features. The phi sum to ``full - nothing``. Coalitions
    come in pairs of a coalition and its complement.

    With fewer pairs than features (a budget below ``2 * n``), phi is undetermined or ill-conditioned. A ridge penalty
    then moves each phi towards ``(full - nothing) / n``: large phi are too small, an additive f is not explained
    exactly, and errors are nan.

    Args:
        subsets: The coalitions.
        values: f of ``subsets.present``: float64 [2 * pairs].
        full: f of all features.
        nothing: f of no features.

    Returns:
        phi, and their standard errors over the random pairs (HC3): float64 [n] each. The errors are 0 if all coalitions
        are present, and nan for fewer than two random pairs, or fewer than a quarter of the number of features.
    """
    # With z = 1 for a feature of a coalition S and -1 for another feature, z @ phi should equal f(S) - f(complement of
    # S). The regression fits the deviations of phi from (full - nothing) / n, under the constraint of a fixed sum.
    n = subsets.half.shape[1]
    weights = subsets.weights / subsets.weights.sum()
    z = np.where(subsets.half, 1.0, -1.0)
    share = (full - nothing) / n
    target = values[::2] - values[1::2] - z.sum(axis=1) * share
    z -= z.mean(axis=1, keepdims=True)  # the fixed sum does not enter the regression
    normal = normal_equations(z, weights) + 1 / n  # the constant makes the matrix invertible
    inverted, pivot = inverse(normal)
    is_scarce = pivot < RANK or (not subsets.complete and len(z) < n)
    if is_scarce:
        inverted, _ = inverse(normal + RIDGE * np.eye(n))
    unit = product(z, inverted)  # change of phi per unit of unweighted residual
    excess = product(weights * target, unit)
    phi = share + excess
    if subsets.complete:
        return phi, np.zeros(n)
    if is_scarce or subsets.draws.sum() < FEWEST * n:
        return phi, np.full(n, np.nan)
    is_drawn = subsets.draws > 0
    each = weights[is_drawn] / subsets.draws[is_drawn]  # weight of a pair that is drawn once
    leverage = each * (unit * z).sum(axis=1)[is_drawn]
    residuals = (target - product(z, excess))[is_drawn]
    return phi, drawn_error(unit[is_drawn] * (each * residuals / (1 - leverage))[:, None], subsets.draws[is_drawn])
