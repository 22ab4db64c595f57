"""The evaluation "attentiveness": the Counterfactual Attentiveness Test (CAT)."""

import math
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting, require_number
from heedful.interventions import Swap
from heedful.metrics import METRICS
from heedful.metrics.attentiveness import headline_of, numbers, parts_of, unseen_default, unseen_default_text
from heedful.metrics.hits import SwapSettings, hits
from heedful.metrics.number import measured
from heedful.records import Context, SettingError
from heedful.records.messages import warn
from heedful.records.rows import MOST_DRAWS, SPLIT, STAYS, rows_with

PILOT, MORE = 300, 1.1  # examples of the first stage, and safety factor for the number of examples in both stages


class Attentiveness(Evaluation):
    """How often a prediction changes when a part of the input is replaced by the same part of another example.

    The swapped parts are ``--data.swap``. The parts of ``--data.distractors`` are swapped too, but these swaps should
    not change the prediction.

    Args:
        draws: Counterfactuals for each example (the paper's k); by default 5, and 1 in each epoch of training.
        max_examples: Largest number of changed examples in each epoch of training; None for all. evaluate.py changes
            all examples, or as many as ``precision`` requires.
        precision: Half width of the interval to reach, such as 0.02. 300 random examples are changed first, and their
            interval determines how many more are changed. By default all examples are changed.
    """

    metric = METRICS["attentiveness"]
    in_training = True

    def __init__(
        self, draws: int | None = None, max_examples: int | None = 2000, precision: float | None = None
    ) -> None:
        require_number("attentiveness.draws", draws, most=MOST_DRAWS)
        require_number("attentiveness.max_examples", max_examples)
        if precision is not None and not 0 < precision < 0.5:
            raise SettingError(f"attentiveness.precision {precision} should be between 0 and 0.5, such as 0.02.")
        self.draws = draws
        self.max_examples = max_examples
        self.precision = precision

    def plan(self, setting: Setting) -> Plan | Nothing:
        if not setting.data.swap and not setting.data.distractors:
            return Nothing("needs a part to swap, and a model that also reads another part")
        data = setting.data
        is_pilot = self.precision is not None and not setting.monitoring
        draws = self.draws or (1 if setting.monitoring else Swap.draws)
        limit = PILOT if is_pilot else self.max_examples if setting.monitoring else None
        within = SPLIT if data.splits_evaluated else None
        swap = partial(Swap, draws=draws, limit=limit, within=within)
        swaps = [swap(part, data.default_label) for part in data.swap]
        swaps += [swap(part, None, expects=STAYS) for part in data.distractors]
        most = [replace(swap, limit=None) for swap in swaps] if is_pilot else ()
        return Plan(data.pool, swaps, SwapSettings([(swap.part, swap.expects) for swap in swaps]), most=most)

    def second_stage(self, plan: Plan, rows: pa.Table, context: Context) -> list[Swap] | None:
        """Return the swaps with a ``limit``: the number of examples that ``precision`` requires, computed from the rows
        of the first stage. Return None without ``precision``.
        """
        if self.precision is None:
            return None
        half_widths = self._half_widths(rows, context)
        swaps = (swap for swap in plan.most if isinstance(swap, Swap))
        return [replace(swap, limit=examples_needed(half_widths.get(swap.part), self.precision)) for swap in swaps]

    def _half_widths(self, rows: pa.Table, context: Context) -> dict[str, float]:
        """Map each part to half the width of its interval of attentiveness; parts without an interval are omitted."""
        by_name = measured(numbers(rows, context))
        intervals = {part: by_name[headline_of(part, context)].ci95 for part in parts_of(context)}
        return {part: (ends[1] - ends[0]) / 2 for part, ends in intervals.items() if ends}

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        """Count, for each part, pairs of an example and a partner by whether the partner may lend the part."""
        pool, counts = plan.pool, {}
        half_widths = {} if self.precision is None else self._half_widths(rows, context)
        for swap in plan.interventions:
            part = swap.part
            lenders = pool.partners(swap.parts, swap.within)
            swapped = rows["uid"].filter(pa.array(hits(rows, part, context).base_answered & rows_with(rows, draw=0)))
            positions = pc.index_in(swapped, value_set=pool.uids).to_numpy()
            candidates = int(lenders.counts[positions].sum())
            counts[part] = {
                "partners_excluded": len(swapped) * (len(pool) - 1) - candidates,
                "partners_real": int(lenders.excluded_as_real[positions].sum()),
                "partners_eligible": candidates,
            }
            if part in half_widths:
                counts[part]["half_width"] = half_widths[part]
        if unseen := unseen_default(rows, context):
            warn(unseen_default_text(unseen[0], unseen[1:]))
        return counts


def examples_needed(half_width: float | None, precision: float) -> int:
    """Return how many examples an interval of half width ``precision`` requires.

    The width falls with the square root of the number of examples. The result includes a margin of 10 %, since the
    share in the first stage may by chance be too close to 0 or 1, where intervals are narrower.

    Args:
        half_width: Half width of the interval over :data:`PILOT` examples; None if there is no interval.
        precision: Half width to reach.
    """
    if half_width is None or half_width <= precision:
        return PILOT
    return math.ceil(MORE * PILOT * (half_width / precision) ** 2)
