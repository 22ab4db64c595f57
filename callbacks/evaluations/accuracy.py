"""Accuracy, its counterpart for answers in a text, and the null control, which measures numeric noise."""

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting
from heedful.interventions import Null
from heedful.metrics import METRICS
from heedful.metrics.accuracy import NullControl
from heedful.records import CLASSIFICATION, SOFT, SPAN, TEXT, TaskKind


class Accuracy(Evaluation):
    """Accuracy of the base predictions, or their mean score for soft labels, with the null control.

    Args:
        max_null: Number of examples that the null control repeats in training; evaluate.py repeats all,
            or a sample of those that a server answers.
    """

    metric = METRICS["accuracy"]
    in_training = True
    has_settings = False
    kinds: tuple[TaskKind, ...] = (CLASSIFICATION, SOFT, TEXT)  # of the tasks that it is about

    def __init__(self, max_null: int = 512) -> None:
        self.max_null = max_null

    def plan(self, setting: Setting) -> Plan | Nothing:
        data = setting.data
        if data.task.kind not in self.kinds:
            return Nothing()
        null = Null(limit=self.max_null if setting.monitoring else setting.capabilities.repeats)
        settings = NullControl(asked=setting.capabilities.repeats is not None)
        return Plan(data.pool, [null], settings, data.counts.hopeless)


class Answers(Accuracy):
    """Exact match and F1 of the base predictions, as SQuAD 2.0 defines them; the counterpart of accuracy for spans.

    Args:
        max_null: Number of examples that the null control repeats in training; evaluate.py repeats all,
            or a sample of those that a server answers.
    """

    metric = METRICS["answers"]
    kinds = (SPAN,)
