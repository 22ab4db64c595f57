"""The null control: nothing changes but the company that an example keeps in its batch."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from heedful.interventions.base import Changes, Expectation
from heedful.records import Examples
from heedful.records.rows import NO_DRAW, lists_of


@dataclass(frozen=True)
class Null:
    """The same example once more, among other companions. A prediction that flips here is numeric noise."""

    name: str = "null"
    version: int = 1
    parts: tuple[str, ...] = ()
    draws: int = 0
    expectation: Expectation = "stay"
    limit: int | None = None
    settings: tuple[str | int | bool, ...] = ()

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        return np.ones(len(positions), dtype=bool)

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        draws = np.full(len(positions), NO_DRAW, dtype=np.int16)
        return Changes(positions, draws, lists_of(pool.uids.take(positions)))
