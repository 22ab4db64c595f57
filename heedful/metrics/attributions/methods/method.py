"""Interface of attribution methods that need only predictions on masked inputs."""

from collections.abc import Generator, Sequence
from typing import Protocol

import numpy as np

Rounds = Generator[np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray]]


class Method(Protocol):
    """An attribution method: a module that has the attributes below and the function ``explain``.

    Attributes:
        NAME: Name of the method in rows.
        VERSION: Version of the method; a change of the masks or of the attributions increases it.
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
        """Attribute the probability of a label to the features of one example, with masks that are asked for in rounds.

        f is this probability as a function of a mask, which keeps some features (words and separators).

        Args:
            n: Number of features, at least 1.
            full: f of all features.
            nothing: f of no features.
            budget: Largest number of masks, at least 2; ``full`` and ``nothing`` do not count.
            rng: Generator of the random masks.
            segments: Number of features per part, with the sum ``n``.

        Yields:
            The masks of a round, True for a feature that is kept: bool [masks, n]. The caller sends their values, f of
            each mask: float64 [masks]. The masks with all features and with none are never yielded.

        Returns:
            phi, the contribution of each feature: float64 [n]; and the standard errors of phi due to random masks, 0 if
            phi is exact and nan if unknown: float64 [n].
        """
        ...
