"""results.json and the rows that it is computed from: written together, and compared by their hashes when read.

results.json holds a checksum of all that it says, and the sha256 of each file of rows. It also says who was measured:
its ``identity`` names model, data, regime, seeds, the hash of the weights and the versions of interventions.
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
    """The folders as they are named, each once: "run" and "run/" are the same."""
    by_resolved_path: dict[Path, str] = {}
    for folder in folders:
        by_resolved_path.setdefault(Path(folder).resolve(), folder)
    return list(by_resolved_path.values())


def rows_file(folder: str | Path, evaluation: str) -> Path:
    """Where the rows of an evaluation are, in the folder of a run."""
    return Path(folder) / "rows" / f"{evaluation}.parquet"


def write_results(
    folder: str | Path,
    results: Mapping[str, Any],
    rows: Mapping[str, tuple[pa.Table, Mapping[str, Any]]],
    outdated: Iterable[Path] = (),
) -> None:
    """Write results.json and the rows of every evaluation, with the sha256 of each file of rows in results.json.

    All files are written before the first takes its place, and results.json takes its place last: a full disk leaves
    the old files, and after a kill in between results.json does not fit the rows, which :func:`read_results` sees. Rows
    of evaluations that did not run this time are removed.

    Args:
        folder: The folder of a run.
        results: What results.json says but for the hashes.
        rows: Evaluation to its rows and their metadata.
        outdated: Files that show the old results, to be removed as well.
    """
    with ExitStack() as stack:  # leaves the last that was entered first
        file = stack.enter_context(atomic_path(Path(folder) / RESULTS))
        hashes = {}
        for name, (table, metadata) in rows.items():
            hashes[name] = save_rows(stack.enter_context(atomic_path(rows_file(folder, name))), table, metadata)
        file.write_text(results_text(results, hashes), encoding="utf-8", errors="backslashreplace")
        for path in [*(Path(folder) / "rows").glob("*.parquet"), *outdated]:
            if path.parent.name != "rows" or path.stem not in hashes:
                path.unlink(missing_ok=True)


def results_text(results: Mapping[str, Any], hashes: Mapping[str, str]) -> str:
    """The text of results.json.

    Args:
        results: What it says but for hashes.
        hashes: Evaluation to the sha256 of its rows file.
    """
    content = {**results, "schema": SCHEMA, "rows": dict(hashes)}
    return as_json({**content, CHECKSUM: checksum(content)})


def checksum(content: Mapping[str, Any]) -> str:
    """The sha256 of the content of results.json but for its checksum, as JSON in ASCII with sorted keys."""
    others = {key: value for key, value in content.items() if key != CHECKSUM}
    text = json.dumps(others, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def read_results(folder: str | Path) -> dict[str, Any]:
    """Read results.json of a run; its rows, where they are at hand, must be those that it was computed from.

    Raises:
        HeedfulError: It is missing, of another schema, was edited, or does not fit the rows beside it.
    """
    path = Path(folder) / RESULTS
    if Path(folder).is_dir() and not path.exists():
        if (Path(folder) / RUN).is_file():
            raise RunError(f"{folder} has no {RESULTS} yet: it is still running, or was stopped. Wait, or resume it.")
        raise RunError(f"There is no {path}. Name the folder of a run or of an evaluation.")
    content = read_json(path)
    results = require_schema(content, str(path))
    if results.pop(CHECKSUM, None) != checksum(content):
        raise RunError(f"{path} was edited: its checksum does not fit. Bring the file back, or evaluate again.")
    for name, sha256 in results["rows"].items():
        file = rows_file(folder, name)
        if file.exists() and file_hash(file) != sha256:
            raise RunError(f"{file} has another sha256 than {path} names. Evaluate again.")
    return results


def read_run(folder: str | Path) -> dict[str, Any]:
    """The description of a run or of an evaluation in run.json; empty where there is none."""
    path = Path(folder) / RUN
    about = read_json(path) if path.is_file() else {}
    return about if isinstance(about, dict) else {}


def named(results: Mapping[str, Any]) -> dict[MetricName, dict[str, Any]]:
    """The measurements of a results.json by their names."""
    return {MetricName(*results["names"][text]): measured for text, measured in results["metrics"].items()}


def read_evaluation(folder: str | Path, evaluation: str) -> tuple[pa.Table, dict[str, Any]] | None:
    """The rows of an evaluation and their metadata; None where it did not run.

    Raises:
        HeedfulError: As :func:`read_results` and :func:`heedful.records.rows.read_rows`.
    """
    return read_rows(rows_file(folder, evaluation)) if evaluation in read_results(folder)["rows"] else None


def file_hash(path: Path) -> str:
    """The sha256 of a file."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
