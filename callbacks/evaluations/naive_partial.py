"""The evaluation "naive_partial": a model of all parts receives one part alone."""

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting
from heedful.interventions import KeepPart
from heedful.metrics import METRICS
from heedful.metrics.naive_partial import NaivePartialSettings


class NaivePartial(Evaluation):
    """Share of predictions that stay the same when a model of all parts receives only one part (CAT, §3.2).

    The paper shows that this share does not measure attentiveness. The evaluation runs only if ``--evaluations`` names
    it.
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
