"""Exact match and F1 of answers that are pieces of a text, with the null control."""

from dataclasses import replace

from callbacks.engine.evaluation import Nothing, Plan, Setting
from callbacks.evaluations.accuracy import Accuracy
from metrics import METRICS
from records import SPAN


class Answers(Accuracy):
    """Exact match and F1 of the base predictions, as SQuAD 2.0 defines them; the counterpart of accuracy for spans.

    Args:
        max_null: How many examples the null control repeats in training; evaluate.py repeats all.
    """

    metric = METRICS["answers"]
    kinds = (SPAN,)

    def plan(self, setting: Setting) -> Plan | Nothing:
        plan = super().plan(setting)
        return plan if isinstance(plan, Nothing) else replace(plan, counts={"not_in_text": setting.data.absent})
