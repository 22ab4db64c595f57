"""Compute the content of results.json from rows, after an evaluation or for ``heedful rescore``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from heedful.metrics import METRICS, Metric
from heedful.metrics.accuracy import ON_TIME
from heedful.metrics.number import Numbers, measured, merged_counts
from heedful.metrics.perturbation import perturbation_metric
from heedful.records import Context, MetricName, RunError, SettingError
from heedful.records.rows import BASE

Evaluated = tuple[pa.Table, Mapping[str, Any]]  # rows of an evaluation, one per prediction, and their metadata


@dataclass(frozen=True)
class Scored:
    """The numbers of a run that were computed from its rows, as measurements and as the content of results.json."""

    numbers: Numbers  # measurements by metric name, rounded to 12 significant digits
    results: dict[str, Any]  # content of results.json without the hashes of the rows files


def metrics_of(evaluated: Mapping[str, Evaluated], metrics: Mapping[str, Metric] = METRICS) -> dict[str, Metric]:
    """Return the metrics by name, and the metrics of the perturbations (functions) among the evaluations."""
    contexts = {name: metadata["context"]["own"] for name, (_, metadata) in evaluated.items() if name not in metrics}
    functions = {name: perturbation_metric(name) for name, settings in contexts.items() if "perturbation" in settings}
    return {**metrics, **functions}


def score(
    run: Mapping[str, Any], evaluated: Mapping[str, Evaluated], metrics: Mapping[str, Metric] = METRICS
) -> Scored:
    """Compute the numbers of a run from the rows of its evaluations.

    Args:
        run: Description of the run: "data", "split", "seed", "note", "counts" (of examples), and optionally "weights"
            (hash), "identity" (of the model) and "unfinished" (progress of a run that had not ended).
        evaluated: Rows and metadata by evaluation; the metadata have "context" and "counts".
        metrics: Metrics by name, in the order of tables.

    Raises:
        HeedfulError: Two numbers have the same name, or an evaluation has no metric.
    """
    metrics = metrics_of(evaluated, metrics)
    if unknown := sorted(evaluated.keys() - metrics.keys()):
        raise SettingError(f"The evaluation {unknown[0]} has no metric. Register one with heedful.metrics.register.")
    numbers: Numbers = {}
    first_of_name: dict[str, tuple[str, MetricName]] = {}
    counts = dict(run["counts"])
    headlines: list[str] = []
    words: dict[str, str | None] = {}
    for metric in (metric for metric in metrics.values() if metric.evaluation in evaluated):
        rows, metadata = evaluated[metric.evaluation]
        evaluated_numbers, counted = metric.evaluate(rows, Context.of(metadata["context"], metadata["counts"]))
        scored = measured(evaluated_numbers)
        for name in scored:
            if (first := first_of_name.setdefault(str(name), (metric.name, name))) != (metric.name, name):
                raise RunError(
                    f"{metric.name} and {first[0]} both yield the metric {name}. Rename the label or part in it."
                )
        numbers |= scored
        for of_evaluation in (metadata["counts"], counted):
            counts = merged_counts(counts, {f"{metric.evaluation}/{key}": n for key, n in of_evaluation.items()})
        headlines += [str(number.name) for number in evaluated_numbers if number.headline]
        words |= metric.words
    numbers = {name: measurement.rounded() for name, measurement in _flag_noise(numbers).items()}
    results = {
        **{key: run[key] for key in ("data", "split", "seed", "note")},
        **({"batches": run["batches"]} if "batches" in run else {}),
        "unfinished": run.get("unfinished"),
        "identity": _identity(run, evaluated),
        "metrics": {str(name): measurement.as_dict() for name, measurement in numbers.items()},
        "names": [list(name) for name in numbers],
        "headlines": headlines,
        "words": words,
        "counts": json.loads(json.dumps(counts)),  # as from a file
    }
    return Scored(numbers, results)


def _identity(run: Mapping[str, Any], evaluated: Mapping[str, Evaluated]) -> dict[str, Any]:
    """Return data set, split, hash of the weights, description of the model, and versions of the interventions."""
    versions: dict[str, int] = {}
    for rows, _ in evaluated.values():
        pairs = rows.select(["intervention", "version"]).group_by(["intervention", "version"]).aggregate([])
        versions |= dict(zip(pairs["intervention"].to_pylist(), pairs["version"].to_pylist(), strict=True))
    versions.pop(BASE, None)
    data = {"data": run["data"], "split": run["split"]}
    return {**data, "weights": run.get("weights"), **run.get("identity", {}), "interventions": versions}


def _flag_noise(numbers: Numbers) -> Numbers:
    """Flag attentiveness if the null control found that a server answers equal inputs differently."""
    differ = {name.data for name, m in numbers.items() if name.family == "null" and ON_TIME in m.flags}
    return {
        name: replace(m, flags=(*m.flags, ON_TIME))
        if name.family == "attentiveness" and name.data in differ and name.statistic in ("", "kept") and not name.slice
        else m
        for name, m in numbers.items()
    }
