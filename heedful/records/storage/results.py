"""The folder of a run: its name and lock, results.json with the files of rows, and the numbers of each epoch.

results.json contains the sha256 of the rows and a checksum of its own content. Its ``identity`` has the model, data,
training regime, seeds, hash of the weights and versions of the interventions.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
from filelock import FileLock, Timeout

from heedful.records.errors import RunError
from heedful.records.numbers import Measurement, MetricName
from heedful.records.rows import read_rows, save_rows
from heedful.records.storage.files import as_json, atomic_path, open_file, read_json, writing
from heedful.records.storage.schema import SCHEMA, require_schema

RESULTS, RUN, CONFIG = "results.json", "run.json", "config.yaml"  # file names in the folder of a run
CHECKPOINTS = "checkpoints"
BACKBONE = f"{CHECKPOINTS}/backbone"  # the exported model
EPOCHS = "figures/epochs.json"
LOCK = ".lock"
FIT = "letters, digits, '.', '_', '+' and '-' only, and a letter, digit or '_' first"  # of a name of a folder

Points = list[tuple[int, dict[str, Measurement]]]  # (epoch, measurement of each curve) pairs
History = dict[str, Points]  # maps figures to points


def folder_name(*parts: str) -> str:
    """Join the parts of a folder name by "-", which also replaces slashes and other special characters.

    Example:
        >>> folder_name("mnli", "data/dev set.jsonl", "best"), folder_name("../..")
        ('mnli-data-dev-set.jsonl-best', '')
    """
    return re.sub(r"[^\w.+-]+", "-", "-".join(parts)).strip("-.")


def is_folder_name(name: object) -> bool:
    """Whether a name is valid for a folder, see :data:`FIT`.

    Example:
        >>> is_folder_name("a-1"), is_folder_name("a/b"), is_folder_name(".a"), is_folder_name("")
        (True, False, False, False)
    """
    return isinstance(name, str) and re.fullmatch(r"\w[\w.+-]*", name) is not None


def regime_name(
    partial: str | None, augment: str | None, n: int, fold: int | None, mixed: bool = False, control: str | None = None
) -> str:
    """Return the folder name of a training regime: which parts, examples and augmentation a model is trained with.

    Args:
        partial: The only part that the model receives.
        n: Number of challenge examples, for inoculation (fine-tuning on a few of them).
        mixed: Whether examples of another data set are mixed into the training set.
        control: Name of the mixture of control examples, such as "2L1S", for the data set MSGS.

    Example:
        >>> regime_name("premise", None, 100, 2), regime_name(None, "inoculation", 100, None)
        ('partial-premise-fold-2', 'inoculation-100')
        >>> regime_name(None, None, 100, None, True), regime_name(None, None, 100, None, True, "2L1S")
        ('mixture', 'mixture-2L1S')
    """
    if augment == "inoculation" and not partial:
        return f"inoculation-{n}"
    mixture = "-".join(filter(None, ["mixture", control])) if mixed or control else None
    name = f"partial-{partial}" if partial else augment or mixture or "plain"
    return name if fold is None else f"{name}-fold-{fold}"


@contextmanager
def locked(folder: Path, display_name: str | None = None, new: Sequence[Path] = ()) -> Iterator[None]:
    """Create a folder and lock it, or raise RunError; at the end, remove the new folders that are still empty.

    Such are also the folders ``new``, innermost first. Error messages begin with ``display_name``, or with the folder.
    """
    new = [*new, *(path for path in (folder, *folder.parents) if not path.exists())]
    lock = FileLock(folder / LOCK, timeout=0)
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout:
            message = f"{display_name or folder}: another process writes to the folder. Wait, or name another folder."
            raise RunError(message) from None
    try:
        yield
    finally:
        (folder / LOCK).unlink(missing_ok=True)
        lock.release()
        with suppress(OSError):  # stops at the first folder that is not empty
            for path in new:
                path.rmdir()


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
    """Write results.json, with hashes, and the rows with metadata of evaluations; remove other files of the results.

    All files are first written under temporary names, and then renamed, results.json last. A full disk therefore leaves
    the old files. If the process is killed between two renamings, :func:`read_results` detects the mixture.
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
    return as_json({**content, "checksum": _checksum(content)})


def _checksum(content: Mapping[str, Any]) -> str:
    remaining = {key: value for key, value in content.items() if key != "checksum"}
    text = json.dumps(remaining, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def read_results(folder: str | Path) -> dict[str, Any]:
    """Read results.json; raise RunError unless its schema, its checksum and the sha256 of the rows are right."""
    path = Path(folder) / RESULTS
    if Path(folder).is_dir() and not path.exists():
        if (Path(folder) / RUN).is_file():
            raise RunError(f"{folder} has no {RESULTS} yet: the run was stopped or is running. Wait, or resume it.")
        raise RunError(f"{path} does not exist. Name the folder of a run or of an evaluation.")
    content = read_json(path)
    results = require_schema(content, str(path))
    if results.pop("checksum", None) != _checksum(content):
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
    names = (MetricName(*fields) for fields in results["names"])
    return {name: results["metrics"][str(name)] for name in names}


def read_evaluation(folder: str | Path, evaluation: str) -> tuple[pa.Table, dict[str, Any]] | None:
    """Read an evaluation's rows and their metadata; None if the evaluation was not part of the run."""
    return read_rows(rows_file(folder, evaluation)) if evaluation in read_results(folder)["rows"] else None


def file_hash(path: Path) -> str:
    """The sha256 of a file."""
    with open_file(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def as_plain(history: Mapping[str, Points]) -> dict[str, Any]:
    """Convert to values that JSON can express."""
    return {
        figure: [[epoch, {curve: m.as_dict() for curve, m in curves.items()}] for epoch, curves in points]
        for figure, points in history.items()
    }


def from_plain(plain: Mapping[str, Any]) -> History:
    """Convert the values of :func:`as_plain` back."""
    return {
        figure: [(epoch, {curve: Measurement(**m) for curve, m in curves.items()}) for epoch, curves in points]
        for figure, points in plain.items()
    }


def read_epochs(folder: Path) -> History:
    """Read the measurements of all epochs from the folder of a run; empty if there is no file."""
    path = folder / EPOCHS
    return from_plain(read_json(path)) if path.is_file() else {}
