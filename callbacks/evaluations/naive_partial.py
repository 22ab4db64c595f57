"""Naive partial inputs as an evaluation: a model of all parts is given one alone."""

import pyarrow as pa

from callbacks.engine.evaluation import Evaluation
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
        return data.pool if len(data.sides) > 1 else None

    def headlines(self, data: PairedData) -> dict[str, str]:
        return {f"{side} alone": f"naive_partial/{data.name}/{side}" for side in data.sides}

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        parts = data.task.parts
        return [KeepPart(side, tuple(p for p in parts if p not in side.split("+"))) for side in data.sides]

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        found: dict[str, Measurement] = {}
        for side in data.sides:
            found |= naive_partial(rows, data.name, side, data.seed, data.full_task.kind)
        return found
