"""The evaluation "default_label": do predictions of the default label stay when a part is swapped?"""

from functools import partial

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting, require_number
from heedful.interventions import Families, Null, Siblings, Swap
from heedful.metrics import METRICS
from heedful.metrics.default_label import DefaultLabelSettings
from heedful.records.rows import MOST_DRAWS, SPLIT, STAYS


class DefaultLabel(Evaluation):
    """How predictions of the default label, which the attentiveness test excludes, change under swaps.

    The swaps equal the swaps of the attentiveness test. Here a swap should not change the prediction, but the
    replacement of an example by a sibling should. A sibling has the same content of a part, such as the premise, and
    another label. The evaluation runs only if ``--evaluations`` names it.

    Args:
        draws: Number of swaps per example, and the largest number of siblings per example.
    """

    metric = METRICS["default_label"]
    by_default = False

    def __init__(self, draws: int = Swap.draws) -> None:
        require_number("default_label.draws", draws, most=MOST_DRAWS)
        self.draws = draws

    def plan(self, setting: Setting) -> Plan | Nothing:
        data = setting.data
        label = data.default_label
        if label is None or not data.swap:
            return Nothing("needs data with a default label, and a part to swap")
        within = SPLIT if data.splits_evaluated else None
        swap = partial(Swap, default_label=None, within=within, draws=self.draws, expects=STAYS, predicted_as=label)
        plans = [Null(predicted_as=label), *(swap(part) for part in data.swap)]
        parts = () if data.pool.is_unlabelled else data.swap  # siblings differ in their gold label
        related = {part: Families(data.pool, part, label, within, data.task.kind) for part in parts}
        counts = {f"{part}/with_sibling": families.count() for part, families in related.items()}
        related = {part: families for part, families in related.items() if counts[f"{part}/with_sibling"]}
        plans += [Siblings(part, found, draws=self.draws, predicted_as=label) for part, found in related.items()]
        siblings = {part: "+".join(families.others) for part, families in related.items()}
        settings = DefaultLabelSettings(tuple(data.swap), siblings)
        return Plan(data.pool, plans, settings, counts)
