"""The standard error of a regression on masks that were drawn."""

import numpy as np


def drawn_error(bread: np.ndarray, scores: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Sandwich estimate of how far coefficients would scatter if the masks were drawn again: float64 [n].

    The scores of independent draws are summed, so that the variance of the sum is that of a score, times their number.
    It needs no model of the noise: f is not random, only the masks are. Divide each residual by one minus the leverage
    of its draw (HC3) where the draws are few.

    Source: White 1980; Long and Ervin 2000 for HC3.

    Args:
        bread: The inverse of the normal equations, float64 [n, n].
        scores: What one draw adds to the right side of the normal equations, float64 [distinct draws, n].
        draws: How often each was drawn, int64 [distinct draws].

    Returns:
        nan for fewer than two draws.
    """
    count = draws.sum()
    if count < 2:
        return np.full(len(bread), np.nan)
    centred = scores - draws @ scores / count
    spread = (centred * draws[:, None]).T @ centred * (count / (count - 1))
    return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", bread, spread, bread), 0.0))
