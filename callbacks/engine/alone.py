"""Whether predictions depend on how far a batch is padded, which examples that share it cannot show."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.compute as pc
import torch
from torch import nn

from heedful.callbacks.engine.batch_predictor import BatchPredictor, gather_predictions
from heedful.callbacks.engine.evaluation import Planned
from heedful.callbacks.engine.predictions import Predictions
from heedful.datamodules.base.sampler import evaluation_batches
from heedful.interventions import Null
from heedful.lightning_modules.predictor import Encoded
from heedful.metrics.accuracy import ALONE
from heedful.records import Examples

MOST = 24  # examples that are predicted alone: the most padded ones
CHANGE = 1e-3  # of a probability, which rounding in single precision does not make
HALF = {torch.float16, torch.bfloat16}


def with_alone(
    planned: Sequence[Planned], batches: BatchPredictor, pool: Examples, encoded: Encoded, base: Predictions
) -> list[Planned]:
    """The evaluations; the context of a null control has the number of predictions that depend on padding.

    The number is computed for a network in single precision whose evaluation repeats all examples, and not in training.

    Args:
        planned: Evaluations of the pool.
        batches: Predicts; all processes call this.
        pool: The examples.
        encoded: The pool as the model reads it.
        base: Predictions on the pool.
    """
    repeats = [any(isinstance(each, Null) and each.limit is None for each in p.plan.interventions) for p in planned]
    model = batches.predictor
    is_network = not model.capabilities.writes and model.prompt is None and encoded.fingerprints is not None
    is_due = is_network and any(repeats) and len(base) > 0 and not _is_half(batches)
    n = _differing(batches, pool, encoded, base) if is_due else 0
    more: dict[str, Any] = {ALONE: n} if n else {}
    return [
        p._replace(context=replace(p.context, own={**p.context.own, **more})) if has_null else p
        for p, has_null in zip(planned, repeats, strict=True)
    ]


def _differing(batches: BatchPredictor, pool: Examples, encoded: Encoded, base: Predictions) -> int:
    """How many of some padded examples have another answer, or other probabilities, when they are predicted alone."""
    lengths = encoded.lengths[base.positions]
    places = np.argsort(pool.uid_order)[base.positions]
    padding = np.zeros(len(base), dtype=np.int64)
    for batch in evaluation_batches(encoded.order[base.positions], places, batches.batch_size):
        padding[batch] = lengths[batch].max() - lengths[batch]
    order = np.lexsort((places, -padding))
    chosen = order[padding[order] > 0][:MOST]
    if not len(chosen):
        return 0
    each = [base.positions[[place]] for place in chosen.tolist()]
    mine = batches.predict(encoded.batches, each, "Examples alone")
    alone = gather_predictions(mine, batches.processes, "examples alone").of(base.positions[chosen])
    before = base.take(chosen)
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
