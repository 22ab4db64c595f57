"""Results side by side, for a terminal 80 columns wide: ``python -m heedful.reports.compare RUN [RUN ...]``.

Prints every number of one run, or the headlines of several, and of two the paired difference in accuracy.
With --mean it is the mean of each number and its standard deviation over runs, as over seeds or over the folds of
cross-validation. With --format it is the table alone, for a paper or a spreadsheet.
"""

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heedful.metrics.attentiveness import FEW_EXAMPLES
from heedful.metrics.statistics.shares import difference
from heedful.records import Context, HeedfulError, Measurement, MetricName, run_command
from heedful.records.rows import BASE, cluster_of, contents, select, strings
from heedful.records.rows import difference as other_examples
from heedful.records.storage.results import distinct, named, read_evaluation, read_results, rows_file
from heedful.reports.tables import FORMATS, table_text
from heedful.reports.terminal.natural_logic import print_categories
from heedful.reports.terminal.table import TITLE, merged, print_table, table_cells

ACCURACY = "accuracy"


def averaged(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One result of several runs: of each metric that all of them have, the mean, and the sample standard deviation.

    Args:
        results: Contents of results.json, two or more.

    Returns:
        The same, with ``n`` the number of runs, ``per_draw`` the value of each, and the flags of any. Names without a
        value in some run, or with one that tables do not show, stay without one, and say in how many.

    Raises:
        HeedfulError: The runs have no metric in common.
    """
    first = results[0]
    n = len(results)
    metrics = {}
    for name in first["metrics"]:
        measured = [result["metrics"][name] for result in results if name in result["metrics"]]
        values = [m["value"] for m in measured if m["value"] is not None and FEW_EXAMPLES not in m["flags"]]
        flags = tuple(dict.fromkeys(flag for m in measured for flag in m["flags"]))
        if len(measured) < n:
            continue
        if len(values) < n:
            mean = Measurement(None, n, flags=flags, reason=f"in {n - len(values)} of {n} runs")
        else:
            std = float(np.std(values, ddof=1))
            mean = Measurement(float(np.mean(values)), n, n, std, per_draw=tuple(values), flags=flags)
        metrics[name] = mean.as_dict()
    if not metrics:
        raise HeedfulError("These runs have no metric in common, so there is no mean.")
    shared = {key: ", ".join(dict.fromkeys(str(r[key]) for r in results)) for key in ("data", "split")}
    names = {name: first["names"][name] for name in metrics}
    lines = [line.as_dict() for line in merged(results) if line.metric in metrics]
    display = {**first["display"], "lines": lines, "sections": {}}  # which rest on other examples in each run
    unfinished = ", ".join(result["unfinished"] for result in results if result.get("unfinished"))
    about = {**shared, "note": first["note"], "unfinished": unfinished, "counts": {}}
    return {**about, "metrics": metrics, "names": names, "display": display}


class UnpairedError(HeedfulError):
    """Two runs were evaluated on different examples."""


def paired_difference(first: str | Path, second: str | Path) -> Measurement:
    """Accuracy of the second run minus that of the first, over the uids of both, which must be the same.

    Clusters of the interval are what examples share (``group``), or else examples.

    Args:
        first: Folder of a run.
        second: Folder of another, evaluated on the same examples.

    Raises:
        UnpairedError: The runs were evaluated on different examples.
    """
    correct, examples = [], []
    for folder in (first, second):
        evaluated = read_evaluation(folder, ACCURACY)
        if evaluated is None:
            raise UnpairedError(f"{folder} has no rows of {ACCURACY}: evaluate it with {ACCURACY} among --evaluations.")
        rows, meta = evaluated
        base = select(rows, intervention=BASE)
        kind = Context.of(meta["context"]).kind
        correct.append(kind.scores(strings(base, "y"), strings(base, "gold")))
        examples.append(contents(base))
    if differ := other_examples(*examples):
        raise UnpairedError(
            f"{first} and {second} were evaluated on different examples, so they cannot be paired: {differ}."
        )
    return difference(correct[1], correct[0], cluster_of(base))


def _both_accurate(results: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether all runs have an accuracy on the same data, and the rows that it is of."""
    measured = [{name for name, m in named(run).items() if m["value"] is not None} for run in results.values()]
    shared = any(name == MetricName(ACCURACY, name.data) for name in set.intersection(*measured))
    return shared and all(rows_file(folder, ACCURACY).exists() for folder in results)


def main(arguments: list[str]) -> None:
    """Print the results of runs side by side, and of two with accuracy on the same data its paired difference.

    Where their examples of these data are not the same, it says so instead. With ``--mean``, print their mean.
    """
    parser = ArgumentParser("python -m heedful.reports.compare", description=__doc__.partition("\n\n")[2])
    parser.add_argument("runs", nargs="*", metavar="RUN", help="folder of a run or of an evaluation")
    parser.add_argument("--mean", action="store_true", help="the mean of all of them")
    parser.add_argument("--format", choices=list(FORMATS), help="print the table in this format, and nothing else")
    options = parser.parse_intermixed_args(arguments)
    if not options.runs:
        raise HeedfulError("name the folders of one run or more")
    results = {folder: read_results(folder) for folder in distinct(options.runs)}
    shown, title = results, TITLE
    if options.mean:
        if len(results) < 2:
            raise HeedfulError("--mean needs the folders of two runs or more")
        mean = averaged(list(results.values()))
        shown = {" ".join(results): mean}
        title = f"mean of {len(results)} runs, in %, ± std"
    if options.format:
        print(table_text(*table_cells(shown, title), options.format), end="")
        return
    print_table(shown, title=title)
    if options.mean:
        if left := len(set().union(*(run["metrics"] for run in results.values())) - set(mean["metrics"])):
            print(f"Metrics that not all of these runs have: {left}.")
        return
    print_categories(list(results.values()))
    if len(results) != 2 or not _both_accurate(results):
        return
    try:
        change = paired_difference(*results)
    except UnpairedError as error:
        print(error)
        return
    low, high = (100 * bound for bound in change.ci95)
    print(f"accuracy (2) - (1): {100 * change.value:+.2f} points, paired 95 % interval [{low:+.2f}, {high:+.2f}]")


if __name__ == "__main__":
    run_command("compare", main)
