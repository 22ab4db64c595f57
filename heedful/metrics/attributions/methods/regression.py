"""Weighted regression on masks, and the standard error due to random masks.

BLAS and LAPACK are avoided: from about 90 features, the last bits of their results depend on the number of threads.
"""

import numpy as np


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of two matrices or vectors in float64, with the same bits for any number of threads."""
    # not "@": the order of summation in BLAS, and so the last bits, depend on the number of threads
    subscripts_a = "ij"[2 - a.ndim :]
    subscripts_b = "jk"[: b.ndim]
    return np.einsum(f"{subscripts_a},{subscripts_b}->{subscripts_a[:-1]}{subscripts_b[1:]}", a, b)


def normal_equations(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the matrix of the normal equations of a regression, ``x.T @ diag(weights) @ x``: float64 [n, n].

    Args:
        x: Regressors: float64 [rows, n].
        weights: Weight per row: float64 [rows].
    """
    return product((x * weights[:, None]).T, x)


def inverse(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Invert a symmetric positive definite matrix, [n, n], by Gauss-Jordan elimination without pivoting.

    Returns:
        The inverse, float64 [n, n]; and the smallest pivot as a share of the largest number on the diagonal. If this
        share is negative, or 0 up to rounding, the matrix is singular and the first result is not an inverse.
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
    """Estimate the standard error of regression coefficients over random masks: float64 [n]; nan for one mask.

    The masks must be drawn independently of each other. The estimate is the "sandwich" of White.

    Source: White (1980); MacKinnon and White (1985) for HC3.

    Args:
        influence: How much one draw of a mask changes the coefficients, with the residual of the mask divided by one
            minus its leverage (HC3): float64 [distinct masks, n].
        draws: Number of times that each mask was drawn: int64 [distinct masks].
    """
    count = draws.sum()
    if count < 2:
        return np.full(influence.shape[1], np.nan)
    # The variance of a sum over independent masks is the variance of a term times the number of masks. Only the masks
    # are random; the probability for a given mask has no noise. By HC3, an influence is the change of the coefficients
    # without this draw; with few masks, the error is then too large rather than too small.
    centred = influence - product(draws / count, influence)
    return np.sqrt(product(draws * (count / (count - 1)), centred**2))
