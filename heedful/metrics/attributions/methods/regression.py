"""Weighted regression on masks, and the standard error due to random masks.

BLAS and LAPACK are avoided: from about 90 features, the last bits of their results depend on the number of threads.
"""

import numpy as np


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix product, float64; either may be a vector."""
    # not "@": the order of summation in BLAS, and so the last bits, depend on the number of threads
    subscripts_a = "ij"[2 - a.ndim :]
    subscripts_b = "jk"[: b.ndim]
    return np.einsum(f"{subscripts_a},{subscripts_b}->{subscripts_a[:-1]}{subscripts_b[1:]}", a, b)


def normal_equations(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """``x.T @ diag(weights) @ x``: float64 [n, n].

    Args:
        x: float64 [rows, n].
        weights: float64 [rows].
    """
    return product((x * weights[:, None]).T, x)


def inverse(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Invert a symmetric positive definite matrix by Gauss-Jordan elimination, which needs no pivoting there.

    Returns:
        float64 [n, n]; and the smallest pivot, as a share of the largest number on the diagonal. If it is 0 up to
        rounding, or negative, the matrix is singular and the first result is not its inverse.
    """
    largest = matrix.diagonal().max()
    smallest = np.inf
    matrix = matrix.copy()
    for k in range(len(matrix)):
        pivot = matrix[k, k]
        column = matrix[:, k].copy()
        smallest = min(smallest, pivot)
        if smallest <= 0:
            break
        row = matrix[k] / pivot
        matrix -= np.multiply.outer(column, row)
        matrix[k] = row
        matrix[:, k] = -column / pivot
        matrix[k, k] = 1 / pivot
    return matrix, float(smallest / largest)


def drawn_error(influence: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Sandwich estimate of the standard error of coefficients over random masks: float64 [n].

    The variance of a sum of independent draws is the variance of a draw times their number. No noise is assumed: only
    the masks are random, f is not. If residuals are divided by one minus the leverage of their draw (HC3), the
    influence of a draw is the change of the coefficients without it, and the error is too large rather than too small
    for few draws.

    Source: White 1980; MacKinnon and White 1985 for HC3.

    Args:
        influence: Contribution of a draw to the coefficients, float64 [distinct draws, n].
        draws: Multiplicity of each draw, int64 [distinct draws].

    Returns:
        nan for fewer than two draws.
    """
    count = draws.sum()
    if count < 2:
        return np.full(influence.shape[1], np.nan)
    centred = influence - product(draws / count, influence)
    return np.sqrt(product(draws * (count / (count - 1)), centred**2))
