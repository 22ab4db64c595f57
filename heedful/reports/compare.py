"""Tables of runs side by side, means over the runs of one model, and paired differences between two runs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from heedful.metrics.number import Numbers, measured
from heedful.metrics.statistics.draws import is_known
from heedful.metrics.statistics.over_seeds import change_over_seeds, over_seeds
from heedful.metrics.statistics.paired import RecordedShare, recording
from heedful.records import Measurement, MetricName, RunError
from heedful.reports import alike
from heedful.reports.flags import FLAGS, marks
from heedful.reports.results import metrics_of
from heedful.reports.runs import Run, read_runs, result_folders, unlabelled_notes
from heedful.reports.tables import basis, bounds, emit, percents
from heedful.reports.terminal.table import TITLE, build, in_columns, merged, print_table


def _recorded(run: Run, only: str | None = None) -> Numbers:
    """Compute the numbers of a run from its rows, of all evaluations or of one; shares keep their entries."""
    numbers_by_name: Numbers = {}
    with recording():
        for name, metric in metrics_of(run.rows).items():
            if name in run.rows and only in (None, name):
                numbers_by_name |= measured(metric.numbers(run.rows[name][0], run.contexts[name]))
    return numbers_by_name


def means(runs: Sequence[Run]) -> list[Run]:
    """Average runs that differ only in a seed or a fold: of a training, or of the demonstrations of a prompt.

    Returns:
        A run for each group of such runs, in their order; a run that no other belongs to is returned as it is.

    Raises:
        RunError: No two runs belong together, or two runs have the same model or the same seed.
    """
    if len(runs) < 2:
        raise RunError("--mean needs at least two runs. Name the folders of two runs or more.")
    groups = _groups(runs)
    for group in groups if len(groups) < len(runs) else [list(runs)]:
        alike.require_alike(group, (alike.MODEL, alike.TRAINING, *alike.SAME))
    return [_mean(group) if len(group) > 1 else group[0] for group in groups]


def _groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Group the runs that differ only in a seed or a fold, in their order."""
    groups: list[list[Run]] = []
    for run in runs:
        same = (group for group in groups if not any(alike.differences((group[0], run), alike.SAME)))
        if (group := next(same, None)) is None:
            groups.append([run])
        else:
            group.append(run)
    return groups


def _mean(runs: Sequence[Run]) -> Run:
    """Return the mean of runs: it has each number that all runs have, see :func:`.over_seeds`."""
    first = runs[0].results
    numbers = [_recorded(run) for run in runs]
    metrics = {}
    for name in (MetricName(*fields) for fields in first["names"]):
        entries = [run.results["metrics"].get(str(name)) for run in runs]
        if None not in entries:
            by_run = [Measurement.from_dict(entry) for entry in entries]
            shares = [of_run.get(name) for of_run in numbers]
            if all(isinstance(share, RecordedShare) for share in shares):
                by_run = [replace(share, flags=m.flags) for share, m in zip(shares, by_run, strict=True)]  # type: ignore
            metrics[str(name)] = over_seeds(by_run).as_dict()
    if not metrics:
        raise RunError("These runs have no metric in common. Name runs that differ only in their seed.")
    unlabelled = sum(run.results["counts"].get("unlabelled", 0) for run in runs)
    changed: dict[str, Any] = {
        "split": ", ".join(dict.fromkeys(run.split for run in runs)),
        "unfinished": ", ".join(run.results["unfinished"] for run in runs if run.results.get("unfinished")),
        "counts": {"unlabelled": unlabelled} if unlabelled else {},
        "identity": {name: value for name, value in runs[0].identity.items() if name != "weights"},
        "rows": {},
        "metrics": metrics,
        "names": [fields for fields in first["names"] if str(MetricName(*fields)) in metrics],
        "headlines": [name for name in first["headlines"] if name in metrics],
    }
    label = runs[0].label.removesuffix(f": {runs[0].folder}").removesuffix(f", seed {runs[0].seed}")
    label = label.replace(f"-fold-{runs[0].fold}", "")
    return Run(" ".join(run.folder for run in runs), {**first, **changed}, label, tuple(runs))


def _pairs(first: Run, second: Run) -> list[tuple[Run, Run]]:
    """Return the runs that a difference pairs: two runs, or the members of two means that have the same seeds."""
    if not (first.members or second.members):
        return [(first, second)]
    by_seed = {(run.seeds, run.fold): run for run in second.members}
    return [(run, by_seed[key]) for run in first.members if (key := (run.seeds, run.fold)) in by_seed]


