"""The null control: the same example in another batch."""

from dataclasses import dataclass

import numpy as np

from heedful.interventions.base import Changes, EveryExample, Expectation
from heedful.records import Examples
from heedful.records.rows import NO_DRAW, lists_of


@dataclass(frozen=True)
class Null(EveryExample):
    """Repeat each example with other batch mates. A prediction that flips is numeric noise."""

    name: str = "null"
    version: int = 1
    parts: tuple[str, ...] = ()
    draws: int = 0
    expectation: Expectation = "stay"
    limit: int | None = None
    settings: tuple[str | int | bool, ...] = ()

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        draws = np.full(len(positions), NO_DRAW, dtype=np.int16)
        return Changes(positions, draws, lists_of(pool.uids.take(positions)))
