"""The evaluation "default_label": do predictions of the default label stay when a part is swapped?"""

from typing import Any

import numpy as np
import pyarrow as pa

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting, require_number
from heedful.interventions import Families, Null, PredictedAs, Siblings, Swap
from heedful.metrics import METRICS
from heedful.metrics.default_label import DefaultLabelSettings
from heedful.records import Context
from heedful.records.rows import MOST_DRAWS, SPLIT, number_runs, rows_with


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
        swaps = [Swap(part, None, self.draws, within=within) for part in data.swap]
        plans = [PredictedAs(label, change, "stay") for change in (Null(), *swaps)]
        parts = () if data.pool.is_unlabelled else data.swap  # siblings differ in their gold label
        related = {part: Families(data.pool, part, label, within, data.task.kind) for part in parts}
        counts = {f"{part}/with_sibling": families.count() for part, families in related.items()}
        related = {part: families for part, families in related.items() if counts[f"{part}/with_sibling"]}
        plans += [
            PredictedAs(label, Siblings(part, siblings, self.draws), "change") for part, siblings in related.items()
        ]
        siblings = {part: "+".join(families.others) for part, families in related.items()}
        settings = DefaultLabelSettings(tuple(data.swap), siblings)
        return Plan(data.pool, plans, settings, counts)

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        example = number_runs(rows, "uid")
        settings = DefaultLabelSettings.from_context(context)
        changed = [(part, "swap", part) for part in settings.swap]
        changed += [(part, "sibling", replaced) for part, replaced in settings.siblings.items()]
        return {
            f"{part}/{name}": len(np.unique(example[rows_with(rows, intervention=name, part=changed_part)]))
            for part, name, changed_part in changed
        }
