"""Results side by side, for a terminal 80 columns wide: ``python -m reports.compare RUN [RUN ...]``.

With ``--mean`` their mean and its standard deviation over runs, as over seeds or over the folds of cross-validation.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from metrics.soft_accuracy import by_cluster, sums, worth
from metrics.statistics.bootstrap import NO_WIDTH, bootstrap_interval
from records import HeedError, Measurement, printable, run_command
from records.rows import BASE, contents, difference, select, strings
from records.storage.results import distinct, read_evaluation, read_results, rows_file
from reports.terminal import challenge as challenge_report
from reports.terminal import transitions as transition_report
from reports.terminal.natural_logic import (
    DIFFERENT_PAIRS,
    different_pairs,
    heading,
    headline,
    is_ratio,
    left_out,
    measured,
    ordered,
    print_categories,
    print_left_out,
)

METRICS = ("accuracy", "exact_match", "f1", "attentiveness", "naive_partial")
ACCURACY = "accuracy"
FEW = 2  # labels that are never predicted and still have a line each
FLAGS = {  # flag: mark in the table, explanation
    "not_above_majority": ("a", "accuracy not above the majority share: one-sided exact test, p >= 0.05"),
    "interval_without_width": ("b", "every resample gave the same value, so the interval has no width"),
    "predictions_depend_on_batch": ("c", "predictions flip with the batch they stand in: the numbers are not exact"),
    "interval_ignores_clusters": ("d", "as if pairs were independent, which they are not: the interval is too narrow"),
    "few_tables": ("f", "fewer than 30 tables: the interval is too narrow"),
    "interval_unbounded": ("e", "the DCE is 0 in 2.5 % of resamples or more, so the ratio has no upper bound"),
    "resamples_left_out": ("g", "undefined in more than 2.5 % of resamples, which the interval leaves out"),
}


def _cell(m: Mapping[str, Any] | None, separator: str, ratio: bool = False) -> str:
    """A measurement as text: in percent, unless it is a ratio."""
    if m is None:
        return ""
    marks = "".join(f" ({FLAGS[flag][0] if flag in FLAGS else flag})" for flag in m["flags"])
    if m["value"] is None:
        return f"undefined: {m['reason']}{marks}"
    scale, digits = (1, 2) if ratio else (100, 1)
    tiny = 0 < abs(scale * m["value"]) < 1e-2  # the noise floor
    text = f"{scale * m['value']:.0e}" if tiny else f"{scale * m['value']:z.2f}"
    text += "" if m["std"] is None else f" ± {scale * m['std']:.2f}"
    if m["ci95"] is not None:
        text += f"{separator}[{scale * m['ci95'][0]:.{digits}f}, {scale * m['ci95'][1]:.{digits}f}]"
    return text + f" n={m['n']}" + marks


def averaged(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One result of several runs: of each metric that all of them have, the mean, and the sample standard deviation.

    Args:
        results: Contents of results.json, two or more.

    Returns:
        The same, with ``n`` the number of runs, ``per_draw`` the value of each, and the flags of any. Names without a
        value in some run stay without one, and say in how many.

    Raises:
        HeedError: The runs have no metric in common.
    """
    metrics, n = {}, len(results)
    for name in results[0]["metrics"]:
        found = [result["metrics"][name] for result in results if name in result["metrics"]]
        values = [m["value"] for m in found if m["value"] is not None]
        flags = tuple(dict.fromkeys(flag for m in found for flag in m["flags"] if flag != NO_WIDTH))
        if len(found) < n:
            continue
        if len(values) < n:
            mean = Measurement(None, n, flags=flags, reason=f"in {n - len(values)} of {n} runs")
        else:
            std = float(np.std(values, ddof=1))
            mean = Measurement(float(np.mean(values)), n, n, std, per_draw=tuple(values), flags=flags)
        metrics[name] = mean.as_dict()
    if not metrics:
        raise HeedError("These runs have no metric in common, so there is no mean.")
    shared = {key: ", ".join(dict.fromkeys(str(r.get(key)) for r in results)) for key in ("data", "split")}
    return {**shared, "metrics": metrics, "note": results[0].get("note")}


def never_predicted(metrics: Mapping[str, Mapping[str, Any]]) -> tuple[set[str], dict[str, int]]:
    """Names of numbers that need an example predicted as some label and have none, where they are many of one part.

    Returns:
        These names; and how many they are, under the name behind which that is said, the last of a label.
    """
    parts: dict[str, list[str]] = {}
    for name in metrics:
        part, from_, _ = name.partition("/from_")
        if from_ and name.startswith("attentiveness/"):
            parts.setdefault(part, []).append(name)
    never, numbers = set(), {}
    for names in parts.values():
        undefined = [name for name in names if metrics[name]["value"] is None]
        if len(undefined) > FEW:
            never.update(undefined)
            numbers[names[-1]] = len(undefined)
    return never, numbers


