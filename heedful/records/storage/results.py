"""results.json and the rows that it is computed from: written together, and checked together when they are read."""

import hashlib
import json
import math
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any

import pyarrow as pa

from heedful.records.errors import RunError, printable
from heedful.records.numbers.display import Line
from heedful.records.numbers.metric_name import MetricName
from heedful.records.rows import read_rows, save_rows
from heedful.records.storage.files import as_json, atomic_path, open_file, read_json, write_json
from heedful.records.storage.schema import WRITTEN, as_written, of_today
from heedful.records.storage.sound_rows import require_sound

RESULTS, RUN = "results.json", "run.json"
HASH = "results"  # in run.json: the sha256 of results.json
ACCEPTED = "accepted_rows"  # in results.json, and a flag of each number: its rows may be others than were recorded
CLOSED = 7  # since this schema no interval comes from resamples, and each holds its value
ROUNDED = 1e-9
TYPES: dict[str, type | UnionType] = {
    "data": str,
    "split": str,
    "seed": int,
    "metrics": dict,
    "names": dict,
    "counts": dict,
    "display": dict,
}
TYPES |= {"note": str | None, "rows": dict}
DISPLAY = {"lines": list, "asides": list, "sections": dict}
LINE = Line("accuracy/mnli", "accuracy")
MEASURED = {"value": float, "n": int, "draws": int, "std": float, "ci95": list, "per_draw": list, "flags": list}


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
        results: What it says but for the hashes.
        hashes: Evaluation to the sha256 of its rows file.
    """
    return as_json({**results, "rows": dict(hashes)})


def read_results(folder: str | Path) -> dict[str, Any]:
    """Read results.json of a run; its rows, where they are at hand, must be those that it was computed from.

    Raises:
        HeedfulError: It is missing, damaged, of a schema that is not read, of another run, or does not fit the rows
            beside it.
    """
    path = Path(folder) / RESULTS
    if not path.exists() and (Path(folder) / RUN).is_file():
        raise RunError(
            f"{folder} has no {RESULTS} yet: it is still running, or was stopped. Wait for its end; where it was "
            "stopped, go on with it: resume."
        )
    if Path(folder).is_dir() and not path.exists():
        raise RunError(
            f"There is no {path}: {folder} is not a run, or was not evaluated yet. Name a folder that train.py or "
            "evaluate.py wrote."
        )
    results = sound(read_json(path), str(path))
    require_own_results(folder)
    for name in results["rows"]:
        if rows_file(folder, name).exists():
            require_recorded(folder, results, name)
    if ACCEPTED in results:
        _tell_accepted(str(path))
    return results


def require_own_results(folder: str | Path) -> None:
    """Refuse a results.json that is not the one that was written there: run.json holds its sha256, since schema 7.

    Raises:
        HeedfulError: It was edited, or is of another run.
    """
    path = Path(folder) / RESULTS
    recorded = read_run(folder).get(HASH)
    if recorded is not None and recorded != file_hash(path):
        raise RunError(
            f"{path} was edited, or is of another run: its sha256 is not the one in {RUN}. Bring it back, or evaluate "
            "again."
        )


def record_results(folder: str | Path) -> None:
    """Write the sha256 of results.json into run.json, where there is one."""
    if about := read_run(folder):
        write_json(Path(folder) / RUN, as_written(about) | {HASH: file_hash(Path(folder) / RESULTS)})


@cache
def _tell_accepted(path: str) -> None:
    """Say it once of each file, whatever reads it how often."""
    told = f"{path}: made by rescore, of rows that are not known to be those that were recorded."
    print(printable(told), file=sys.stderr)


def sound(content: Any, display_name: str) -> dict[str, Any]:
    """The content of a results.json under the present schema.

    Args:
        content: The values in it.
        display_name: The file; begins the message.

    Raises:
        HeedfulError: It is of a schema that is not read, or makes no sense.
    """
    results = of_today(content, display_name)
    if wrong := _fault(results):
        raise RunError(f"{display_name} is damaged: {wrong}. Bring the file back, or evaluate again.")
    return results


def require_recorded(folder: str | Path, results: Mapping[str, Any], evaluation: str) -> None:
    """Check that a file of rows is the one that results are computed from.

    Args:
        folder: The folder of a run.
        results: The content of its results.json.
        evaluation: Which rows.

    Raises:
        HeedfulError: It is not.
    """
    file = rows_file(folder, evaluation)
    path = Path(folder) / RESULTS
    if evaluation not in results["rows"]:
        raise RunError(f"{file} is not among the rows that {path} was computed from. Evaluate again.")
    if not file.exists():
        raise RunError(f"{file} does not exist, and {path} has numbers of it. Evaluate again.")
    if file_hash(file) != results["rows"][evaluation]:
        raise RunError(f"{file} has another sha256 than {path} names. Evaluate again.")


def read_run(folder: str | Path) -> dict[str, Any]:
    """Read run.json of a run or of an evaluation; an empty description where there is none.

    Raises:
        HeedfulError: It is damaged, or of a schema that is not read.
    """
    path = Path(folder) / RUN
    if not path.is_file():
        return {}
    about = read_json(path)
    if not isinstance(about, dict):
        raise RunError(f"{path} is damaged: it does not describe a run. Bring the file back, or evaluate again.")
    return of_today(about, str(path)) if "schema" in about else about  # schema 4 had no number here


def named(results: Mapping[str, Any]) -> dict[MetricName, dict[str, Any]]:
    """The measurements of a results.json by their names."""
    return {MetricName(*results["names"][text]): measured for text, measured in results["metrics"].items()}


def read_evaluation(folder: str | Path, evaluation: str) -> tuple[pa.Table, dict[str, Any]] | None:
    """The rows of an evaluation and their metadata, checked as by :func:`read_results`; None where it did not run.

    Raises:
        HeedfulError: As :func:`read_results`, :func:`heedful.records.rows.read_rows` and
            :func:`heedful.records.storage.sound_rows.require_sound`.
    """
    results = read_results(folder)
    file = rows_file(folder, evaluation)
    if evaluation not in results["rows"]:
        if file.exists():
            require_recorded(folder, results, evaluation)
        return None
    rows, metadata = read_rows(file)
    require_sound(rows, metadata, str(file))
    return rows, metadata


def file_hash(path: Path) -> str:
    """The sha256 of a file."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _is(value: Any, kind: Any) -> bool:
    """Whether a value from JSON is of a kind; an int is a float, a bool is neither, and numbers are finite."""
    if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
        return False
    return isinstance(value, int | float if kind is float else kind)


