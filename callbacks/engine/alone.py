"""Test whether predictions depend on padding: padded examples are predicted again in batches of one.

The null control (a second prediction in other batches) cannot show this, since it rarely changes the padding of an
example.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
import torch
from torch import nn

from heedful.callbacks.engine.batch_predictor import BatchPredictor, gather_predictions
from heedful.callbacks.engine.evaluation import Planned
from heedful.callbacks.engine.predictions import Predictions
from heedful.datamodules.base.sampler import base_batches
from heedful.interventions import Null
from heedful.lightning_modules.processors.processor import Encoded
from heedful.metrics.accuracy import ALONE
from heedful.records import Examples

MOST = 24  # examples that are predicted alone: those with most padding
CHANGE = 1e-3  # difference of a probability that rounding in single precision does not explain
HALF = {torch.float16, torch.bfloat16}


def with_padding_test(
    planned: Sequence[Planned], batches: BatchPredictor, pool: Examples, encoded: Encoded, base: Predictions
) -> list[Planned]:
    """Predict the examples with most padding again, in batches of one, and store how many predictions differ; must run
    on all ranks.

    The test is omitted for models that generate text, for models whose inputs are unknown, and in half precision.

    Args:
        planned: The evaluations of the pool. Evaluations whose null control covers all examples get the number in their
            context.
        batches: Predicts the examples.
        pool: The examples.
        encoded: The pool as the model reads it.
        base: The first predictions of the examples.

    Returns:
        The evaluations; unchanged if no prediction differs.
    """
    repeated = [p for p in planned if any(isinstance(i, Null) and i.limit is None for i in p.plan.interventions)]
    model = batches.predictor
    is_network = not model.capabilities.writes and model.prompt is None and encoded.fingerprints is not None
    is_due = is_network and repeated and len(base) and not _is_half(batches)
    if not is_due or not (n := _differing(batches, pool, encoded, base)):
        return list(planned)
    counted = [p._replace(context=replace(p.context, own={**p.context.own, ALONE: n})) for p in planned]
    return [c if any(p is each for each in repeated) else p for p, c in zip(planned, counted, strict=True)]


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
        differs = differs | (np.abs(alone.probs - before.probs).max(axis=1) > CHANGE)
    return int(differs.sum())


def _is_half(batches: BatchPredictor) -> bool:
    """Whether the network computes in half precision, where rounding hides the effect of padding."""
    network = getattr(batches.predictor, "network", None)
    with batches.processes.precision():
        by_autocast = torch.is_autocast_enabled(batches.processes.device.type)
    return by_autocast or (isinstance(network, nn.Module) and any(w.dtype in HALF for w in network.parameters()))
