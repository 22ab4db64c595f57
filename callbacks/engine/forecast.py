"""How much an evaluation may ask a model at most, before anything is predicted."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from heedful.callbacks.engine.blocks import blocks
from heedful.callbacks.engine.engine import Planned
from heedful.datamodules import PairedData
from heedful.datamodules.base.splits import limited
from heedful.interventions import Intervention, within_limit
from heedful.lightning_modules.processors.processor import Processor
from heedful.records import Composed, Examples

BASE, NULL = "base", "null"  # examples as they are, and once more for the null control; others are changed


class Amount(NamedTuple):
    """So many inputs, and their length together, in what the processor measures lengths in."""

    inputs: int = 0
    length: int = 0

    def plus(self, lengths: np.ndarray) -> "Amount":
        """With inputs of these lengths."""
        return Amount(self.inputs + len(lengths), self.length + int(lengths.sum(dtype=np.int64)))


def forecast(
    data: PairedData, planned: Iterable[Planned], processor: Processor, limit: int | float | None = None
) -> dict[str, Amount]:
    """The inputs of a model at most: which examples are changed may depend on their predictions, and here all are.

    Args:
        data: The data, set up.
        planned: The evaluations. What one asks in rounds is not counted, since it depends on the answers.
        processor: Of the model.
        limit: The trainer's limit_val_batches.

    Returns:
        "base", "changed" and "null" to their amounts.
    """
    amounts = dict.fromkeys((BASE, "changed", NULL), Amount())
    plans = [evaluation.plan for evaluation in planned]
    for pool in {id(pool): pool for pool in (data.pool, *(plan.pool for plan in plans))}.values():
        positions = np.arange(len(pool))
        if pool is data.pool:
            positions, _ = limited(pool, 1.0 if limit is None else limit, data.eval_batch_size, data.seed)
        amounts[BASE] = amounts[BASE].plus(processor.lengths(Composed(pool, positions)))
        asked = [one for plan in plans if plan.pool is pool and plan.inquiry is None for one in plan.interventions]
        chosen = [_most(one, pool, positions, data.seed) for one in asked]
        for block in blocks(pool, positions, asked, chosen, data.seed) if asked else ():
            lengths = processor.lengths(block.examples)
            null = np.array([one.name == NULL for one in asked])[block.interventions]
            amounts[NULL] = amounts[NULL].plus(lengths[null])
            amounts["changed"] = amounts["changed"].plus(lengths[~null])
    return amounts


def _most(intervention: Intervention, pool: Examples, positions: np.ndarray, seed: int) -> np.ndarray:
    """The examples that an intervention changes where all are eligible: bool [pool]."""
    mask = np.zeros(len(pool), dtype=bool)
    mask[within_limit(intervention, pool, positions, seed)] = True
    return mask