def _fault(results: Mapping[str, Any]) -> str | None:
    """The first fault in the content of results.json, or None."""
    for key, kind in TYPES.items():
        if key not in results:
            return f"it has no {key!r}"
        if not _is(results[key], kind):
            return f"{key!r} is {json.dumps(results[key])[:40]}"
    if results.get(ACCEPTED, True) is not True:
        return f"{ACCEPTED!r} is {json.dumps(results[ACCEPTED])[:40]}"
    for name, sha256 in results["rows"].items():
        if not isinstance(sha256, str) or "/" in name:
            return f"'rows' has no hash of {name!r}"
    of_display = _fault_of_display(results["display"], results["metrics"])
    return _fault_of_counts(results["counts"]) or _fault_of_metrics(results) or of_display


def _fault_of_counts(counts: Mapping[str, Any]) -> str | None:
    """The first fault in what was counted, or None: a number that is not a count, or a part without two of them."""
    for name, value in counts.items():
        if name.endswith("tokens_kept"):
            of = name.removesuffix("tokens_kept")
            pairs = [[counts.get(f"{of}examples"), counts.get(f"{of}truncated")]]
            pairs += value.values() if isinstance(value, dict) else [value]
            fits = all(isinstance(pair, list) and len(pair) == 2 and all(map(_is_count, pair)) for pair in pairs)
        else:
            fits = isinstance(value, dict | list | str | None) or _is_count(value)
        if not fits:
            return f"{name!r} among the 'counts' is {json.dumps(value)[:40]}"
    return None


