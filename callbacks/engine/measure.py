"""Predict base and changed examples, and compute the numbers of all evaluations, on any number of processes."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

import numpy as np

from heedful.callbacks.engine.alone import with_padding_test
from heedful.callbacks.engine.batch_predictor import BatchPredictor
from heedful.callbacks.engine.counts import counts_of, repeated_and_trained, truncation, with_metadata
from heedful.callbacks.engine.evaluation import Planned, Plans
from heedful.callbacks.engine.experiment import Experiment, Rows, joined
from heedful.callbacks.engine.inquiry import inquire
from heedful.callbacks.engine.predictions import Predictions
from heedful.callbacks.engine.processes import Processes
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.splits import limited
from heedful.interventions import Intervention, manifest_hash
from heedful.lightning_modules.predictor import Predictor
from heedful.metrics import METRICS
from heedful.metrics.number import Numbers
from heedful.records import Composed, Measurement
from heedful.reports.results import Evaluated, score

ALL = 1.0  # the value of limit_val_batches that keeps all examples


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
    batches = BatchPredictor(predictor, processes, data.task, data.eval_batch_size)
    if base is None:
        encoded = predictor.encode(Composed.whole(data.pool))
        positions, _ = limited(data.pool, limit, data.eval_batch_size, data.seed)
        predictor.require_known(encoded.statistics, f"the examples of {data.name}")
        data.announce_evaluation(positions, encoded.statistics)
        predictor.start(Composed(data.pool, positions), processes)
        base = batches.pool(data.pool, encoded, positions)
    run = {"data": data.name, "split": data.evaluated, "seed": data.seed, "note": data.note, **about}
    if predictor.prompt is not None:
        run["identity"] = {**run.get("identity", {}), "prompt": predictor.prompt.as_dict()}
    run["counts"] = counts_of(data, base, predictor)
    rows: dict[str, Evaluated] = {}
    for pool in {id(p.plan.pool): p.plan.pool for p in plans.planned.values()}.values():
        planned = [p for p in plans.planned.values() if p.plan.pool is pool]
        if pool is data.pool:
            planned = with_padding_test(planned, batches, pool, predictor.encode(Composed.whole(pool)), base)
        rows |= _pool_rows(batches, data, planned, run, base if pool is data.pool else None)
    # not earlier, since answers to changed examples count as well; the metadata of the rows are copies of ``run``
    counted = predictor.counts_of(sum(processes.gather(predictor.counted), Counter()))
    for counts in (run["counts"], *(metadata["run"]["counts"] for _, metadata in rows.values())):
        counts |= counted
    metrics = METRICS | {name: p.evaluation.metric for name, p in plans.planned.items()}
    scored = processes.by_first(lambda: score(run, rows, metrics))
    predictor.finish()
    return Measurements(scored.numbers, scored.results, rows, plans)


def _pool_rows(
    batches: BatchPredictor, data: Pairs, planned: Sequence[Planned], run: Mapping[str, Any], base: Predictions | None
) -> dict[str, Evaluated]:
    """Predict the changed examples of all evaluations that change the same pool of examples. Return the rows and
    metadata per evaluation on rank 0, and an empty mapping on other ranks.

    Args:
        batches: Predicts batches with the model.
        data: The data module.
        planned: The evaluations. All have the same pool, ``plan.pool``.
        run: Facts about the run, for the metadata.
        base: Predictions of the unchanged examples if the pool is ``data.pool``. None for a pool that the evaluations
            bring: its unchanged examples are predicted here.
    """
    pool = planned[0].plan.pool
    interventions = {p.evaluation.name: list(p.plan.interventions) for p in planned if p.plan.inquiry is None}
    inquiries = {p.evaluation.name: p.plan.inquiry for p in planned if p.plan.inquiry is not None}
    manifests = {name: manifest_hash(plan, pool, data.seed) for name, plan in interventions.items()}
    manifests |= {name: manifest_hash([inquiry], pool, data.seed) for name, inquiry in inquiries.items()}
    batches.processes.require_alike(manifests, f"examples of the evaluations {', '.join(manifests)}")
    counts: dict[str, Any] = {}
    if base is None:
        encoded, positions = batches.predictor.encode(Composed.whole(pool)), np.arange(len(pool))
        if len(pool):
            batches.predictor.require_known(encoded.statistics, f"{pool[0].uid} and the other examples with it")
        base = batches.pool(pool, encoded, positions)
        counts = {"examples": len(pool), **truncation(encoded.statistics)}
        counts |= repeated_and_trained(pool, positions, data, batches.predictor)
    experiment = Experiment(batches, data, pool, base)
    rows = _staged_rows(experiment, interventions, planned, manifests) if interventions else {}
    rows |= {name: inquire(experiment, inquiry) for name, inquiry in inquiries.items()}
    evaluated: dict[str, Evaluated] = {}

    def add_metadata() -> None:
        for p in planned:
            evaluated[p.evaluation.name] = with_metadata(p, rows, manifests, run, counts)

    batches.processes.by_first(add_metadata)
    return evaluated


def _staged_rows(
    experiment: Experiment, plans: Mapping[str, Any], planned: Sequence[Planned], manifests: dict[str, str]
) -> dict[str, Rows]:
    """Change and predict examples, in one or two stages, and return the rows per evaluation, from all stages.

    The first stage changes the examples in the plans. A second stage changes more examples, for evaluations whose
    method ``second_stage`` returns interventions.

    ``plans`` maps evaluations to the interventions of the first stage. ``manifests`` maps evaluations to a hash of
    their planned changes. A second stage overwrites the hash in ``manifests``.
    """
    rows, changed = experiment.rows(plans)
    second: dict[str, Sequence[Intervention]] = {}
    for evaluation, plan, context in (p for p in planned if p.evaluation.name in plans):
        name = evaluation.name
        more = experiment.processes.by_first(partial(evaluation.second_stage, plan, rows[name][0], context))
        if more:
            second[name] = more
            manifests[name] = manifest_hash(more, plan.pool, experiment.seed)
    if second:
        second_rows, _ = experiment.rows(second, {name: changed[name] for name in second})
        rows |= {name: joined(rows[name], second_rows[name]) for name in second}
    return rows
