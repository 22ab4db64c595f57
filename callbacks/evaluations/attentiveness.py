"""The Counterfactual Attentiveness Test as an evaluation."""

from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting, require_number
from heedful.interventions import Swap
from heedful.metrics import METRICS
from heedful.metrics.attentiveness import OneText, parts_of
from heedful.metrics.hits import eligible, hits
from heedful.records import Context
from heedful.records.rows import BASE, MOST_DRAWS, SPLIT, where


class Attentiveness(Evaluation):
    """Attentiveness to each part that the data set swaps (``--data.swap``), and what another's distractor changes.

    Args:
        draws: Counterfactuals for each example (the paper's k).
        max_examples: In each epoch of training, at most this many examples are changed; None for all. evaluate.py
            always takes all.
    """

    metric = METRICS["attentiveness"]
    in_training = True

    def __init__(self, draws: int = Swap.draws, max_examples: int | None = 2000) -> None:
        require_number("attentiveness.draws", draws, most=MOST_DRAWS)
        require_number("attentiveness.max_examples", max_examples)
        self.draws = draws
        self.max_examples = max_examples

    def plan(self, setting: Setting) -> Plan | Nothing:
        if not setting.data.swap and not setting.data.distractors:
            return Nothing("needs a part to swap, and a model that reads another one beside it")
        data = setting.data
        limit = self.max_examples if setting.monitoring else None
        within = SPLIT if data.splits_evaluated else None
        swaps = [Swap(part, data.default_label, self.draws, limit=limit, within=within) for part in data.swap]
        of_all = partial(Swap, default_label=None, draws=self.draws, expectation="stay", limit=limit, within=within)
        swaps += [of_all(part) for part in data.distractors]
        distractors = {"distractors": list(data.distractors)} if data.distractors else {}
        return Plan(data.pool, swaps, {"swap": list(data.swap), **distractors})

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        pool, counts = plan.pool, {}
        for swap in plan.interventions:
            part = swap.part
            base = where(rows, intervention=BASE) & eligible(rows, part, context)
            lenders = pool.partners(swap.parts, swap.within)
            swapped = rows["uid"].filter(pa.array(hits(rows, part, context).asked & where(rows, draw=0)))
            positions = pc.index_in(swapped, value_set=pool.uids).to_numpy()
            candidates = int(lenders.counts[positions].sum())
            counts[part] = {
                "eligible": int(base.sum()),
                "swapped": len(swapped),
                "partners_excluded": len(swapped) * (len(pool) - 1) - candidates,
                "partners_real": int(lenders.real[positions].sum()),
                "partners_eligible": candidates,
            }
        texts = {part: OneText.of_rows(rows, part, context) for part in parts_of(context)}
        if one_text := {part: text for part, text in texts.items() if text}:
            counts["one_text"] = one_text
        return counts