def _is_count(value: Any) -> bool:
    return _is(value, int) and value >= 0


def _fault_of_metrics(results: Mapping[str, Any]) -> str | None:
    """The first fault in the numbers, or None."""
    for name, measured in results["metrics"].items():
        fields = results["names"].get(name)
        if not _texts(fields) or len(fields) != len(MetricName._fields) or str(MetricName(*fields)) != name:
            return f"'names' has no fields of {name!r}"
        if wrong := _wrong(measured):
            return f"{wrong} of {name!r} is missing or of the wrong type"
        if wrong := _senseless(measured, MetricName(*fields).bounds, results[WRITTEN]):
            return f"{wrong} of {name!r} makes no sense"
    return None


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _fault_of_display(display: Mapping[str, Any], metrics: Mapping[str, Any]) -> str | None:
    """The first fault in what says how the numbers, by their names, are shown; or None."""
    for key, kind in DISPLAY.items():
        if not isinstance(display.get(key), kind):
            return f"'display' has no {key!r}"
    for line in display["lines"]:
        try:
            fits = all(isinstance(value, type(getattr(LINE, key))) for key, value in vars(Line(**line)).items())
        except TypeError:
            fits = False
        if not fits:
            return f"'display' has the line {json.dumps(line)[:40]}"
        if not line.get("text") and line["metric"] not in metrics:
            return f"'display' has a line of {line['metric']!r}, which is not among the metrics"
    for heading, section in display["sections"].items():
        fits = isinstance(section, dict) and _texts(section.get("about")) and isinstance(section.get("examples"), str)
        if not fits:
            return f"'display' has no section {heading!r}"
    return None if _texts(display["asides"]) else "'asides' of 'display' are not texts"


def _wrong(measured: Any) -> str | None:
    """The field of a measurement that is not as ``Measurement.as_dict`` writes it, if there is one."""
    if not isinstance(measured, dict):
        return "the measurement"
    empty = ("value", "draws", "std", "ci95")  # fields that may be null
    for field, kind in MEASURED.items():
        if field not in measured:
            return repr(field)
        value = measured[field]
        if not _is(value, kind) and not (value is None and field in empty):
            return repr(field)
    if not isinstance(measured.get("reason"), str if measured["value"] is None else str | None):
        return "'reason'"
    numbers = [*measured["per_draw"], *(measured["ci95"] or ())]
    if len(measured["ci95"] or (0, 0)) != 2 or not all(_is(x, float) for x in numbers):
        return "'ci95' or 'per_draw'"
    return None if all(isinstance(flag, str) for flag in measured["flags"]) else "'flags'"


def _senseless(measured: Mapping[str, Any], bounds: tuple[float, float], written: int) -> str | None:
    """The field of a measurement whose value cannot be, if there is one.

    Args:
        measured: A measurement whose fields are of the right types.
        bounds: Between which the number must lie.
        written: The schema that it was written under.
    """
    value = measured["value"]
    numbers = [*measured["per_draw"], *(measured["ci95"] or ()), *([] if value is None else [value])]
    if not all(bounds[0] - ROUNDED <= x <= bounds[1] + ROUNDED for x in numbers):
        return "a number"
    if measured["n"] < 0 or (measured["n"] == 0 and value is not None):
        return "'n'"
    if measured["draws"] is not None and len(measured["per_draw"]) not in (0, measured["draws"]):
        return "'draws'"
    if measured["std"] is not None and measured["std"] < 0:
        return "'std'"
    if measured["ci95"] is None:
        return None
    low, high = measured["ci95"]
    if low > high or value is None or (written >= CLOSED and not low - ROUNDED <= value <= high + ROUNDED):
        return "'ci95'"
    return None
