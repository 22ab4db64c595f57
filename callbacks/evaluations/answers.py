"""Exact match and F1 of answers that are pieces of a text, with the null control."""

from typing import Any

import pyarrow as pa

from callbacks.evaluations.accuracy import Accuracy
from datamodules import PairedData
from metrics import Measurement, noise, reading_scores
from records import SPAN


class Answers(Accuracy):
    """Exact match and F1 of the base predictions, as SQuAD 2.0 defines them; the counterpart of accuracy for spans.

    Args:
        max_null: How many examples the null control repeats in training; evaluate.py repeats all.
    """

    name = "answers"
    kinds = (SPAN,)

    def headlines(self, data: PairedData) -> dict[str, str]:
        return {"F1": f"f1/{data.name}", "exact match": f"exact_match/{data.name}"}

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        return {**reading_scores(rows, data.name, data.seed), **noise(rows, data.name)}

    def counts(self, rows: pa.Table, data: PairedData) -> dict[str, Any]:
        return {"not_in_text": data.absent}
