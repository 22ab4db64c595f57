"""Count examples for results.json, such as truncated and repeated examples."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from heedful.callbacks.engine.evaluation import Planned
from heedful.callbacks.engine.experiment import Rows
from heedful.callbacks.engine.predictions import Predictions
from heedful.datamodules.base.pairs import Pairs
from heedful.lightning_modules.predictor import Predictor
from heedful.lightning_modules.processors.processor import Statistics
from heedful.records import NO_LABEL, Examples, repeats
from heedful.records import rows as r
from heedful.reports.results import Evaluated


def counts_of(data: Pairs, base: Predictions, predictor: Predictor) -> dict[str, Any]:
    """Count, for results.json, how many unchanged examples were predicted, truncated, seen in training, and so on.

    The result is, for instance, {"examples": 500, "truncated": 3, "trained_on": 12, ...}.
    """
    return {
        "examples": len(base),
        "not_predicted": len(data.pool) - len(base),
        "dropped_no_gold": data.counts.no_gold,
        **({"unlabelled": len(base)} if data.pool.is_unlabelled else {}),
        **truncation(predictor.encode(data.pool).statistics),
        "shortened": data.counts.shortened,
        "no_label": base.count(NO_LABEL),
        **repeated_and_trained(data.whole, base.positions, data, predictor),
    }


def truncation(statistics: Statistics) -> dict[str, Any]:
    """Return the number of truncated examples and, if known, the numbers of read tokens and of all tokens per part."""
    tokens = {"tokens_kept": dict(statistics.tokens_kept)} if statistics.tokens_kept else {}
    return {"truncated": statistics.truncated, **tokens}


def repeated_and_trained(
    pool: Examples | None, positions: np.ndarray, data: Pairs, predictor: Predictor
) -> dict[str, int]:
    """Count two kinds of examples at these positions: "repeats" of another example; and "trained_on", examples in the
    training data of the model, if these are known.
    """
    if pool is None:
        return {}
    parts = data.full_task.parts
    counts = {"repeats": repeats(pool.content_keys(parts)[positions])}
    if (trained_on := predictor.learned.trained_on) is not None:
        counts["trained_on"] = int(trained_on.seen(pool, parts)[positions].sum())
    return counts


def with_metadata(
    planned: Planned,
    rows_of: Mapping[str, Rows],
    manifests: Mapping[str, str],
    run: Mapping[str, Any],
    pool_counts: Mapping[str, Any],
) -> Evaluated:
    """Return the rows of an evaluation, and their metadata.

    Args:
        planned: The evaluation.
        rows_of: Maps evaluations to rows and counts.
        manifests: Maps evaluations to the hash of the planned changes.
        run: Facts about the run.
        pool_counts: Counts of the pool; empty for the pool of the data module, whose counts are in ``run``.
    """
    evaluation, plan, context = planned
    rows, counted = rows_of[evaluation.name]
    counts = {**plan.counts, **counted, **evaluation.counts(plan, rows, context)}
    no_label = r.rows_with(rows, **{"y" if plan.inquiry else "y2": NO_LABEL})
    if pool_counts:
        no_label |= r.rows_with(rows, y=NO_LABEL, intervention=r.BASE)
        counts |= pool_counts
    counts["no_label"] = int(no_label.sum())
    metadata = {"data": run["data"], "seed": run["seed"], "manifest": manifests[evaluation.name], "run": run}
    metadata |= {"context": context.as_dict(), "counts": counts}
    return rows, json.loads(json.dumps(metadata, sort_keys=True))  # the same values as from a file
