"""Read and write results.json together with the files of rows, whose sha256 it contains.

results.json also has a checksum of its own content. Its ``identity`` has the model, data, training regime, seeds, hash
of the weights and versions of the interventions.
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

RESULTS, RUN, CONFIG = "results.json", "run.json", "config.yaml"  # file names in the folder of a run
CHECKPOINTS = "checkpoints"
BACKBONE = f"{CHECKPOINTS}/backbone"  # the exported model
CHECKSUM = "checksum"


def distinct(folders: Iterable[str]) -> list[str]:
    """Drop repeated folders; "run" and "run/" are the same folder."""
    by_resolved_path: dict[Path, str] = {}
    for folder in folders:
        by_resolved_path.setdefault(Path(folder).resolve(), folder)
    return list(by_resolved_path.values())


def rows_file(folder: str | Path, evaluation: str) -> Path:
    """The path of an evaluation's rows in the folder of a run."""
    return Path(folder) / "rows" / f"{evaluation}.parquet"


def write_results(
    folder: str | Path,
    results: Mapping[str, Any],
    rows: Mapping[str, tuple[pa.Table, Mapping[str, Any]]],
    outdated: Iterable[Path] = (),
) -> None:
    """Write results.json and the rows of all evaluations to the folder of a run, and remove other files of rows.

    All files are first written under temporary names, and then renamed, results.json last. A full disk therefore leaves
    the old files. If the process is killed between two renamings, :func:`read_results` detects the mixture.

    Args:
        folder: The folder of the run.
        results: The content of results.json, without hashes.
        rows: Maps each evaluation to its rows and their metadata.
        outdated: Further files that describe the old results, and are removed.
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
    """Return the text of results.json, with a checksum; ``hashes`` maps evaluations to the sha256 of their rows."""
    content = {**results, "schema": SCHEMA, "rows": dict(hashes)}
    return as_json({**content, CHECKSUM: checksum(content)})


def checksum(content: Mapping[str, Any]) -> str:
    """Return the sha256 of the content of results.json without its checksum, as compact JSON with sorted keys."""
    remaining = {key: value for key, value in content.items() if key != CHECKSUM}
    text = json.dumps(remaining, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def read_results(folder: str | Path) -> dict[str, Any]:
    """Read results.json of a run, and verify its checksum and the sha256 of its rows.

    Raises:
        RunError: If results.json is missing, has another schema or was edited, or if the rows were changed.
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
    """Read run.json of a run or of an evaluation; empty if there is none."""
    path = Path(folder) / RUN
    about = read_json(path) if path.is_file() else {}
    return about if isinstance(about, dict) else {}


def measurements_by_name(results: Mapping[str, Any]) -> dict[MetricName, dict[str, Any]]:
    """Map the names of the metrics in results.json to their measurements (see ``Measurement.as_dict``)."""
    return {MetricName(*results["names"][text]): measured for text, measured in results["metrics"].items()}


def read_evaluation(folder: str | Path, evaluation: str) -> tuple[pa.Table, dict[str, Any]] | None:
    """Read an evaluation's rows and their metadata; None if the evaluation was not part of the run."""
    return read_rows(rows_file(folder, evaluation)) if evaluation in read_results(folder)["rows"] else None


def file_hash(path: Path) -> str:
    """The sha256 of a file."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
