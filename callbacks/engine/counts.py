"""Counts of the examples of an evaluation, for results.json."""

from typing import Any

import numpy as np

from heedful.callbacks.engine.predictions import Predictions
from heedful.datamodules.base.pairs import Pairs
from heedful.lightning_modules.predictor import Predictor, Statistics
from heedful.records import NO_LABEL, Examples, repeats


def counts_of(data: Pairs, base: Predictions, predictor: Predictor) -> dict[str, Any]:
    """Counts of the examples themselves, for results.json."""
    return {
        "examples": len(base),
        "not_predicted": len(data.pool) - len(base),
        "dropped_no_gold": data.counts.no_gold,
        **({"unlabelled": len(base)} if data.pool.is_unlabelled else {}),
        **cut_short(predictor.encode(data.pool).statistics),
        "shortened": data.counts.shortened,
        "no_label": base.count(NO_LABEL),
        **met_before(data.whole, base.positions, data, predictor),
    }


def cut_short(statistics: Statistics) -> dict[str, Any]:
    """How much the model does not read, for the counts of results."""
    tokens = {"tokens_kept": dict(statistics.tokens_kept)} if statistics.tokens_kept else {}
    return {"truncated": statistics.truncated, **tokens}


def met_before(pool: Examples | None, positions: np.ndarray, data: Pairs, predictor: Predictor) -> dict[str, int]:
    """How many of some examples are repeats of others, and were trained on, where that is known, as counts."""
    if pool is None:
        return {}
    parts = data.full_task.parts
    counts = {"repeats": repeats(pool.content_keys(parts)[positions])}
    if (trained_on := predictor.provenance.trained_on) is not None:
        counts["trained_on"] = int(trained_on.seen(pool, parts)[positions].sum())
    return counts
