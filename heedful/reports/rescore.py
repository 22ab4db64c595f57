"""Make results.json anew from the rows files beside it: ``python -m heedful.reports.rescore RUN [RUN ...]``.

Neither the model nor the data are needed: a rows file holds all that its metric has to know. The same version of
Heedful writes the same bytes; another one may count otherwise, and then says which metrics differ.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from heedful.metrics import METRICS, Metric
from heedful.records import HeedfulError, atomic_path, printable, read_json, run_command
from heedful.records.rows import read_rows
from heedful.records.storage.results import RESULTS, distinct, file_hash, results_text
from heedful.reports.results import score


def rescored(folder: str | Path, metrics: Mapping[str, Metric] = METRICS) -> str:
    """The text of results.json, from the rows files of a run.

    Args:
        folder: The folder of a run or of an evaluation.
        metrics: Evaluation to its metric.

    Raises:
        HeedfulError: There are no rows, one of the files is damaged, or they are not of one evaluation of one model.
    """
    files = {path.stem: path for path in sorted((Path(folder) / "rows").glob("*.parquet"))}
    if not files:
        raise HeedfulError(f"{folder} has no rows: name the folder of a run, which holds rows/*.parquet.")
    evaluated = {name: read_rows(path) for name, path in files.items()}
    runs = {name: metadata.get("run") for name, (_, metadata) in evaluated.items()}
    first = next(iter(runs))
    for name, run in runs.items():
        missing = {"context", "counts", "run"} - evaluated[name][1].keys()
        if missing:
            raise HeedfulError(f"{files[name]} is damaged: it does not say its {min(missing)!r}; evaluate again.")
        if run != runs[first]:
            raise HeedfulError(f"{files[name]} and {files[first]} were not written by one evaluation: evaluate again.")
    results = score(runs[first], evaluated, metrics).results
    return results_text(results, {name: file_hash(path) for name, path in files.items()})


def main(arguments: Sequence[str]) -> None:
    """Write results.json of each folder, and say whether it is what was there."""
    about = "Write results.json anew from the rows files beside it; neither the model nor the data are needed."
    parser = argparse.ArgumentParser("python -m heedful.reports.rescore", description=about)
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of a run or of an evaluation, with rows/")
    chosen = parser.parse_args(arguments)
    if not chosen.runs:
        raise HeedfulError("name the folders of one run or more")
    for folder in distinct(chosen.runs):
        path = Path(folder) / RESULTS
        text = rescored(folder)
        before = path.read_text(encoding="utf-8") if path.is_file() else None
        if text == before:
            print(printable(f"{path}: the same"))
            continue
        old = read_json(path) if before is not None else {}
        old = old.get("metrics", {}) if isinstance(old, dict) else {}
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
        new = read_json(path)["metrics"]
        differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
        told = f"{len(differ):,} metrics differ, the first is {differ[0]}" if differ else "the same metrics"
        print(printable(f"{path}: written, {told if before is not None else 'there was none'}"))


if __name__ == "__main__":
    run_command("rescore", main)
