"""Exact match and F1 of answers that are pieces of a text, with the null control."""

from heedful.callbacks.evaluations.accuracy import Accuracy
from heedful.metrics import METRICS
from heedful.records import SPAN


class Answers(Accuracy):
    """Exact match and F1 of the base predictions, as SQuAD 2.0 defines them; the counterpart of accuracy for spans.

    Args:
        max_null: How many examples the null control repeats in training; evaluate.py repeats all.
    """

    metric = METRICS["answers"]
    kinds = (SPAN,)
