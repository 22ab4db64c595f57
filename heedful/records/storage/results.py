"""results.json and its rows: written together, and checked by their hashes when they are read.

results.json has a checksum of its content, and the sha256 of the files of rows. Its ``identity`` names model, data,
regime, seeds, the hash of the weights and the versions of interventions.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa

from heedful.records.errors import RunError
from heedful.records.numbers.metric_name import MetricName
from heedful.records.rows import read_rows, save_rows
from heedful.records.storage.files import as_json, atomic_path, open_file, read_json
from heedful.records.storage.schema import SCHEMA, require_schema

RESULTS, RUN, CONFIG = "results.json", "run.json", "config.yaml"  # in the folder of a run
CHECKPOINTS = "checkpoints"
BACKBONE = f"{CHECKPOINTS}/backbone"  # the exported model
CHECKSUM = "checksum"


def distinct(folders: Iterable[str]) -> list[str]:
    """Remove repeated folders, such as "run" and "run/"."""
    by_resolved_path: dict[Path, str] = {}
    for folder in folders:
        by_resolved_path.setdefault(Path(folder).resolve(), folder)
    return list(by_resolved_path.values())


def rows_file(folder: str | Path, evaluation: str) -> Path:
    """Path of the rows of an evaluation in the folder of a run."""
    return Path(folder) / "rows" / f"{evaluation}.parquet"


def write_results(
    folder: str | Path,
    results: Mapping[str, Any],
    rows: Mapping[str, tuple[pa.Table, Mapping[str, Any]]],
    outdated: Iterable[Path] = (),
) -> None:
    """Write results.json and the rows of every evaluation, and remove other rows.

    All files are complete before the first is renamed, and results.json is renamed last: a full disk leaves the old
    files, and :func:`read_results` detects a kill in between.

    Args:
        folder: The folder of a run.
        results: Content of results.json without the hashes.
        rows: Maps evaluations to rows and metadata.
        outdated: Other files about the old results, to be removed.
    """
    with ExitStack() as stack:  # exits in reverse order
        file = stack.enter_context(atomic_path(Path(folder) / RESULTS))
        hashes = {}
        for name, (table, metadata) in rows.items():
            hashes[name] = save_rows(stack.enter_context(atomic_path(rows_file(folder, name))), table, metadata)
        file.write_text(results_text(results, hashes), encoding="utf-8", errors="backslashreplace")
        for path in [*(Path(folder) / "rows").glob("*.parquet"), *outdated]:
            if path.parent.name != "rows" or path.stem not in hashes:
                path.unlink(missing_ok=True)


def results_text(results: Mapping[str, Any], hashes: Mapping[str, str]) -> str:
    """The text of results.json; ``hashes`` maps evaluations to the sha256 of their rows."""
    content = {**results, "schema": SCHEMA, "rows": dict(hashes)}
    return as_json({**content, CHECKSUM: checksum(content)})


def checksum(content: Mapping[str, Any]) -> str:
    """The sha256 of the content of results.json without its checksum, as JSON in ASCII with sorted keys."""
    remaining = {key: value for key, value in content.items() if key != CHECKSUM}
    text = json.dumps(remaining, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def read_results(folder: str | Path) -> dict[str, Any]:
    """Read results.json of a run, and check it and its rows by their hashes.

    Raises:
        RunError: results.json is missing, has another schema, or was edited, or its rows were changed.
    """
    path = Path(folder) / RESULTS
    if Path(folder).is_dir() and not path.exists():
        if (Path(folder) / RUN).is_file():
            raise RunError(f"{folder} has no {RESULTS} yet: the run was stopped or is running. Wait, or resume it.")
        raise RunError(f"{path} does not exist. Name the folder of a run or of an evaluation.")
    content = read_json(path)
    results = require_schema(content, str(path))
    if results.pop(CHECKSUM, None) != checksum(content):
        raise RunError(f"{path} was edited: its checksum does not match. Restore the file, or evaluate again.")
    for name, sha256 in results["rows"].items():
        file = rows_file(folder, name)
        if file.exists() and file_hash(file) != sha256:
            raise RunError(f"{file} was changed: its sha256 is not the one in {path}. Evaluate again.")
    return results


def read_run(folder: str | Path) -> dict[str, Any]:
    """Read run.json of a run or of an evaluation; empty without one."""
    path = Path(folder) / RUN
    about = read_json(path) if path.is_file() else {}
    return about if isinstance(about, dict) else {}


def named(results: Mapping[str, Any]) -> dict[MetricName, dict[str, Any]]:
    """The measurements in results.json by name."""
    return {MetricName(*results["names"][text]): measured for text, measured in results["metrics"].items()}


def read_evaluation(folder: str | Path, evaluation: str) -> tuple[pa.Table, dict[str, Any]] | None:
    """Read the rows of an evaluation and their metadata; None if it did not run."""
    return read_rows(rows_file(folder, evaluation)) if evaluation in read_results(folder)["rows"] else None


def file_hash(path: Path) -> str:
    """The sha256 of a file."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
