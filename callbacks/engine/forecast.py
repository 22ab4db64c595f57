"""Compute, without any prediction, upper bounds on the number of inputs that the evaluations send to a model."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.callbacks.engine.blocks import blocks, select_examples
from heedful.callbacks.engine.evaluation import Plans
from heedful.datamodules.base.batches import EXAMPLES
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.splits import limited
from heedful.interventions import Intervention
from heedful.lightning_modules.predictor import Predictor
from heedful.records import NO_LABEL, Composed

# kinds of inputs: unchanged examples, changed examples, changed examples of a second stage, repeats (null control)
BASE, CHANGED, SECOND, NULL = "base", "changed", "second", "null"


class Amount(NamedTuple):
    """A number of inputs, and their total length in the unit of the model's processor, such as tokens."""

    inputs: int = 0
    length: int = 0


def _possible_inputs(data: Pairs, plans: Plans, limit: int | float | None) -> Iterator[tuple[Composed, np.ndarray]]:
    """Yield blocks of all inputs that the model may have to predict: examples, and the kind of every example."""
    each = [planned.plan for planned in plans.planned.values()]
    labels = dict.fromkeys((*data.task.labels, *filter(None, [data.default_label]), NO_LABEL, ""))
    for pool in {id(pool): pool for pool in (data.pool, *(plan.pool for plan in each))}.values():
        positions = np.arange(len(pool))
        if pool is data.pool:
            positions, _ = limited(pool, 1.0 if limit is None else limit, data.eval_batch_size or EXAMPLES, data.seed)
        yield Composed(pool, positions), np.full(len(positions), BASE)
        answers = [pa.repeat(pa.scalar(label), len(positions)) for label in labels]
        interventions: list[Intervention] = []
        masks, kinds = [], []
        for plan in (plan for plan in each if plan.pool is pool and plan.inquiry is None):
            first, second = (
                [select_examples(i, pool, positions, answers, data.seed, is_pilot)[0] for i in several]
                for several, is_pilot in ((plan.interventions, bool(plan.most)), (plan.most, False))
            )
            interventions += [*plan.interventions, *plan.most]
            masks += [*first, *(later & ~pilot for later, pilot in zip(second, first, strict=False))]
            kinds += [NULL if i.name == NULL else CHANGED for i in plan.interventions] + [SECOND] * len(plan.most)
        for block in blocks(pool, positions, interventions, masks, data.seed) if interventions else ():
            yield block.examples, np.array(kinds)[block.interventions]


def inputs_of(data: Pairs, plans: Plans, limit: int | float | None = None) -> Iterator[Composed]:
    """Yield blocks of all examples that :func:`forecast` counts, except the repeats of the null control."""
    for examples, kinds in _possible_inputs(data, plans, limit):
        yield examples.take(np.flatnonzero(kinds != NULL))


def forecast(data: Pairs, plans: Plans, predictor: Predictor, limit: int | float | None = None) -> dict[str, Amount]:
    """Map each kind of inputs to an upper bound on their number and total length.

    The answers of the model are not yet known, so each example counts that a possible answer makes eligible.

    Args:
        data: The data, after their setup.
        plans: The evaluations. Inquiries do not count, since their inputs depend on earlier answers.
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
