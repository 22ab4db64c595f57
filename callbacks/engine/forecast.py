"""Compute, without any prediction, upper bounds on the number of inputs that the evaluations send to a model."""

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

# kinds of inputs: unchanged examples, changed examples, changed examples of a second stage, repeats (null control)
BASE, CHANGED, SECOND, NULL = "base", "changed", "second", "null"


class Amount(NamedTuple):
    """A number of inputs, and their total length in the unit of the model's processor, such as tokens."""

    inputs: int = 0
    length: int = 0


def _possible_inputs(
    data: Pairs, plans: Plans, limit: int | float | None = None
) -> Iterator[tuple[Composed, np.ndarray]]:
    """Yield blocks of all inputs that the model may have to predict. A block is a pair: the examples, and an array
    with the kind of each example, such as "base" or "changed".
    """
    each = [planned.plan for planned in plans.planned.values()]
    for pool in {id(pool): pool for pool in (data.pool, *(plan.pool for plan in each))}.values():
        positions = np.arange(len(pool))
        if pool is data.pool:
            positions, _ = limited(pool, 1.0 if limit is None else limit, data.eval_batch_size, data.seed)
        yield Composed(pool, positions), np.full(len(positions), BASE)
        interventions: list[Intervention] = []
        masks, kinds = [], []
        for plan in (plan for plan in each if plan.pool is pool and plan.inquiry is None):
            first = [_may_change(i, pool, positions, data, bool(plan.most)) for i in plan.interventions]
            second = [_may_change(i, pool, positions, data) for i in plan.most]
            interventions += [*plan.interventions, *plan.most]
            masks += [*first, *(later & ~pilot for later, pilot in zip(second, first, strict=False))]
            kinds += [NULL if i.name == NULL else CHANGED for i in plan.interventions] + [SECOND] * len(plan.most)
        for block in blocks(pool, positions, interventions, masks, data.seed) if interventions else ():
            yield block.examples, np.array(kinds)[block.interventions]


def inputs_of(data: Pairs, plans: Plans, limit: int | float | None = None) -> Iterator[Composed]:
    """Yield blocks of all examples that a model may have to predict.

    Two kinds of examples are omitted: the repeats of the null control, and the inputs of inquiries (evaluations that
    query the model in several rounds, and choose later inputs by earlier answers).

    Args:
        data: The data, after their setup.
        plans: The evaluations.
        limit: The Trainer's limit_val_batches.
    """
    for examples, kinds in _possible_inputs(data, plans, limit):
        yield examples.take(np.flatnonzero(kinds != NULL))


def forecast(data: Pairs, plans: Plans, predictor: Predictor, limit: int | float | None = None) -> dict[str, Amount]:
    """Map each kind of inputs to an upper bound on their number and total length. The kinds are "base" (unchanged),
    "changed", "null" (repeats of the null control) and "second" (further changes, if an evaluation chooses how many
    examples to change by the answers to the first changes).

    Args:
        data: The data, after their setup.
        plans: The evaluations. Evaluations whose inputs depend on earlier answers (inquiries) do not count.
        predictor: The model.
        limit: The Trainer's limit_val_batches.
    """
    has_second = any(planned.plan.most for planned in plans.planned.values())
    amounts = dict.fromkeys((BASE, CHANGED, *([SECOND] if has_second else []), NULL), Amount())
    for examples, kinds in _possible_inputs(data, plans, limit):
        lengths = predictor.encode(examples).lengths
        for kind, (inputs, length) in amounts.items():
            selected = lengths[kinds == kind]
            amounts[kind] = Amount(inputs + len(selected), length + int(selected.sum(dtype=np.int64)))
    return amounts


def _may_change(
    intervention: Intervention, pool: Examples, positions: np.ndarray, data: Pairs, is_pilot: bool = False
) -> np.ndarray:
    """Return for each example whether an intervention might change the example: bool [pool].

    The answers of the model are not yet known. An example is True if a possible answer makes the example eligible
    (allowed to be changed). The limit of the intervention applies only if eligibility does not depend on the answer, or
    if ``is_pilot``.

    Args:
        intervention: The intervention.
        pool: The examples.
        positions: Positions of the examples that the model predicts; all other examples are False.
        data: The data, whose labels are the possible answers.
        is_pilot: Whether the intervention belongs to the first of two stages.
    """
    answers = dict.fromkeys((*data.task.labels, *filter(None, [data.default_label]), NO_LABEL, ""))
    masks = [intervention.eligible(pool, positions, pa.repeat(pa.scalar(a), len(positions))) for a in answers]
    eligible = positions[np.logical_or.reduce(masks)]
    # Otherwise the limit is ignored, because the answers decide among which examples it selects
    if is_pilot or all((mask == masks[0]).all() for mask in masks):
        eligible = within_limit(intervention, pool, eligible, data.seed)
    mask = np.zeros(len(pool), dtype=bool)
    mask[eligible] = True
    return mask
