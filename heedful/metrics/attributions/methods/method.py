"""The interface of attribution methods that only evaluate the model on masked inputs."""

from collections.abc import Generator, Sequence
from typing import Protocol

import numpy as np

Rounds = Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]


class Method(Protocol):
    """An attribution method: a module that defines these names.

    Attributes:
        NAME: Its name in the rows.
        VERSION: Increased with each change of the masks for a given generator, or of the attributions for given values.
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
            Masks, bool [masks, n], True where a feature stays; receives f per mask, float64 [masks]. The masks with all
            features and with none are never requested, and no mask is requested if ``full`` and ``nothing`` suffice.

        Returns:
            phi, float64 [n], and their standard errors over random masks, float64 [n]: 0 if no mask had to be drawn,
            nan if unknown.
        """
        ...
