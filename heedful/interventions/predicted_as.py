"""Any intervention, on the examples that are predicted as one label."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.interventions.base import Changes, Expectation, Intervention
from heedful.records import Examples


@dataclass(frozen=True)
class PredictedAs:
    """The changes of another intervention, of the examples that are predicted as a label and of no others.

    In the rows it has the name, the version and the parts of the other, and its changes are the same.

    Attributes:
        label: The base prediction of the examples that are changed.
        of: What changes them.
        expectation: What should become of the prediction of such examples.
    """

    label: str
    of: Intervention
    expectation: Expectation

    @property
    def name(self) -> str:
        return self.of.name

    @property
    def version(self) -> int:
        return self.of.version

    @property
    def parts(self) -> tuple[str, ...]:
        return self.of.parts

    @property
    def draws(self) -> int:
        return self.of.draws

    @property
    def limit(self) -> int | None:
        return self.of.limit

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        return (*self.of.settings, "predicted as", self.label)

    def eligible(self, pool: Examples, positions: np.ndarray, answers: pa.Array) -> np.ndarray:
        predicted = pc.equal(answers, self.label).to_numpy(zero_copy_only=False)
        return predicted & self.of.eligible(pool, positions, answers)

    def changes(self, pool: Examples, positions: np.ndarray, seed: int) -> Changes:
        return self.of.changes(pool, positions, seed)
