"""The null control, one part alone, and the restriction of an intervention to examples with one prediction."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Changes, EveryExample, Expectation, Intervention
from heedful.records import EMPTIED, Examples
from heedful.records.rows import NO_DRAW, lists_of


@dataclass(frozen=True)
class Null(EveryExample):
    """Repeat each example with other batch mates. A flipped prediction is numeric noise."""

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


@dataclass(frozen=True)
class PredictedAs:
    """The changes of another intervention, for the examples that are predicted as one label.

    Its rows have the name, version and parts of the other intervention.

    Attributes:
        label: The base prediction of the changed examples.
        intervention: Makes the changes.
        expectation: The expected effect on the prediction.
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
