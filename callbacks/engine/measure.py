"""Predict base and changed examples, and compute the numbers of all evaluations, on any number of processes."""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow.compute as pc

from heedful.callbacks.engine.evaluation import Planned, Plans
from heedful.callbacks.engine.experiment import Experiment, Rows, joined
from heedful.callbacks.engine.inquiry import inquire
from heedful.callbacks.engine.predictions import BatchPredictor, Predictions, gather_predictions
from heedful.callbacks.engine.processes import Processes
from heedful.datamodules.base.batches import EXAMPLES, BatchSize, base_batches
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.processes import by_first, gather, require_alike
from heedful.datamodules.base.splits import limited
from heedful.interventions import Intervention, Null, manifest_hash
from heedful.lightning_modules.predictor import Predictor
from heedful.lightning_modules.processors.processor import Encoded, Statistics
from heedful.metrics import METRICS
from heedful.metrics.accuracy import ALONE, ROUNDING, NullControl
from heedful.metrics.number import Numbers
from heedful.records import NO_LABEL, Composed, Examples, Measurement, repeats
from heedful.records import rows as r
from heedful.reports.results import Evaluated, score

ALL = 1.0  # the value of limit_val_batches that keeps all examples
MOST_ALONE = 24  # examples that are predicted alone: those with most padding
HALF_ROUNDING = 0.05  # change of a probability that rounding in half precision explains


@dataclass(frozen=True, eq=False)
class Measurements(Mapping[str, Measurement]):
    """The numbers of a model: a mapping from metric names such as "attentiveness/mnli/premise" to measurements.

    Attributes:
        numbers: Maps each :class:`~heedful.records.MetricName` to its measurement.
        content: Content of results.json, except the hashes of the rows.
        rows: Maps evaluations to rows and metadata on rank 0; empty on other ranks.
        plans: The plans of the evaluations.
        epoch: The epoch of the training, from 0; None outside of training.
        step: Number of optimizer steps of the training.
    """

    numbers: Numbers
    content: Mapping[str, Any]
    rows: Mapping[str, Evaluated]
    plans: Plans
    epoch: int | None = None
    step: int = 0

    def __getitem__(self, name: str) -> Measurement:
        return self._by_text[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_text)

    def __len__(self) -> int:
        return len(self._by_text)

    @cached_property
    def _by_text(self) -> dict[str, Measurement]:
        return {str(name): measurement for name, measurement in self.numbers.items()}


def measure(
    predictor: Predictor,
    data: Pairs,
    plans: Plans,
    processes: Processes,
    base: Predictions | None = None,
    about: Mapping[str, Any] = MappingProxyType({}),
    limit: int | float = ALL,
) -> Measurements:
    """Predict each base example and each distinct changed example once, and compute the numbers; must run on all ranks.

    Args:
        predictor: The model, bound to the task of the data.
        data: The data, after their setup.
        plans: The plans of the evaluations.
        processes: The processes that predict.
        base: Predictions of all ranks for the unchanged examples, if they were already predicted; computed by default.
        about: Further facts for results.json, such as the weights hash and the identity of the model.
        limit: The Trainer's limit_val_batches, used if ``base`` is computed.

    Raises:
        HeedfulError: The model fails, its outputs are not finite, or two numbers have the same name.
    """
    size = BatchSize.of(data, predictor, processes.device)
    batches = BatchPredictor(predictor, processes, data.task, size)
    if base is None:
        encoded = predictor.encode(Composed.whole(data.pool))
        positions, _ = limited(data.pool, limit, data.eval_batch_size or EXAMPLES, data.seed)
        predictor.require_known(encoded.statistics, f"the examples of {data.name}")
        data.announce_evaluation(positions, encoded.statistics)
        predictor.start(Composed(data.pool, positions), processes)
        warm_up = None if batches.is_on_cpu else plans.warm_up(data.seed)
        base = batches.pool(data.pool, encoded, positions)
        if warm_up is not None:
            warm_up.join()
    run = {"data": data.name, "split": data.evaluated, "seed": data.seed, "note": data.note, **about}
    if predictor.prompt is not None:
        run["identity"] = {**run.get("identity", {}), "prompt": predictor.prompt.as_dict()}
    if size.tokens is not None:  # without, batches are as on every CPU
        run["batches"] = size._asdict()
    run["counts"] = _counts(data, base, predictor)
    rows: dict[str, Evaluated] = {}
    for pool in {id(p.plan.pool): p.plan.pool for p in plans.planned.values()}.values():
        planned = [p for p in plans.planned.values() if p.plan.pool is pool]
        if pool is data.pool:
            planned = _with_padding_test(planned, batches, base)
        rows |= _pool_rows(batches, data, planned, run, base if pool is data.pool else None)
    # not earlier, since answers to changed examples count as well; the metadata of the rows are copies of ``run``
    counted = predictor.counts_of(sum(gather(predictor.counted), Counter()))
    for counts in (run["counts"], *(metadata["run"]["counts"] for _, metadata in rows.values())):
        counts |= counted
    metrics = METRICS | {name: p.evaluation.metric for name, p in plans.planned.items()}
    scored = by_first(lambda: score(run, rows, metrics))
    predictor.finish()
    return Measurements(scored.numbers, scored.results, rows, plans)


