"""Make results.json anew from the rows files beside it: ``heedful rescore RUN [RUN ...]``.

Neither the model nor the data are needed: a rows file holds all that its metric has to know. The same version of
Heedful writes the same bytes; another one may count otherwise, and then says which metrics differ.

The rows must be those whose hashes stand in results.json. With --accept_rows, or where there is no results.json, the
rows are taken as they are, if they make sense, and the results are marked for good.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from heedful.metrics import METRICS, Metric
from heedful.records import HeedfulError, RunError, atomic_path, printable, read_json
from heedful.records.command_lines import CommandParser
from heedful.records.rows import read_rows
from heedful.records.storage.results import (
    ACCEPTED,
    RESULTS,
    distinct,
    file_hash,
    record_results,
    require_own_results,
    require_recorded,
    results_text,
    sound,
)
from heedful.records.storage.schema import of_today
from heedful.records.storage.sound_rows import require_sound, require_together
from heedful.reports.page.writing import REPORT, write_page
from heedful.reports.results import score
from heedful.reports.terminal.table import FLAGS


def rescored(folder: str | Path, metrics: Mapping[str, Metric] = METRICS, accept_rows: bool = False) -> str:
    """The text of results.json, from the rows files of a run.

    Args:
        folder: The folder of a run or of an evaluation.
        metrics: Evaluation to its metric.
        accept_rows: Whether to take rows that are not those that results.json names by their hashes. The results are
            then marked, as are those of rows without a results.json, and what is made of them later.

    Raises:
        HeedfulError: There are no rows; they are not those that results.json names; a file is damaged or makes no
            sense; they are not of one evaluation of one model; or the results could not be read again.
    """
    files = {path.stem: path for path in sorted((Path(folder) / "rows").glob("*.parquet"))}
    if not files:
        raise RunError(f"{folder} has no rows. Name the folder of a run, which holds rows/*.parquet.")
    is_marked = _is_marked(folder, files, accept_rows)
    evaluated = {name: read_rows(path) for name, path in files.items()}
    for name, (rows, metadata) in evaluated.items():
        require_sound(rows, metadata, str(files[name]))
    require_together(evaluated, {name: str(path) for name, path in files.items()})
    _, metadata = next(iter(evaluated.values()))
    try:
        results = score(metadata["run"], evaluated, metrics).results
    except HeedfulError as error:
        raise error.at(str(folder)) from None
    except (KeyError, TypeError, ValueError, IndexError) as error:  # a context that lacks what its metric needs, say
        told = f"{type(error).__name__}: {error}"
        raise RunError(f"The rows of {folder} cannot be scored: {told}. Evaluate again.") from error
    if is_marked:
        results[ACCEPTED] = True
        for measured in results["metrics"].values():
            measured["flags"].append(ACCEPTED)
    text = results_text(results, {name: file_hash(path) for name, path in files.items()})
    sound(json.loads(text), f"What the rows of {folder} give")
    return text


def _is_marked(folder: str | Path, files: Iterable[str], accept_rows: bool) -> bool:
    """Whether results must say that their rows are not those that were recorded.

    Raises:
        HeedfulError: They are not, and nobody accepts them.
    """
    path = Path(folder) / RESULTS
    if not path.exists():
        return True
    try:
        recorded = of_today(read_json(path), str(path))
        require_own_results(folder)
        if not isinstance(recorded.get("rows"), dict):
            raise RunError(
                f"{path} is damaged: it does not name its rows by their sha256. Bring the file back, or evaluate again."
            )
        for name in sorted({*files, *recorded["rows"]}):
            require_recorded(folder, recorded, name)
    except HeedfulError as error:
        if accept_rows:
            return True
        raise type(error)(f"{error} accept_rows takes the rows as they are, and marks the results.") from None
    return ACCEPTED in recorded


def main(arguments: Sequence[str]) -> None:
    """Write results.json of each folder, and say whether it is what was there, and whether it is marked."""
    about = "Write results.json anew from the rows files beside it; neither the model nor the data are needed."
    examples = [
        ("RUN", "the same bytes again, or which metrics differ"),
        ("RUN --accept_rows", "of rows that were changed"),
    ]
    parser = CommandParser("rescore", about, examples)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of a run or of an evaluation, with rows/")
    accept = "take rows that are not those that results.json names by their hashes, and mark the results for good"
    parser.add_argument("--accept_rows", action="store_true", help=accept)
    options = parser.parse_intermixed_args(arguments)
    if not options.runs:
        raise RunError("No run is named. Name the folders of one run or more.")
    for folder in distinct(options.runs):
        path = Path(folder) / RESULTS
        text = rescored(folder, accept_rows=options.accept_rows)
        before = path.read_text(encoding="utf-8") if path.is_file() else None
        if text == before:
            print(printable(f"{path}: the same"))
            continue
        told = _difference(before, text)
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
        record_results(folder)
        if (page := Path(folder) / REPORT).exists():
            write_page([folder], page)
        marked = f"; marked, since {FLAGS[ACCEPTED][1]}" if ACCEPTED in json.loads(text) else ""
        print(printable(f"{path}: written, {told}{marked}"))


def _difference(before: str | None, text: str) -> str:
    """How two texts of results.json differ, in words; the first may be anything."""
    if before is None:
        return "there was none"
    try:
        old = dict(json.loads(before)["metrics"])
    except (ValueError, KeyError, TypeError):
        return "what was there could not be read"
    new = json.loads(text)["metrics"]
    differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    gone = sorted(old.keys() - new.keys())
    told = f"{len(differ):,} metrics differ, the first is {differ[0]}" if differ else "the same metrics"
    return told + (f"; {len(gone):,} of them are gone, the first is {gone[0]}" if gone else "")
