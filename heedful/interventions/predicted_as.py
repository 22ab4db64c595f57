"""An intervention that is restricted to examples with one prediction."""

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Changes, Expectation, Intervention
from heedful.records import Examples


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
