"""The evaluation "counterpart": are edited versions of examples answered as the data say?"""

from heedful.callbacks.engine.evaluation import NEEDS_GOLD, Evaluation, Nothing, Plan, Setting
from heedful.interventions import EditedParts, Members
from heedful.metrics import METRICS
from heedful.records import DataError


class Counterparts(Evaluation):
    """Accuracy on examples and on edited versions of them, whose gold labels the data name; and consistency.

    The setting ``data.counterpart`` says where the edited versions are, as in contrast sets and counterfactual data.
    Source: "Evaluating Models' Local Decision Boundaries via Contrast Sets" (Gardner et al. 2020).
    """

    metric = METRICS["counterpart"]
    in_training = True
    has_settings = False

    def plan(self, setting: Setting) -> Plan | Nothing:
        pool, counterpart = setting.data.pool, setting.data.columns.counterpart
        if counterpart is None:
            return Nothing("needs data with edited versions of examples: data.counterpart")
        if pool.is_unlabelled:
            return Nothing(NEEDS_GOLD)
        if not counterpart.is_joined:
            has_any = pool.table["edited.label"].null_count < len(pool)
            change = EditedParts(tuple(part for part in pool.parts if part in counterpart.parts))
        else:
            change = Members.of(pool)
            has_any = bool(change.counterparts)
        if not has_any:
            raise DataError(
                f"{setting.data.name}: no evaluated example has a counterpart. Name other columns in data.counterpart."
            )
        return Plan(pool, [change])
