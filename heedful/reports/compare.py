"""Results side by side, for a terminal 80 columns wide: ``heedful compare RUN [RUN ...]``.

Prints every number of one run, or the headlines of several, and of two the paired difference of each headline.
With --mean it is the mean of each number and its standard deviation over runs of one model, of several seeds or of the
folds of a cross-validation. With --format it is the table alone, for a paper or a spreadsheet.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heedful.metrics import METRICS
from heedful.metrics.number import measured as by_name
from heedful.metrics.statistics.draws import FEW_EXAMPLES
from heedful.metrics.statistics.paired import change, recording
from heedful.records import Context, Measurement, RunError, printable
from heedful.records.storage.results import distinct, read_results
from heedful.reports.alike import (
    CHANGES,
    DATA,
    DEFAULT,
    EXAMPLES,
    GROUPS,
    IDENTITY,
    KIND,
    MODEL,
    REGIME,
    TRAINING,
    UNCHANGED,
    differences,
    notes,
    require_alike,
    side_by_side,
)
from heedful.reports.flags import FLAGS, marks
from heedful.reports.runs import Measured, measured, unlabelled_notes
from heedful.reports.tables import basis, emit, too_few
from heedful.reports.terminal.table import TITLE, merged, print_table, raised, table_cells

NOTHING = {"value": None}
MEAN = (MODEL, KIND, REGIME, TRAINING, DATA, DEFAULT, EXAMPLES, IDENTITY)  # matters where runs are averaged


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
        raise RunError(
            "These runs have no metric in common, so that there is no mean. Name runs that differ in their seed alone."
        )
    shared = {key: ", ".join(dict.fromkeys(str(r[key]) for r in results)) for key in ("data", "split")}
    names = {name: first["names"][name] for name in metrics}
    lines = [line.as_dict() for line in merged(results) if line.metric in metrics]
    display = {**first["display"], "lines": lines, "sections": {}}  # which rest on other examples in each run
    unfinished = ", ".join(result["unfinished"] for result in results if result.get("unfinished"))
    unlabelled = sum(result["counts"].get("unlabelled", 0) for result in results)
    counts = {"unlabelled": unlabelled} if unlabelled else {}
    about = {**shared, "note": first["note"], "unfinished": unfinished, "counts": counts}
    return {**about, "metrics": metrics, "names": names, "display": display}


def paired_differences(first: str | Path, second: str | Path) -> dict[str, Measurement]:
    """Each number of the second run less that of the first, over the examples of both, which must be the same.

    Clusters of an interval are those of the number itself.

    Args:
        first: Folder of a run.
        second: Folder of another, evaluated on the same examples.

    Returns:
        Name of a metric to the difference, of those that are shares in both runs; of what rests on changes, and on the
        default label, only where these are the same.

    Raises:
        HeedfulError: The runs were not evaluated on the same examples.
    """
    runs = [run for folder in (first, second) for run in measured([str(folder)])]
    require_alike(runs, (DATA, EXAMPLES, GROUPS))
    return _changes(runs)


def _changes(runs: Sequence[Measured]) -> dict[str, Measurement]:
    """:func:`paired_differences` of two runs that were read and may be paired."""
    one_default = not any(differences(runs, (DEFAULT,)))
    changes_by_name: dict[str, Measurement] = {}
    for metric in METRICS.values():
        name = metric.evaluation
        evaluated = [run.rows[name] for run in runs if name in run.rows]
        if len(evaluated) < 2:
            continue
        is_alike = one_default and evaluated[0][1]["manifest"] == evaluated[1][1]["manifest"]
        if name not in UNCHANGED and not is_alike:
            continue
        with recording():
            one, other = (by_name(metric.numbers(rows, Context.of(about["context"]))) for rows, about in evaluated)
        changes = {str(number): change(one[number], other[number]) for number in one if number in other}
        changes_by_name |= {text: m for text, m in changes.items() if m is not None}
    return changes_by_name


def _print_paired(results: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the paired difference of each headline of two runs on the same examples, or why there is none."""
    if len(results) != 2:
        return
    runs = measured(list(results))
    if any(differences(runs, (EXAMPLES,))):  # which was said
        return
    for note in notes(runs, (DATA, GROUPS, CHANGES)):
        print(printable(f"Not paired: {note}"))
    if any(differences(runs, (DATA, GROUPS))):
        return
    changes = _changes(runs)
    lines = merged(list(results.values()))
    footnotes = raised(list(results.values()), [line for line in lines if line.beside])
    for line in lines:
        both = [run["metrics"].get(line.metric, NOTHING) for run in results.values()]
        both_count = all(m["value"] is not None and not too_few(m["n"], m["flags"]) for m in both)
        if line.beside and line.metric in changes and both_count:
            m = changes[line.metric]
            flags = dict.fromkeys(flag for one in both for flag in one["flags"] if flag in FLAGS)
            behind = marks(flags, footnotes)
            low, high = (100 * bound for bound in m.ci95)
            interval = f"paired 95 % interval [{low:+.2f}, {high:+.2f}]"
            print(printable(f"{line.label} (2) - (1): {100 * m.value:+.2f} points, {interval}, {basis(m)}{behind}"))


def print_side_by_side(runs: Sequence[str], is_mean: bool, text_format: str | None) -> None:
    """Print the results of runs side by side, and of two on the same examples the paired difference of each headline.

    Args:
        runs: Folders of runs or of evaluations.
        is_mean: Print the mean of runs of several seeds or folds instead.
        text_format: One of :data:`FORMATS`: the table in this format, and nothing else.
    """
    results = {folder: read_results(folder) for folder in distinct(runs)}
    shown, title = results, TITLE
    if is_mean:
        if len(results) < 2:
            raise RunError("--mean is of several runs. Name the folders of two runs or more.")
        require_alike(measured(list(results)), MEAN)
        mean = averaged(list(results.values()))
        shown = {" ".join(results): mean}
        title = f"mean of {len(results)} runs, in %, ± std"
    told = [] if is_mean else side_by_side(list(results))
    if text_format:
        told = [*unlabelled_notes(measured(list(results))), *told]
        emit([table_cells(shown, title)], text_format)
    else:
        print_table(shown, title=title)
    for note in told:
        print(printable(f"Note: {note}"), file=sys.stderr if text_format else sys.stdout)
    if text_format:
        return
    if is_mean:
        if left := len(set().union(*(run["metrics"] for run in results.values())) - set(mean["metrics"])):
            print(f"Metrics that not all of these runs have: {left}.")
        return
    _print_paired(results)
