"""Test whether predictions depend on padding: padded examples are predicted again in batches of one.

The null control (a second prediction in other batches) cannot show this, since it rarely changes the padding of an
example.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from heedful.callbacks.engine.batch_predictor import BatchPredictor, gather_predictions
from heedful.callbacks.engine.evaluation import Planned
from heedful.callbacks.engine.predictions import Predictions
from heedful.datamodules.base.batches import base_batches
from heedful.interventions import Null
from heedful.lightning_modules.processors.processor import Encoded
from heedful.metrics.accuracy import ALONE, ROUNDING, NullControl
from heedful.records import Examples

MOST = 24  # examples that are predicted alone: those with most padding
HALF_ROUNDING = 0.05  # change of a probability that rounding in half precision explains


def with_padding_test(
    planned: Sequence[Planned], batches: BatchPredictor, pool: Examples, encoded: Encoded, base: Predictions
) -> list[Planned]:
    """Predict the examples with most padding again, in batches of one, and store how many predictions differ; must run
    on all ranks.

    The test is omitted for models that generate text, for models whose inputs are unknown, and in half precision. In
    half precision, the function stores instead how much of a change rounding explains.

    Args:
        planned: The evaluations of the pool. Evaluations whose null control covers all examples get the number in their
            context; in half precision, all with a null control get the effect of rounding.
        batches: Predicts the examples.
        pool: The examples.
        encoded: The pool as the model reads it.
        base: The first predictions of the examples.

    Returns:
        The evaluations; unchanged in single precision if no prediction differs.
    """
    limits = [[i.limit for i in p.plan.interventions if isinstance(i, Null)] for p in planned]
    is_known = encoded.fingerprints is not None
    if is_known and _is_half(batches):
        return [_with(p, {ROUNDING: HALF_ROUNDING}) if of else p for p, of in zip(planned, limits, strict=True)]
    model = batches.predictor
    is_network = is_known and not model.capabilities.writes and model.prompt is None
    is_due = is_network and any(None in of for of in limits) and len(base)
    n = _differing(batches, pool, encoded, base) if is_due else 0
    return [_with(p, {ALONE: n}) if n and None in of else p for p, of in zip(planned, limits, strict=True)]


def _with(planned: Planned, own: dict[str, float]) -> Planned:
    return planned._replace(context=replace(planned.context, own={**planned.context.own, **own}))


def _differing(batches: BatchPredictor, pool: Examples, encoded: Encoded, base: Predictions) -> int:
    """Return how many of the examples with most padding get another answer or other probabilities in a batch of one."""
    padding = np.zeros(len(pool), dtype=np.int64)
    for batch in base_batches(pool, encoded.order, base.positions, batches.batch_size):
        padding[batch] = encoded.lengths[batch].max() - encoded.lengths[batch]
    by_padding = pool.uid_order[np.argsort(-padding[pool.uid_order], kind="stable")]
    padded = by_padding[padding[by_padding] > 0][:MOST]
    if not len(padded):
        return 0
    mine = batches.predict(encoded.batches, [padded[[k]] for k in range(len(padded))], "Examples alone")
    alone = gather_predictions(mine, batches.processes, "examples alone").select(padded)
    before = base.select(padded)
    differs = pc.not_equal(alone.texts, before.texts).to_numpy(zero_copy_only=False)
    if alone.probs is not None and before.probs is not None:
        differs = differs | (np.abs(alone.probs - before.probs).max(axis=1) > NullControl.rounding)
    return int(differs.sum())


def _is_half(batches: BatchPredictor) -> bool:
    """Whether the network computes in half precision, where rounding hides the effect of padding."""
    if "torch" not in sys.modules:
        return False
    import torch

    network = getattr(batches.predictor, "network", None)
    with batches.processes.precision():
        by_autocast = torch.is_autocast_enabled(batches.processes.device.type)
    return by_autocast or (
        isinstance(network, torch.nn.Module) and any(w.dtype.itemsize == 2 for w in network.parameters())
    )
