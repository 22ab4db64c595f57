"""Test whether predictions depend on the padding of a batch, which the null control cannot show."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc
import torch
from torch import nn

from heedful.callbacks.engine.batch_predictor import BatchPredictor, gather_predictions
from heedful.callbacks.engine.evaluation import Planned
from heedful.callbacks.engine.predictions import Predictions
from heedful.datamodules.base.sampler import evaluation_batches
from heedful.interventions import Null
from heedful.lightning_modules.processors.processor import Encoded
from heedful.metrics.accuracy import ALONE
from heedful.records import Examples

MOST = 24  # examples that are predicted alone: the ones with most padding
CHANGE = 1e-3  # of a probability, more than rounding in single precision
HALF = {torch.float16, torch.bfloat16}


def with_alone(
    planned: Sequence[Planned], batches: BatchPredictor, pool: Examples, encoded: Encoded, base: Predictions
) -> list[Planned]:
    """Add the number of predictions that depend on padding to the context of a null control; a collective.

    Nothing is added for generating models, for models with unknown inputs and in half precision.
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
    """Number of padded examples whose answer or probabilities differ when they are predicted alone."""
    lengths = encoded.lengths[base.positions]
    uid_ranks = np.argsort(pool.uid_order)[base.positions]
    padding = np.zeros(len(base), dtype=np.int64)
    for batch in evaluation_batches(encoded.order[base.positions], uid_ranks, batches.batch_size):
        padding[batch] = lengths[batch].max() - lengths[batch]
    order = np.lexsort((uid_ranks, -padding))
    padded = order[padding[order] > 0][:MOST]
    if not len(padded):
        return 0
    mine = batches.predict(encoded.batches, [base.positions[[k]] for k in padded], "Examples alone")
    alone = gather_predictions(mine, batches.processes, "examples alone").select(base.positions[padded])
    before = base.take(padded)
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
