"""How much an evaluation may ask a model at most, before anything is predicted: which inputs, and how long they are."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.callbacks.engine.blocks import blocks
from heedful.callbacks.engine.evaluation import Plans
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.splits import limited
from heedful.interventions import Intervention, within_limit
from heedful.lightning_modules.predictor import Predictor
from heedful.records import NO_LABEL, Composed, Examples

# examples as they are, changed, changed in a second stage, and once more for the null control
BASE, CHANGED, SECOND, NULL = "base", "changed", "second", "null"


class Amount(NamedTuple):
    """So many inputs, and their length together, in what the processor measures lengths in."""

    inputs: int = 0
    length: int = 0

    def plus(self, lengths: np.ndarray) -> "Amount":
        """With inputs of these lengths."""
        return Amount(self.inputs + len(lengths), self.length + int(lengths.sum(dtype=np.int64)))


class Needed(NamedTuple):
    """Some of the inputs that an evaluation may need.

    Attributes:
        examples: The inputs.
        bases: int64 [examples], the position in the pool of the example that each is made of.
        kinds: What each is: "base", "changed", "second" or "null".
    """

    examples: Composed
    bases: np.ndarray
    kinds: np.ndarray


def needed(data: Pairs, plans: Plans, limit: int | float | None = None) -> Iterator[Needed]:
    """All inputs that an evaluation may need, whatever the model answers: those that it needs are among them.

    Args:
        data: The data, set up.
        plans: The evaluations. What one asks in rounds is not among them, since it depends on the answers.
        limit: The trainer's limit_val_batches.
    """
    each = [planned.plan for planned in plans.planned.values()]
    for pool in {id(pool): pool for pool in (data.pool, *(plan.pool for plan in each))}.values():
        positions = np.arange(len(pool))
        if pool is data.pool:
            positions, _ = limited(pool, 1.0 if limit is None else limit, data.eval_batch_size, data.seed)
        yield Needed(Composed(pool, positions), positions, np.full(len(positions), BASE))
        interventions: list[Intervention] = []
        masks, names = [], []
        for plan in (plan for plan in each if plan.pool is pool and plan.inquiry is None):
            first = [_most(i, pool, positions, data, bool(plan.most)) for i in plan.interventions]
            most = [_most(i, pool, positions, data) for i in plan.most]
            interventions += [*plan.interventions, *plan.most]
            masks += [*first, *(all_of_it & ~pilot for all_of_it, pilot in zip(most, first, strict=False))]
            names += [NULL if i.name == NULL else CHANGED for i in plan.interventions] + [SECOND] * len(most)
        kinds = np.array(names)
        for block in blocks(pool, positions, interventions, masks, data.seed) if interventions else ():
            yield Needed(block.examples, block.bases, kinds[block.interventions])


def inputs_of(data: Pairs, plans: Plans, limit: int | float | None = None) -> Iterator[Composed]:
    """The inputs of :func:`needed` but for the null control, which repeats inputs."""
    for inputs in needed(data, plans, limit):
        yield inputs.examples.take(np.flatnonzero(inputs.kinds != NULL))


def forecast(data: Pairs, plans: Plans, predictor: Predictor, limit: int | float | None = None) -> dict[str, Amount]:
    """How many inputs a model gets at most; see :func:`needed`.

    Args:
        data: The data, set up.
        plans: The evaluations.
        predictor: The model.
        limit: The trainer's limit_val_batches.

    Returns:
        "base", "changed", "null" and, where a second stage may follow, "second" to their amounts.
    """
    has_second = any(planned.plan.most for planned in plans.planned.values())
    amounts = dict.fromkeys((BASE, CHANGED, *([SECOND] if has_second else []), NULL), Amount())
    for inputs in needed(data, plans, limit):
        lengths = predictor.encode(inputs.examples).lengths
        for kind, amount in amounts.items():
            amounts[kind] = amount.plus(lengths[inputs.kinds == kind])
    return amounts


def _most(
    intervention: Intervention, pool: Examples, positions: np.ndarray, data: Pairs, is_pilot: bool = False
) -> np.ndarray:
    """The examples that an intervention changes if they have the answers for it: bool [pool].

    Whether one is eligible depends on its own answer alone, and of answers on none but labels. A pilot changes as many
    as its limit; which ones depends on the answers.
    """
    answers = dict.fromkeys((*data.task.labels, *filter(None, [data.default_label]), NO_LABEL, ""))
    of_each = [intervention.eligible(pool, positions, pa.repeat(pa.scalar(one), len(positions))) for one in answers]
    eligible = positions[np.logical_or.reduce(of_each)]
    if is_pilot or all((one == of_each[0]).all() for one in of_each):  # else a limit chooses among others
        eligible = within_limit(intervention, pool, eligible, data.seed)
    mask = np.zeros(len(pool), dtype=bool)
    mask[eligible] = True
    return mask