def print_table(
    results: Mapping[str, Mapping[str, Any]], console: Console | None = None, title: str = "% ± std over draws [95 %]"
) -> None:
    """Print the metrics of one results.json, or the headline metrics of several side by side; in percent.

    Of natural logic some stay in results.json, and ratios are plain numbers (:mod:`reports.terminal.natural_logic`).

    Args:
        results: Folder to results.
        console: Where to print; the terminal by default.
        title: Above the names of the metrics.
    """
    console = console or Console()
    columns = list(results.values())
    several = len(columns) > 1
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(title, no_wrap=True)
    for i in range(len(columns)):
        table.add_column(f"({i + 1})" if several else "")
    flags: set[str] = set()
    names = challenge_report.in_order(ordered(dict.fromkeys(name for found in columns for name in found["metrics"])))
    section = None
    never, numbers = (set(), {}) if several else never_predicted(columns[0]["metrics"])
    for name in names:
        kind, data, *rest = name.split("/")
        main = len(rest) == (kind in ("attentiveness", "naive_partial"))
        known = [report.row_label(name, several) for report in (transition_report, challenge_report)]
        label = "".join(text or "" for text in known) or headline(name)
        hidden = left_out(name) or "" in known
        if hidden or (several and not (label or (main and kind in METRICS))):
            continue
        if heading(name) not in (None, section):
            section, sizes = heading(name), [measured(found, "\n" if several else " ") for found in columns]
            table.add_row(*(Text(t, "bold") for t in (section, *sizes)))
        cells = [found["metrics"].get(name) for found in columns]
        flags |= {flag for m in cells if m for flag in m["flags"]}
        label = label or (" ".join([kind.replace("_", " "), *rest]) if main or kind == "null" else f"  {rest[-1]}")
        texts = (_cell(m, "\n" if several else " ", is_ratio(name)) for m in cells)
        if name not in never:
            table.add_row(*(Text(t) for t in (printable(label), *texts)))
        if name in numbers:
            table.add_row(Text("  from_..."), Text(f"undefined: {numbers[name]} labels are never predicted"))
    console.print()
    own = dict.fromkeys(found["data"] for found in columns if found.get("counts", {}).get("examples", 1))
    if own:  # else nothing but other data was predicted
        splits = ", ".join(dict.fromkeys(found.get("split", "validation") for found in columns))
        console.print(printable(f"{', '.join(own)}, {splits}"), style="bold", markup=False)
    console.print(table)
    for flag in sorted(flags & FLAGS.keys(), key=lambda flag: FLAGS[flag][0]):
        console.print(f"({FLAGS[flag][0]}) {FLAGS[flag][1]}.")
    if several:
        print_categories(columns, console)
    else:
        print_left_out(names, console)
    notes = [DIFFERENT_PAIRS] if different_pairs(columns) else []
    for note in dict.fromkeys([*notes, *(found.get("note") for found in columns)]):
        if note:
            console.print(printable(f"Note: {note}"), markup=False)
    for i, folder in enumerate(results, 1):
        console.print(
            printable(f"({i}) {folder}" if several else f"in {folder}"), soft_wrap=True, highlight=False, markup=False
        )


class UnpairedError(HeedError):
    """Two runs were evaluated on different examples."""


def paired_difference(first: str | Path, second: str | Path, seed: int = 0) -> Measurement:
    """Accuracy of the second run minus that of the first, over the uids of both, which must be the same.

    Args:
        first: Folder of a run.
        second: Folder of another, evaluated on the same examples.
        seed: Keys the bootstrap over uids, or over clusters, where gold says what answers are worth.

    Raises:
        UnpairedError: The runs were evaluated on different examples.
    """
    correct, examples = [], []
    for folder in (first, second):
        evaluated = read_evaluation(folder, ACCURACY)
        if evaluated is None:
            raise UnpairedError(f"{folder} has no rows of {ACCURACY}: evaluate it with {ACCURACY} among --evaluations.")
        rows, meta = evaluated
        base, soft = select(rows, intervention=BASE), meta.get("kind") == "soft"
        correct.append(worth(base) if soft else (strings(base, "y") == strings(base, "gold")).astype(np.float64))
        examples.append(contents(base))
    if differ := difference(*examples):
        raise UnpairedError(
            f"{first} and {second} were evaluated on different examples, so they cannot be paired: {differ}."
        )
    change = correct[1] - correct[0]
    totals, counts = sums(change, by_cluster(base)) if soft else (change, np.ones_like(change))
    interval = bootstrap_interval(totals, counts, (seed, "paired"))
    return Measurement(float(change.mean()), len(change), ci95=interval)


def _both_accurate(results: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether all runs have an accuracy on the same data, and the rows that it is of."""
    names = [{name for name, m in r["metrics"].items() if m["value"] is not None} for r in results.values()]
    shared = any(name.startswith("accuracy/") and name.count("/") == 1 for name in set.intersection(*names))
    return shared and all(rows_file(folder, ACCURACY).exists() for folder in results)


def main(arguments: list[str]) -> None:
    """Print the results of runs side by side, and of two with accuracy on the same data its paired difference.

    Where their examples of these data are not the same, it says so instead. With ``--mean``, print their mean.
    """
    folders = [argument for argument in arguments if argument != "--mean"]
    if not folders:
        raise HeedError("name the folders of one run or more")
    results = {folder: read_results(folder) for folder in distinct(folders)}
    if len(folders) < len(arguments):
        if len(results) < 2:
            raise HeedError("--mean needs the folders of two runs or more")
        mean = averaged(list(results.values()))
        print_table({" ".join(results): mean}, title=f"mean of {len(results)} runs, in %, ± std")
        if left := len(set().union(*(found["metrics"] for found in results.values())) - set(mean["metrics"])):
            print(f"Metrics that not all of these runs have: {left}.")
        return
    print_table(results)
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
    run_command("report", main)