def _pool_rows(
    batches: BatchPredictor, data: Pairs, planned: Sequence[Planned], run: Mapping[str, Any], base: Predictions | None
) -> dict[str, Evaluated]:
    """Return the rows and metadata of all evaluations that change the same pool on rank 0, nothing on other ranks.

    Without ``base``, for a pool that the evaluations bring, its unchanged examples are predicted here.
    """
    pool = planned[0].plan.pool
    by_name = {p.evaluation.name: p for p in planned}
    plans = {name: p.plan.interventions for name, p in by_name.items() if p.plan.inquiry is None}
    inquiries = {name: p.plan.inquiry for name, p in by_name.items() if p.plan.inquiry is not None}
    listed: dict[str, Any] = plans | {name: [inquiry] for name, inquiry in inquiries.items()}
    manifests = {name: manifest_hash(each, pool, data.seed) for name, each in listed.items()}
    require_alike(manifests, f"examples of the evaluations {', '.join(manifests)}")
    counts: dict[str, Any] = {}
    if base is None:
        encoded, positions = batches.predictor.encode(Composed.whole(pool)), np.arange(len(pool))
        if len(pool):
            batches.predictor.require_known(encoded.statistics, f"{pool[0].uid} and the other examples with it")
        base = batches.pool(pool, encoded, positions)
        counts = _pool_counts(pool, positions, encoded.statistics, data, batches.predictor)
    experiment = Experiment(batches, data, pool, base)
    rows = experiment.rows(plans) if plans else {}
    second: dict[str, Sequence[Intervention]] = {}
    for name in plans:
        evaluation, plan, context = by_name[name]
        if more := by_first(partial(evaluation.second_stage, plan, rows[name][0], context)):
            second[name], manifests[name] = more, manifest_hash(more, pool, data.seed)
    if second:
        rows |= {name: joined(rows[name], added) for name, added in experiment.rows(second, plans).items()}
    rows |= {name: inquire(experiment, inquiry) for name, inquiry in inquiries.items()}
    evaluated: dict[str, Evaluated] = {}

    def add_metadata() -> None:  # only on rank 0, and not returned: ``by_first`` would send it to all ranks
        evaluated.update({n: _with_metadata(p, rows[n], counts, manifests[n], run) for n, p in by_name.items()})

    by_first(add_metadata)
    return evaluated


def _counts(data: Pairs, base: Predictions, predictor: Predictor) -> dict[str, Any]:
    """Return the counts of the data module's pool, such as {"examples": 500, "truncated": 3, "trained_on": 12}."""
    return {
        **_pool_counts(data.whole, base.positions, predictor.encode(data.pool).statistics, data, predictor),
        "not_predicted": len(data.pool) - len(base),
        "dropped_no_gold": data.counts.no_gold,
        **({"unlabelled": len(base)} if data.pool.is_unlabelled else {}),
        "shortened": data.counts.shortened,
        "no_label": base.count(NO_LABEL),
    }


