"""Random masks, and weighted regression on them: the parts that LIME and SHAP have in common."""

import numpy as np


def subsets(sizes: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw uniform random subsets of ``n`` features with the given sizes: bool [sizes, n], True for a member."""
    # each row of orders is a uniform permutation, whose entries below a size are a uniform subset of this size
    orders = rng.random((len(sizes), n)).argsort(axis=1)
    return orders < sizes[:, None]


def fit(
    x: np.ndarray, y: np.ndarray, weights: np.ndarray, draws: np.ndarray, penalty: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fit ``y = x @ phi`` by penalised weighted least squares, and estimate the error of phi over random rows.

    The error is the "sandwich" of White (1980) with the correction HC3 of MacKinnon and White (1985). It leaves out the
    bias of the penalty.

    Args:
        x: Regressors: float64 [rows, n].
        y: Values: float64 [rows].
        weights: Weights of the rows: float64 [rows].
        draws: How often each row was drawn at random, 0 for a row that is always present: int64 [rows].
        penalty: The matrix P of the penalty ``phi @ P @ phi``: float64 [n, n].

    Returns:
        phi, and its standard errors, which are nan for fewer than two draws: float64 [n] each.
    """
    unit = np.linalg.solve((x.T * weights) @ x + penalty, x.T).T  # change of phi per unit of unweighted residual
    phi = (weights * y) @ unit
    count = draws.sum()
    if count < 2:
        return phi, np.full(len(phi), np.nan)
    # Only the rows are random; the value of a given row has no noise. The influence is the change of phi without one
    # draw; with few rows, the error is then too large rather than too small.
    is_drawn = draws > 0
    x, y, unit, draws = x[is_drawn], y[is_drawn], unit[is_drawn], draws[is_drawn]
    weight_of_draw = weights[is_drawn] / draws
    leverage = weight_of_draw * (unit * x).sum(axis=1)
    influence = unit * (weight_of_draw * (y - x @ phi) / (1 - leverage))[:, None]
    centred = influence - draws @ influence / count
    return phi, np.sqrt(draws @ centred**2 * count / (count - 1))
