"""results.json from rows files alone: the engine makes it of what it has just predicted, and ``rescore`` of files."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics import METRICS, Metric
from heedful.metrics.accuracy import ON_TIME
from heedful.metrics.number import Numbers, measured, shown
from heedful.records import Context, MetricName, RunError, Section, SettingError, Shown
from heedful.records.rows import BASE

Evaluated = tuple[pa.Table, Mapping[str, Any]]  # the rows of an evaluation, and their metadata


@dataclass(frozen=True)
class Scored:
    """The numbers of several evaluations, and results.json but for the hashes of the rows files."""

    numbers: Numbers
    results: dict[str, Any]


def score(
    run: Mapping[str, Any], evaluated: Mapping[str, Evaluated], metrics: Mapping[str, Metric] = METRICS
) -> Scored:
    """Everything that results.json says but for hashes, from the rows and their metadata.

    Args:
        run: What was evaluated: "data", "split", "seed", "note", "counts" of the examples, the hash of the "weights",
            "unfinished", how far the run was where it had not ended, and the "identity" of the model.
        evaluated: Evaluation to its rows and their metadata, of which "context" and "counts" are read.
        metrics: Those that there are, by name. Tables show them in this order.

    Raises:
        HeedfulError: Two numbers have the same name, or an evaluation is not among the metrics.
    """
    if unknown := sorted(evaluated.keys() - metrics.keys()):
        raise SettingError(
            f"There is no metric of the evaluation {unknown[0]}. Make it known with heedful.metrics.register."
        )
    numbers: Numbers = {}
    first_of_name: dict[str, tuple[str, MetricName]] = {}
    counts = dict(run["counts"])
    tables = []
    for metric in (metric for metric in metrics.values() if metric.evaluation in evaluated):
        rows, metadata = evaluated[metric.evaluation]
        made = metric.evaluate(rows, Context.of(metadata["context"], metadata["counts"]))
        own_numbers = measured(made)
        for name in own_numbers:
            if (first := first_of_name.setdefault(str(name), (metric.name, name))) != (metric.name, name):
                raise RunError(
                    f"{metric.name} and {first[0]} both yield the metric {name}. Rename the label, part or column in "
                    "it."
                )
        numbers |= own_numbers
        counts |= {f"{metric.evaluation}/{key}": count for key, count in metadata["counts"].items()}
        tables.append(shown(made))
    numbers = _beside_floor(numbers)
    results = {
        **{key: run[key] for key in ("data", "split", "seed", "note")},
        "unfinished": run.get("unfinished"),
        "identity": _identity(run, evaluated),
        "metrics": {str(name): measurement.as_dict() for name, measurement in numbers.items()},
        "names": {str(name): list(name) for name in numbers},
        "counts": counts,
        "display": _together(tables).as_dict(),
    }
    return Scored(numbers, results)


def _identity(run: Mapping[str, Any], evaluated: Mapping[str, Evaluated]) -> dict[str, Any]:
    """Who was measured, with the hash of the weights and the version of each intervention."""
    versions: dict[str, int] = {}
    for rows, _ in evaluated.values():
        rows = rows.filter(pc.not_equal(rows["intervention"], BASE))
        made = rows.select(["intervention", "version"]).group_by(["intervention", "version"]).aggregate([])
        versions |= dict(zip(made["intervention"].to_pylist(), made["version"].to_pylist(), strict=True))
    data = {"data": run["data"], "split": run["split"]}
    return {**data, "weights": run.get("weights"), **run.get("identity", {}), "interventions": versions}


def _beside_floor(numbers: Numbers) -> Numbers:
    """Numbers, with attentiveness flagged where a server answers differently when it is asked the same again."""
    differ = {name.data for name, m in numbers.items() if name.family == "null" and ON_TIME in m.flags}
    return {
        name: replace(m, flags=(*m.flags, ON_TIME))
        if name.family == "attentiveness" and name.data in differ and name.statistic in ("", "kept") and not name.slice
        else m
        for name, m in numbers.items()
    }


def _together(tables: list[Shown]) -> Shown:
    """Join the tables of several evaluations, one below the other."""
    sections: dict[str, Section] = {}
    for table in tables:
        sections |= table.sections
    asides = tuple(dict.fromkeys(aside for table in tables for aside in table.asides))
    return Shown([line for table in tables for line in table.lines], asides, sections)
