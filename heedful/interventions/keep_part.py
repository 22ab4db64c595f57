"""One part alone, for a model that was trained on all of them."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from heedful.interventions.base import Changes, Expectation
from heedful.records import EMPTIED, Examples
from heedful.records.rows import NO_DRAW, lists_of


@dataclass(frozen=True)
class KeepPart:
    """All parts but some are emptied: a text or a table becomes the empty text, a picture one that shows nothing.

    Source: CAT, §3.2. The model was never trained on such inputs.

    Attributes:
        kept: The part that stays, or several, joined by "+".
        emptied: The other parts.
    """

    kept: str
    emptied: tuple[str, ...]
    name: str = "keep"
    version: int = 1
    draws: int = 0
    expectation: Expectation = "change"
    limit: int | None = None
    settings: tuple[str | int | bool, ...] = ()

    @property
    def parts(self) -> tuple[str, ...]:
        return self.emptied

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        return np.ones(len(positions), dtype=bool)

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        draws = np.full(len(positions), NO_DRAW, dtype=np.int16)
        clusters = lists_of(pool.uids.take(positions))
        lenders = dict.fromkeys(self.emptied, np.full(len(positions), EMPTIED))
        return Changes(positions, draws, clusters, lenders=lenders, variant=self.kept)
