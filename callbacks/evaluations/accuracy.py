"""The evaluations "accuracy" and "answers" (exact match and F1); each also counts repeated predictions that differ."""

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting
from heedful.interventions import Null
from heedful.metrics import METRICS
from heedful.metrics.accuracy import NullControl
from heedful.records import CLASSIFICATION, CONTAINED, SOFT, SPAN, TEXT, TaskKind


class Accuracy(Evaluation):
    """Accuracy of the predictions for unchanged examples; if labels are soft (scores of several answers), the mean
    score of the predicted answers.

    The null control predicts examples again, unchanged, in other batches. A prediction that differs is numeric noise.

    Args:
        max_null: Number of examples that the null control repeats in training. evaluate.py repeats all examples, or a
            sample if a server answers.
    """

    metric = METRICS["accuracy"]
    in_training = True
    has_settings = False
    kinds: tuple[TaskKind, ...] = (CLASSIFICATION, SOFT, TEXT)  # the supported kinds of tasks

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
    """Exact match and F1, as in SQuAD 2.0, for tasks whose answers are spans of a text; with the null control."""

    metric = METRICS["answers"]
    kinds = (SPAN, CONTAINED)
