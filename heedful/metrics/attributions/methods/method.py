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
        """Explain one example, round by round; pure but for ``rng``.

        Args:
            n: How many features the example has, at least 1.
            full: f(x), what the model says of the example as it is.
            nothing: f(nothing), with all features masked.
            budget: At most so many masks are asked for, ``full`` and ``nothing`` not counted; at least 2.
            rng: Draws the masks.
            segments: How many features each part has, its separator included; they sum to ``n``.

        Yields:
            Masks, bool [masks, n], True where a feature stays; is sent f of each, float64 [masks]. It never asks for
            all features, nor for none, and for nothing at all where ``full`` and ``nothing`` say enough.

        Returns:
            phi, float64 [n], and the standard error of each by the masks that were drawn, float64 [n]: 0 where none
            had to be drawn, nan where it cannot be known.
        """
        ...
