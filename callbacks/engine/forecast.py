"""Upper bound of the inputs that an evaluation sends to a model, before anything is predicted."""

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

# unchanged examples, changed ones, ones changed in a second stage, and repeats of the null control
BASE, CHANGED, SECOND, NULL = "base", "changed", "second", "null"


class Amount(NamedTuple):
    """Number of inputs, and their total length in the processor's unit."""

    inputs: int = 0
    length: int = 0


def _inputs(data: Pairs, plans: Plans, limit: int | float | None = None) -> Iterator[tuple[Composed, np.ndarray]]:
    """Inputs and their kinds, texts [inputs]: all that may be needed for any answers of the model."""
    each = [planned.plan for planned in plans.planned.values()]
    for pool in {id(pool): pool for pool in (data.pool, *(plan.pool for plan in each))}.values():
        positions = np.arange(len(pool))
        if pool is data.pool:
            positions, _ = limited(pool, 1.0 if limit is None else limit, data.eval_batch_size, data.seed)
        yield Composed(pool, positions), np.full(len(positions), BASE)
        interventions: list[Intervention] = []
        masks, kinds = [], []
        for plan in (plan for plan in each if plan.pool is pool and plan.inquiry is None):
            first = [_mask(i, pool, positions, data, bool(plan.most)) for i in plan.interventions]
            second = [_mask(i, pool, positions, data) for i in plan.most]
            interventions += [*plan.interventions, *plan.most]
            masks += [*first, *(later & ~pilot for later, pilot in zip(second, first, strict=False))]
            kinds += [NULL if i.name == NULL else CHANGED for i in plan.interventions] + [SECOND] * len(plan.most)
        for block in blocks(pool, positions, interventions, masks, data.seed) if interventions else ():
            yield block.examples, np.array(kinds)[block.interventions]


def inputs_of(data: Pairs, plans: Plans, limit: int | float | None = None) -> Iterator[Composed]:
    """All inputs that an evaluation may need, except repeats of the null control and inputs of inquiries.

    Args:
        data: The data, set up.
        plans: The evaluations.
        limit: The trainer's limit_val_batches.
    """
    for examples, kinds in _inputs(data, plans, limit):
        yield examples.take(np.flatnonzero(kinds != NULL))


def forecast(data: Pairs, plans: Plans, predictor: Predictor, limit: int | float | None = None) -> dict[str, Amount]:
    """Upper bounds of the inputs: "base", "changed", "null" and, if a second stage may follow, "second".

    Args:
        data: The data, set up.
        plans: The evaluations; inquiries are left out, since their inputs depend on the answers.
        predictor: The model.
        limit: The trainer's limit_val_batches.
    """
    has_second = any(planned.plan.most for planned in plans.planned.values())
    amounts = dict.fromkeys((BASE, CHANGED, *([SECOND] if has_second else []), NULL), Amount())
    for examples, kinds in _inputs(data, plans, limit):
        lengths = predictor.encode(examples).lengths
        for kind, (inputs, length) in amounts.items():
            selected = lengths[kinds == kind]
            amounts[kind] = Amount(inputs + len(selected), length + int(selected.sum(dtype=np.int64)))
    return amounts


def _mask(
    intervention: Intervention, pool: Examples, positions: np.ndarray, data: Pairs, is_pilot: bool = False
) -> np.ndarray:
    """The examples that an intervention may change, for any answers: bool [pool].

    Whether an example is eligible depends on its own answer only. A pilot changes examples up to its limit, which
    depend on the answers.
    """
    answers = dict.fromkeys((*data.task.labels, *filter(None, [data.default_label]), NO_LABEL, ""))
    masks = [intervention.eligible(pool, positions, pa.repeat(pa.scalar(a), len(positions))) for a in answers]
    eligible = positions[np.logical_or.reduce(masks)]
    if is_pilot or all((mask == masks[0]).all() for mask in masks):  # else the limit applies to other examples
        eligible = within_limit(intervention, pool, eligible, data.seed)
    mask = np.zeros(len(pool), dtype=bool)
    mask[eligible] = True
    return mask
