"""The command ``heedful rescore RUN [RUN ...]``: compute results.json again from the rows, without model and data.

The same version of Heedful writes the same bytes; for another version the command prints how many metrics differ.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from heedful.command_lines import CommandParser
from heedful.metrics import METRICS, Metric
from heedful.records import HeedfulError, RunError, atomic_path, printable
from heedful.records.rows import read_rows
from heedful.records.storage.results import RESULTS, distinct, file_hash, read_results, results_text, rows_file
from heedful.reports.page.writing import REPORT, write_page
from heedful.reports.results import score


def rescored(folder: str | Path, metrics: Mapping[str, Metric] = METRICS) -> str:
    """Return the text of results.json, computed from the rows files of a run.

    Args:
        folder: Folder of a run or of an evaluation.
        metrics: Metrics by evaluation.

    Raises:
        HeedfulError: The run has no rows, results.json lists other rows or other hashes, or a metric refuses the rows.
    """
    files = {path.stem: path for path in sorted((Path(folder) / "rows").glob("*.parquet"))}
    if not files:
        raise RunError(f"{folder} has no rows. Name the folder of a run, which holds rows/*.parquet.")
    recorded = read_results(folder)["rows"] if (Path(folder) / RESULTS).exists() else files
    if unlike := sorted(files.keys() ^ recorded.keys()):
        problem = "has no rows file" if unlike[0] in recorded else "has a rows file that results.json does not name"
        raise RunError(f"{rows_file(folder, unlike[0])}: {unlike[0]} {problem}. Evaluate again.")
    evaluated = {name: read_rows(path) for name, path in files.items()}
    (_, first), *more = evaluated.values()
    if any(metadata["run"] != first["run"] for _, metadata in more):
        raise RunError(f"The rows of {folder} were not written by one evaluation. Evaluate again.")
    try:
        results = score(first["run"], evaluated, metrics).results
    except HeedfulError as error:
        raise error.at(str(folder)) from None
    return results_text(results, {name: file_hash(path) for name, path in files.items()})


def main(arguments: Sequence[str]) -> None:
    """Recompute results.json of each run, write it if it has changed, and print how many metrics differ."""
    about = "Compute results.json again from the rows files next to it; neither the model nor the data are needed."
    examples = [("RUN", "the same bytes again, or which metrics differ")]
    parser = CommandParser("rescore", about, examples)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of a run or of an evaluation, with rows/")
    options = parser.parse_intermixed_args(arguments)
    if not options.runs:
        raise RunError("No run is named. Name the folders of one run or more.")
    for folder in distinct(options.runs):
        path = Path(folder) / RESULTS
        text = rescored(folder)
        before = path.read_text(encoding="utf-8") if path.is_file() else None
        if text == before:
            print(printable(f"{path}: the same"))
            continue
        changes = _changes(before, text)
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
        if (page := Path(folder) / REPORT).exists():
            write_page([folder], page)
        print(printable(f"{path}: written, {changes}"))


def _changes(before: str | None, text: str) -> str:
    """Describe how the metrics in two texts of results.json differ; ``before`` is None if there was no file."""
    if before is None:
        return "there was none"
    old, new = (json.loads(content)["metrics"] for content in (before, text))
    differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return f"{len(differ):,} metrics differ, the first is {differ[0]}" if differ else "the same metrics"