def _pool_counts(
    pool: Examples | None, positions: np.ndarray, statistics: Statistics, data: Pairs, predictor: Predictor
) -> dict[str, Any]:
    """Count predicted and truncated examples, and, if known, tokens, repeats of examples, and training examples."""
    counts: dict[str, Any] = {"examples": len(positions), "truncated": statistics.truncated}
    if statistics.tokens_kept:
        counts["tokens_kept"] = dict(statistics.tokens_kept)
    if pool is not None:
        parts, trained_on = data.full_task.parts, predictor.learned.trained_on
        counts["repeats"] = repeats(pool.content_keys(parts)[positions])
        if trained_on is not None:
            counts["trained_on"] = int(trained_on.seen(pool, parts)[positions].sum())
    return counts


def _with_metadata(
    planned: Planned, counted_rows: Rows, brought: Mapping[str, Any], manifest: str, run: Mapping[str, Any]
) -> Evaluated:
    """Return the rows of an evaluation, and their metadata; a pool that the evaluation brings has its own counts."""
    (evaluation, plan, context), (rows, counted) = planned, counted_rows
    counts = {**plan.counts, **counted, **evaluation.counts(plan, rows, context), **brought}
    no_label = r.rows_with(rows, **{"y" if plan.inquiry else "y2": NO_LABEL})
    if brought:
        no_label |= r.rows_with(rows, y=NO_LABEL, intervention=r.BASE)
    counts["no_label"] = int(no_label.sum())
    metadata = {"data": run["data"], "seed": run["seed"], "manifest": manifest, "run": run}
    metadata |= {"context": context.as_dict(), "counts": counts}
    return rows, json.loads(json.dumps(metadata, sort_keys=True))  # the same values as from a file


def _with_padding_test(planned: Sequence[Planned], batches: BatchPredictor, base: Predictions) -> list[Planned]:
    """Store in the context of null controls how many predictions depend on padding; must run on all ranks.

    The examples with most padding are predicted again, in batches of one, unless the model generates text or its inputs
    are unknown. In half precision, the context stores instead how much of a change rounding explains.
    """
    model, pool = batches.predictor, planned[0].plan.pool
    limits = [[i.limit for i in p.plan.interventions if isinstance(i, Null)] for p in planned]
    encoded = model.encode(Composed.whole(pool))
    own: dict[str, float] = {}
    if encoded.fingerprints is not None and _is_half(batches):
        own = {ROUNDING: HALF_ROUNDING}
    elif encoded.fingerprints is not None and not model.capabilities.writes and model.prompt is None:
        limits = [[limit for limit in each if limit is None] for each in limits]
        if any(limits) and len(base) and (n := _differing_alone(batches, pool, encoded, base)):
            own = {ALONE: n}
    return [
        p._replace(context=replace(p.context, own={**p.context.own, **own})) if each else p
        for p, each in zip(planned, limits, strict=True)
    ]


def _differing_alone(batches: BatchPredictor, pool: Examples, encoded: Encoded, base: Predictions) -> int:
    """Return how many of the examples with most padding get another answer or other probabilities in a batch of one."""
    padding = np.zeros(len(pool), dtype=np.int64)
    for batch in base_batches(pool, encoded, base.positions, batches.size):
        padding[batch] = encoded.lengths[batch].max() - encoded.lengths[batch]
    by_padding = pool.uid_order[np.argsort(-padding[pool.uid_order], kind="stable")]
    padded = by_padding[padding[by_padding] > 0][:MOST_ALONE]
    if not len(padded):
        return 0
    mine = batches.predict(encoded.batches, [padded[[k]] for k in range(len(padded))], "Examples alone")
    alone, before = gather_predictions(mine, "examples alone").select(padded), base.select(padded)
    differs = pc.not_equal(alone.texts, before.texts).to_numpy(zero_copy_only=False)
    if alone.probs is not None and before.probs is not None:
        differs = differs | (np.abs(alone.probs - before.probs).max(axis=1) > NullControl.rounding)
    return int(differs.sum())


def _is_half(batches: BatchPredictor) -> bool:
    if (torch := sys.modules.get("torch")) is None:
        return False
    network = getattr(batches.predictor, "network", None)
    with batches.processes.precision():
        by_autocast = torch.is_autocast_enabled(batches.processes.device.type)
    is_network = isinstance(network, torch.nn.Module)
    return by_autocast or (is_network and any(w.dtype.itemsize == 2 for w in network.parameters()))
