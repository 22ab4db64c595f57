"""One part alone, for a model that was trained on all parts."""

from dataclasses import dataclass

import numpy as np

from heedful.interventions.base import Changes, EveryExample, Expectation
from heedful.records import EMPTIED, Examples
from heedful.records.rows import NO_DRAW, lists_of


@dataclass(frozen=True)
class KeepPart(EveryExample):
    """Empty all parts but one: a text or a table becomes the empty text, a picture a blank one.

    Source: CAT, section 3.2. The model was never trained on such inputs.

    Attributes:
        part: The part that stays, or several joined by "+".
        parts: The parts that are emptied.
    """

    part: str
    parts: tuple[str, ...]
    name: str = "keep"
    version: int = 1
    draws: int = 0
    expectation: Expectation = "change"
    limit: int | None = None
    settings: tuple[str | int | bool, ...] = ()

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        draws = np.full(len(positions), NO_DRAW, dtype=np.int16)
        lenders = dict.fromkeys(self.parts, np.full(len(positions), EMPTIED))
        return Changes(positions, draws, lists_of(pool.uids.take(positions)), lenders=lenders, variant=self.part)
