"""Tables of runs side by side, means over the runs of one model, and paired differences between two runs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from heedful.metrics import METRICS
from heedful.metrics.number import measured
from heedful.metrics.statistics.draws import is_known
from heedful.metrics.statistics.paired import change, recording
from heedful.records import Measurement, MetricName, RunError
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
from heedful.reports.runs import Run, read_runs, unlabelled_notes
from heedful.reports.tables import basis, emit
from heedful.reports.terminal.table import TITLE, build, in_columns, merged, print_table

MEAN = (MODEL, KIND, REGIME, TRAINING, DATA, DEFAULT, EXAMPLES, IDENTITY)  # aspects checked before runs are averaged


def averaged(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Average each metric that all runs have over the runs.

    Args:
        results: Contents of two or more results.json.

    Returns:
        Content of a results.json: the value of a metric is the mean, ``std`` the sample standard deviation, ``n`` the
        number of runs, and ``per_draw`` the values of the runs. A metric has each flag that it has in any run. It is
        undefined if a run has no value or too few examples for it.

    Raises:
        RunError: The runs have no metric in common.
    """
    first = results[0]
    n = len(results)
    metrics = {}
    for name in first["metrics"]:
        entries = [result["metrics"][name] for result in results if name in result["metrics"]]
        values = [m["value"] for m in entries if is_known(m)]
        flags = tuple(dict.fromkeys(flag for m in entries for flag in m["flags"]))
        if len(entries) < n:
            continue
        if len(values) < n:
            mean = Measurement(None, n, flags=flags, reason=f"in {n - len(values)} of {n} runs")
        else:
            std = float(np.std(values, ddof=1))
            mean = Measurement(float(np.mean(values)), n, n, std, per_draw=tuple(values), flags=flags)
        metrics[name] = mean.as_dict()
    if not metrics:
        raise RunError("These runs have no metric in common. Name runs that differ only in their seed.")
    shared = {key: ", ".join(dict.fromkeys(str(r[key]) for r in results)) for key in ("data", "split")}
    unlabelled = sum(result["counts"].get("unlabelled", 0) for result in results)
    return {
        **shared,
        "note": first["note"],
        "unfinished": ", ".join(result["unfinished"] for result in results if result.get("unfinished")),
        "counts": {"unlabelled": unlabelled} if unlabelled else {},
        "metrics": metrics,
        "names": [fields for fields in first["names"] if str(MetricName(*fields)) in metrics],
        "headlines": [name for name in first["headlines"] if name in metrics],
        "words": first["words"],
    }


def run_differences(first: Run, second: Run) -> dict[str, Measurement]:
    """Compute the numbers of the second run minus the numbers of the first run, over the same examples.

    Returns:
        The differences by the name of the metric, with paired 95 % intervals, for the shares that both runs have.
        Metrics of changed examples are omitted if the changes or the default label differ.

    Raises:
        RunError: The runs were not evaluated on the same examples.
    """
    runs = (first, second)
    require_alike(runs, (DATA, EXAMPLES, GROUPS))
    same_default = not any(differences(runs, (DEFAULT,)))
    changes_by_name: dict[str, Measurement] = {}
    for metric in METRICS.values():
        name = metric.evaluation
        evaluated = [run.rows[name] for run in runs if name in run.rows]
        if len(evaluated) < 2:
            continue
        same_changes = same_default and evaluated[0][1]["manifest"] == evaluated[1][1]["manifest"]
        if name not in UNCHANGED and not same_changes:
            continue
        with recording():
            numbers = [
                measured(metric.numbers(rows, run.contexts[name]))
                for (rows, _), run in zip(evaluated, runs, strict=True)
            ]
        changes = {str(key): change(m, numbers[1][key]) for key, m in numbers[0].items() if key in numbers[1]}
        changes_by_name |= {key: m for key, m in changes.items() if m is not None}
    return changes_by_name


def headline_differences(first: Run, second: Run) -> Iterator[tuple[str, Measurement, list[str]]]:
    """Yield the :func:`run_differences` of the headlines (main numbers) that have a value in both runs.

    Yields:
        The label of the headline, the difference, and the flags of the headline in both runs.

    Raises:
        RunError: The runs were not evaluated on the same examples.
    """
    changes = run_differences(first, second)
    for line in merged([first.results, second.results]):
        entries = [run.results["metrics"].get(line.metric) for run in (first, second)]
        if line.is_headline and line.metric in changes and all(map(is_known, entries)):
            yield line.label, changes[line.metric], [flag for entry in entries for flag in entry["flags"]]


def paired_notes(runs: Sequence[Run]) -> list[str]:
    """Return notes on two runs: the difference of each headline (main number), and why numbers cannot be paired.

    Empty for another number of runs, and for runs on different examples.
    """
    if len(runs) != 2 or any(differences(runs, (EXAMPLES,))):  # other notes name the examples that differ
        return []
    lines = [f"Not paired: {note}" for note in notes(runs, (DATA, GROUPS, CHANGES))]
    if any(differences(runs, (DATA, GROUPS))):
        return lines
    for label, m, raised in headline_differences(*runs):
        flags = marks(dict.fromkeys(flag for flag in raised if flag in FLAGS))
        low, high = (100 * bound for bound in m.ci95)
        interval = f"paired 95 % interval [{low:+.2f}, {high:+.2f}]"
        lines.append(f"{label} (2) - (1): {100 * m.value:+.2f} points, {interval}, {basis(m)}{flags}")
    return lines


def print_side_by_side(folders: Sequence[str], is_mean: bool, text_format: str | None) -> None:
    """Print the numbers of runs side by side, and the paired differences of two runs on the same examples.

    Args:
        folders: Folders of runs or of evaluations.
        is_mean: Whether to print the mean over seeds or folds instead.
        text_format: One of :data:`FORMATS`, or None for a terminal.
    """
    runs = read_runs(folders)
    results: dict[str, Mapping[str, Any]] = {run.folder: run.results for run in runs}
    title, texts, more = TITLE, [], []
    if is_mean:
        if len(runs) < 2:
            raise RunError("--mean needs at least two runs. Name the folders of two runs or more.")
        require_alike(runs, MEAN)
        mean = averaged(list(results.values()))
        if missing := len(set().union(*(run["metrics"] for run in results.values())) - set(mean["metrics"])):
            more = [f"Metrics that not all of these runs have: {missing}."]
        results, title = {" ".join(results): mean}, f"mean of {len(runs)} runs, in %, ± std"
    else:
        texts = side_by_side(runs)
        more = [] if text_format else paired_notes(runs)
    if text_format:
        unlabelled = [] if is_mean else unlabelled_notes(runs)
        table = in_columns(results) if text_format == "csv" else build(results, title)
        emit([table], text_format, [f"Note: {note}" for note in [*unlabelled, *texts]])
        return
    print_table(results, title=title, notes=texts, footer=more)
