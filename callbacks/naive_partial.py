"""Naive partial inputs as an evaluation: a model of all parts is given one alone."""

import pyarrow as pa

from callbacks.evaluation import Evaluation
from datamodules import PairedData
from interventions import Intervention, KeepPart
from metrics import Measurement, naive_partial
from records import Examples


class NaivePartial(Evaluation):
    """Agreement of the predictions on each part alone with those on the whole input (CAT, §3.2).

    It runs where ``--evaluations`` names it: the paper shows why it is no measure of attentiveness.
    """

    name = "naive_partial"
    by_default = False

    def pool(self, data: PairedData) -> Examples | None:
        return data.pool if len(data.task.parts) > 1 else None

    def headlines(self, data: PairedData) -> dict[str, str]:
        return {f"{part} alone": f"naive_partial/{data.name}/{part}" for part in data.task.parts}

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        parts = data.task.parts
        return [KeepPart(kept, tuple(part for part in parts if part != kept)) for kept in parts]

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        found: dict[str, Measurement] = {}
        for part in data.task.parts:
            found |= naive_partial(rows, data.name, part, data.seed)
        return found