def run_differences(first: Run, second: Run) -> dict[str, Measurement]:
    """Compute the numbers of the second run minus the numbers of the first run, over the same examples.

    Returns:
        The differences by the name of the metric, with paired 95 % intervals, of the shares, ratios and means that both
        runs have.
        Metrics of changed examples are omitted if the changes or the default label differ. The differences of two means
        over seeds are means over the seeds that both have; empty without such a seed.

    Raises:
        RunError: The runs were not evaluated on the same examples.
    """
    pairs = _pairs(first, second)
    changes_by_name: dict[str, Measurement] = {}
    for pair in pairs:
        alike.require_alike(pair, (alike.DATA, alike.EXAMPLES, alike.GROUPS))
    for evaluation in metrics_of(pairs[0][0].rows) if pairs else ():
        if not all(evaluation in run.rows for pair in pairs for run in pair):
            continue
        aspects = () if evaluation in alike.UNCHANGED else (alike.DEFAULT, alike.CHANGES)
        if any(any(alike.differences(pair, aspects, (evaluation,))) for pair in pairs):
            continue
        before, after = ([_recorded(run, evaluation) for run in runs] for runs in zip(*pairs, strict=True))
        for name in before[0]:
            if all(name in numbers for numbers in (*before, *after)):
                columns = ([numbers[name] for numbers in side] for side in (before, after))
                if (m := change_over_seeds(*columns)) is not None:
                    changes_by_name[str(name)] = m
    return changes_by_name


def headline_differences(first: Run, second: Run) -> Iterator[tuple[str, Measurement, list[str]]]:
    """Yield label, :func:`run_differences` and flags of the headlines (main numbers) that have a value in both runs.

    Raises:
        RunError: The runs were not evaluated on the same examples.
    """
    changes = run_differences(first, second)
    for line in merged([first.results, second.results]):
        entries = [run.results["metrics"].get(line.metric) for run in (first, second)]
        if line.is_headline and line.metric in changes and all(map(is_known, entries)):
            yield line.label, changes[line.metric], [flag for entry in entries for flag in entry["flags"]]


def _paired_notes(runs: Sequence[Run]) -> list[str]:
    """Return notes on two runs: the difference of each headline (main number), or why numbers cannot be paired."""
    if len(runs) != 2:
        return []
    if not (pairs := _pairs(*runs)):
        return ["Not paired: one is no mean, or the means have no seed in common."]
    if any(alike.differences(pairs[0], (alike.EXAMPLES,))):  # other notes name the examples that differ
        return []
    lines = [f"Not paired: {note}" for note in alike.notes(pairs[0], (alike.DATA, alike.GROUPS, alike.CHANGES))]
    if any(alike.differences(pairs[0], (alike.DATA, alike.GROUPS))):
        return lines
    if len(pairs) < max(len(run.members) for run in runs):
        lines.append(f"The differences are over the seeds that both means have: {len(pairs)}.")
    for label, m, raised in headline_differences(*runs):
        flags = marks(dict.fromkeys(flag for flag in raised if flag in FLAGS))
        interval = f"paired 95 % interval {bounds(m.ci95, '+', 2)}" if m.ci95 else "no interval"
        lines.append(f"{label} (2) - (1): {percents(m.value, '+', 2)} points, {interval}, {basis(m)}{flags}")
    return lines


def print_side_by_side(folders: Sequence[str], is_mean: bool, text_format: str | None) -> None:
    """Print the numbers of runs, or of their :func:`means`, side by side, and the paired differences of two of them;
    ``text_format`` is one of :data:`FORMATS`, or None for a terminal.
    """
    runs = read_runs(result_folders(folders) if is_mean else folders)
    table_runs = means(runs) if is_mean else runs
    results = {run.folder: run.results for run in table_runs}
    texts = alike.side_by_side(runs)
    sizes = " and ".join(dict.fromkeys(str(max(1, len(run.members))) for run in table_runs))
    title = f"mean of {sizes} runs, in %, ± std [95 %]" if is_mean else TITLE
    if text_format:
        table = in_columns(results) if text_format == "csv" else build(results, title)
        emit([table], text_format, [f"Note: {note}" for note in [*unlabelled_notes(table_runs), *texts]])
        return
    more = [] if len(table_runs) == 1 else _paired_notes(table_runs)
    measured_by = [(run, set().union(*(member.results["metrics"] for member in run.members))) for run in table_runs]
    if missing := sum(len(names - run.results["metrics"].keys()) for run, names in measured_by):
        more.append(f"Metrics that not all of these runs have: {missing}.")
    print_table(results, title=title, notes=texts, footer=more)


def print_prompts(folders: Sequence[str]) -> None:
    """Print the results of prompts: means over the seeds of demonstrations, or a column for each if none has a mean."""
    groups = [group for group in _groups(read_runs(folders)) if len(group) > 1]
    has_repeats = any(any(alike.differences(group, (alike.MODEL, alike.TRAINING))) for group in groups)
    print_side_by_side(folders, bool(groups) and not has_repeats, None)
