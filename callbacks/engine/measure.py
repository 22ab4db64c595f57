"""``measure``: from a predictor, data and plans to rows and numbers, on any number of processes, without a Trainer."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.alone import with_alone
from heedful.callbacks.engine.batch_predictor import BatchPredictor
from heedful.callbacks.engine.counts import counts_of, cut_short, met_before
from heedful.callbacks.engine.evaluation import Planned, Plans
from heedful.callbacks.engine.experiment import Experiment
from heedful.callbacks.engine.inquiry import inquire
from heedful.callbacks.engine.predictions import Predictions
from heedful.callbacks.engine.processes import Processes
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.splits import limited
from heedful.interventions import Intervention, manifest_hash
from heedful.lightning_modules.predictor import Predictor
from heedful.metrics import METRICS
from heedful.metrics.number import Numbers
from heedful.records import NO_LABEL, Composed, Measurement
from heedful.records import rows as r
from heedful.reports.results import Evaluated, score

ALL = 1.0  # limit_val_batches that leaves all examples
Rows = tuple[pa.Table, Mapping[str, int]]  # the rows of an evaluation, and counts


@dataclass(frozen=True, eq=False)
class Measurements(Mapping[str, Measurement]):
    """The measurements of one evaluation of a model: name of a number, such as "attentiveness/mnli/premise", to it.

    Attributes:
        numbers: The same, by metric names.
        content: Content of results.json, but for the hashes of the rows.
        rows: Evaluation to its rows and their metadata, on rank 0; empty on the others.
        plans: The plans of the evaluations.
        epoch: The epoch of a training in which they were measured, from 0; None outside trainings.
        step: Number of training steps.
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
    """Predict the changes that evaluations plan, and compute their numbers; every process calls this.

    Each base example and each distinct changed example is predicted once.

    Args:
        predictor: The model, bound to the task of the data.
        data: The data, set up.
        plans: The plans of the evaluations.
        processes: The processes that predict.
        base: Predictions of all processes on the pool of the data, after ``predictor.start``; by default they are made
            here.
        about: More about the run for results.json: the hash of the weights, the identity of the model, and the
            progress of a run that has not ended.
        limit: The Trainer's limit_val_batches, for predictions that are made here.

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
        together = [p for p in plans.planned.values() if p.plan.pool is pool]
        if pool is data.pool:
            together = with_alone(together, batches, pool, predictor.encode(Composed.whole(pool)), base)
        rows |= _rows_of_pool(batches, data, together, run, base if pool is data.pool else None)
    # not before: answers to changed examples are counted, too; the metadata of rows are copies by now
    counted = predictor.counts_of(sum(processes.gather(predictor.counted), Counter()))
    for counts in (run["counts"], *(metadata["run"]["counts"] for _, metadata in rows.values())):
        counts |= counted
    metrics = METRICS | {name: p.evaluation.metric for name, p in plans.planned.items()}
    scored = processes.by_first(lambda: score(run, rows, metrics))
    predictor.finish()
    return Measurements(scored.numbers, scored.results, rows, plans)


def _rows_of_pool(
    batches: BatchPredictor,
    data: Pairs,
    together: Sequence[Planned],
    run: Mapping[str, Any],
    base: Predictions | None,
) -> dict[str, Evaluated]:
    """The rows of the evaluations of one pool, on rank 0, with what must be known to compute numbers from them.

    Args:
        batches: Predicts.
        data: The data.
        together: The evaluations.
        run: Facts about the run, for the metadata of each rows file.
        base: The predictions on the pool; None where it is not the pool of the data.
    """
    pool = together[0].plan.pool
    names = [planned.evaluation.name for planned in together]
    interventions = {p.evaluation.name: list(p.plan.interventions) for p in together if p.plan.inquiry is None}
    inquiries = {p.evaluation.name: p.plan.inquiry for p in together if p.plan.inquiry is not None}
    manifests = {name: manifest_hash(plan, pool, data.seed) for name, plan in interventions.items()}
    manifests |= {name: manifest_hash([inquiry], pool, data.seed) for name, inquiry in inquiries.items()}
    batches.processes.require_alike(manifests, f"examples of the evaluations {', '.join(names)}")
    of_pool: dict[str, Any] = {}
    if base is None:
        encoded, positions = batches.predictor.encode(Composed.whole(pool)), np.arange(len(pool))
        if len(pool):
            batches.predictor.require_known(encoded.statistics, f"{pool[0].uid} and the other examples with it")
        base = batches.pool(pool, encoded, positions)
        counts = met_before(pool, positions, data, batches.predictor)
        of_pool = {"examples": len(pool), **cut_short(encoded.statistics), **counts}
    experiment = Experiment(batches, data, pool, base)
    rows = _changed_rows(experiment, interventions, together, manifests) if interventions else {}
    rows |= {name: inquire(experiment, inquiry) for name, inquiry in inquiries.items()}

    def evaluated() -> dict[str, Evaluated]:
        return {p.evaluation.name: _evaluated(p, rows[p.evaluation.name], manifests, run, of_pool) for p in together}

    by_name: dict[str, Evaluated] = {}
    batches.processes.by_first(lambda: by_name.update(evaluated()))
    return by_name


def _changed_rows(
    experiment: Experiment,
    interventions: dict[str, list[Intervention]],
    together: Sequence[Planned],
    manifests: dict[str, str],
) -> dict[str, Rows]:
    """The rows of interventions, of one stage or of two; ``manifests`` become those of the last stage."""
    rows, changed = experiment.rows(interventions)
    second: dict[str, list[Intervention]] = {}
    for planned in (planned for planned in together if planned.evaluation.name in interventions):
        name = planned.evaluation.name
        more = experiment.processes.by_first(
            lambda p=planned, f=rows[name][0]: p.evaluation.second_stage(p.plan, f, p.context)
        )
        if more:
            second[name] = list(more)
            manifests[name] = manifest_hash(more, planned.plan.pool, experiment.seed)
    if second:
        more_rows, _ = experiment.rows(second, {name: changed[name] for name in second})
        rows |= {name: _joined(rows[name], more_rows[name]) for name in second}
    return rows


def _joined(first: Rows, second: Rows) -> Rows:
    """The rows of two stages in canonical order, with the base rows of the first."""
    changes = second[0].filter(pc.not_equal(second[0]["intervention"], r.BASE))
    table = pa.concat_tables([first[0], changes]).sort_by([(name, "ascending") for name in r.KEY])
    return table, dict(Counter(first[1]) + Counter(second[1]))


def _evaluated(
    planned: Planned,
    counted_rows: Rows,
    manifests: Mapping[str, str],
    run: Mapping[str, Any],
    of_pool: Mapping[str, Any],
) -> Evaluated:
    """The rows of an evaluation with their metadata.

    Args:
        planned: The evaluation.
        counted_rows: Its rows, and counts.
        manifests: Evaluation name to the identity of its changes.
        run: Facts about the run.
        of_pool: Counts of the examples, where they are not those of the data.
    """
    evaluation, plan, context = planned
    rows, counted = counted_rows
    counts = {**plan.counts, **counted, **evaluation.counts(plan, rows, context)}
    without = r.where(rows, **{"y" if plan.inquiry else "y2": NO_LABEL})
    if of_pool:
        without |= r.where(rows, y=NO_LABEL, intervention=r.BASE)
        counts |= of_pool
    counts["no_label"] = int(without.sum())
    metadata = {"data": run["data"], "seed": run["seed"], "manifest": manifests[evaluation.name], "run": run}
    metadata |= {"context": context.as_dict(), "counts": counts}
    return rows, json.loads(json.dumps(metadata, sort_keys=True))  # as from a file
