"""Accuracy, and the null control that says how much of any change is numeric noise."""

from typing import Any

import pyarrow as pa

from callbacks.engine.evaluation import Evaluation
from datamodules import PairedData
from interventions import Intervention, Null
from metrics import Measurement, accuracy, noise, soft_accuracy
from records import CLASSIFICATION, SOFT, Examples, TaskKind


class Accuracy(Evaluation):
    """Accuracy of the base predictions, with the null control; of soft labels, what the predictions are worth.

    Args:
        max_null: How many examples the null control repeats in training; evaluate.py repeats all.
    """

    name = "accuracy"
    kinds: tuple[TaskKind, ...] = (CLASSIFICATION, SOFT)  # of the tasks that it is about

    def __init__(self, max_null: int = 512) -> None:
        self.max_null = max_null

    def pool(self, data: PairedData) -> Examples | None:
        return data.pool if data.full_task.kind in self.kinds else None

    def headlines(self, data: PairedData) -> dict[str, str]:
        return {"accuracy": f"accuracy/{data.name}"}

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        return [Null(limit=self.max_null if monitoring else None)]

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        if data.full_task.kind is SOFT:
            return {**soft_accuracy(rows, data.name, data.seed), **noise(rows, data.name)}
        return {**accuracy(rows, data.name, data.seed, data.splits_evaluated), **noise(rows, data.name)}

    def counts(self, rows: pa.Table, data: PairedData) -> dict[str, Any]:
        return {"not_in_labels": data.unanswerable} if data.full_task.kind is SOFT else {}
