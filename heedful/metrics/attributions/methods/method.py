"""The interface of attribution methods that see a model through masks alone."""

from collections.abc import Generator, Sequence
from typing import Protocol

import numpy as np

Rounds = Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]


class Method(Protocol):
    """An attribution method: a module with these names.

    Attributes:
        NAME: Its name in the rows.
        VERSION: Raised whenever the same generator would give other masks, or the same values other attributions.
    """

    NAME: str
    VERSION: int

    def explain(
        self,
        n: int,
        full: float,
        nothing: float,
        budget: int,
        rng: np.random.Generator,
        segments: Sequence[int],
    ) -> Rounds:
        """Explain one example, round by round; pure except for ``rng``.

        Args:
            n: Number of features, at least 1.
            full: f(x), the value of the unmasked example.
            nothing: f(nothing), with all features masked.
            budget: Largest number of masks, without ``full`` and ``nothing``; at least 2.
            rng: Draws the masks.
            segments: Number of features per part, its separator included; they sum to ``n``.

        Yields:
            Masks, bool [masks, n], True where a feature stays; receives f per mask, float64 [masks]. It never asks for
            all features, nor for none, and for nothing at all where ``full`` and ``nothing`` say enough.

        Returns:
            phi, float64 [n], and their standard errors over random masks, float64 [n]: 0 where none
            had to be drawn, nan where it cannot be known.
        """
        ...
