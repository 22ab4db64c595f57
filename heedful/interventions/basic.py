"""Basic interventions: repeat an example unchanged, keep one part, and restrict an intervention to examples with a
given prediction.
"""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Changes, EveryExample, Expectation, Intervention
from heedful.records import EMPTIED, Examples
from heedful.records.rows import NO_DRAW, lists_of


@dataclass(frozen=True)
class Null(EveryExample):
    """The null control: predict each example a second time, unchanged and in another batch.

    If the two predictions on an example differ, the difference is due to numerical error, since the input is the same.
    """

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


@dataclass(frozen=True)
class KeepPart(EveryExample):
    """Keep one part, and empty all others: a text or table becomes the empty text, a picture becomes blank.

    Source: CAT, section 3.2. Usually, the model has not been trained on such inputs.

    Attributes:
        part: Name of the part to keep, or several names joined by "+".
        parts: Names of the parts to empty.
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


@dataclass(frozen=True)
class PredictedAs:
    """Apply another intervention only to the examples that are predicted as a given label.

    Name, version, parts, draws and limit are copied from ``intervention``.

    Attributes:
        label: The required prediction before the change.
        intervention: The intervention that changes the examples.
        expectation: The expected effect on the prediction, in place of ``intervention.expectation``.
    """

    label: str
    intervention: Intervention
    expectation: Expectation
    name: str = field(init=False)
    version: int = field(init=False)
    parts: tuple[str, ...] = field(init=False)
    draws: int = field(init=False)
    limit: int | None = field(init=False)

    def __post_init__(self) -> None:
        for name in ("name", "version", "parts", "draws", "limit"):
            object.__setattr__(self, name, getattr(self.intervention, name))

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        return (*self.intervention.settings, "predicted as", self.label)

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        predicted = pc.equal(answers, self.label).to_numpy(zero_copy_only=False)
        return predicted & self.intervention.eligible(pool, positions, answers)

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        return self.intervention.changes(pool, positions, seed)
