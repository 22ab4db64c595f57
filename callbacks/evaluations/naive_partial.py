"""Naive partial inputs as an evaluation: a full-input model receives one part alone."""

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting
from heedful.interventions import KeepPart
from heedful.metrics import METRICS
from heedful.metrics.naive_partial import NaivePartialSettings


class NaivePartial(Evaluation):
    """Agreement of the predictions on single parts with predictions on the whole input (CAT, §3.2).

    It runs only if ``--evaluations`` names it, since the paper shows that it does not measure attentiveness.
    """

    metric = METRICS["naive_partial"]
    by_default = False

    def plan(self, setting: Setting) -> Plan | Nothing:
        data = setting.data
        if len(data.sides) < 2:
            return Nothing()
        parts = data.task.parts
        interventions = [KeepPart(side, tuple(p for p in parts if p not in side.split("+"))) for side in data.sides]
        return Plan(data.pool, interventions, NaivePartialSettings(tuple(data.sides)))
