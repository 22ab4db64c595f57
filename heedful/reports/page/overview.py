"""The first tables of a page: the main numbers of all runs, and the differences between runs, on common axes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from heedful.metrics.statistics.draws import is_known
from heedful.records import HeedfulError, Measurement, MetricName, printable
from heedful.reports.alike import side_by_side
from heedful.reports.compare import headline_differences
from heedful.reports.page.numbers import Axis, Row, axis_of, row_of, span_of
from heedful.reports.page.origin import without_places
from heedful.reports.runs import Run, unlabelled_notes
from heedful.reports.tables import basis, bounds, number
from heedful.reports.terminal.table import meaning, merged

QUALITIES = ("accuracy", "exact_match", "two_class")  # families of scores with a majority baseline


class Block(NamedTuple):
    """One number of several runs, or its differences: rows whose bars share an axis (None without bars)."""

    label: str
    meaning: str
    axis: Axis | None
    rows: Sequence[Row]
    unit: str


def overview(runs: Sequence[Run]) -> list[Block]:
    """Return the main numbers of all runs: a block per number, with a row for each run that has it."""
    names = {str(name): name for run in runs for name in run.numbers}
    several = len(runs) > 1 and len({name.data for name in names.values()}) > 1
    blocks = []
    for line in merged([run.results for run in runs]):
        entries = [(run, m) for run in runs if (m := run.results["metrics"].get(line.metric))]
        if not line.is_headline or not entries:
            continue
        spans = [span for _, m in entries if is_known(m) and (span := span_of(m, line.unit))]
        axis = axis_of(spans, line.unit != "ratio") if spans else Axis()
        name = names[line.metric]
        rows = [row_of(line, m, axis, run.label, majority_of(run, name)) for run, m in entries]
        label = f"{line.label}, {name.data}" if several and name.data not in line.label.split() else line.label
        unit = "" if line.unit == "ratio" else "%"
        blocks.append(Block(label, meaning(line.label), axis if any(row.bar for row in rows) else None, rows, unit))
    return blocks


def majority_of(run: Run, name: MetricName) -> float | None:
    """Return the score of the best constant answer in percent, for a score; None for other metrics."""
    m = run.numbers.get(name._replace(statistic="majority")) if name.family in QUALITIES else None
    return None if m is None or m["value"] is None else 100 * m["value"]


def differences_of(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the main numbers of each further run minus those of the first run, with paired intervals ("blocks"), the
    name of the first run, and notes: also on runs whose examples or changes are others, which have no differences.
    """
    notes = [*unlabelled_notes(runs), *side_by_side(runs)]
    found: dict[str, list[tuple[Run, Measurement, Sequence[str]]]] = {}
    first, *more = runs
    for run in more:
        try:
            changes = list(headline_differences(first, run))
            reason = "" if changes else "their changes are not the same."
        except HeedfulError as error:
            changes, reason = [], str(error)
        notes += [f"{run.label} and {first.label} are not paired: {reason}"] if reason else []
        for label, m, flags in changes:
            found.setdefault(label, []).append((run, m, tuple(dict.fromkeys(flags))))
    for run in runs:
        notes = [note.replace(run.folder, run.label) for note in notes]
    blocks = [_difference(label, rows) for label, rows in found.items()]
    return {"first": first.label, "blocks": blocks, "notes": [without_places(printable(note)) for note in notes]}


def _difference(label: str, rows: Sequence[tuple[Run, Measurement, Sequence[str]]]) -> Block:
    spans = [span_of(vars(m)) or (0.0, 0.0, 0.0) for _, m, _ in rows]
    reach = max(abs(bound) for _, *bounds_of in spans for bound in bounds_of)
    axis = axis_of([(0.0, -reach, reach)], is_share=False)
    shown = [
        Row(run.label, number(m, "+"), bounds(m.ci95, "+"), basis(m).removeprefix("n="), flags, axis.bar(span, 0.0))
        for (run, m, flags), span in zip(rows, spans, strict=True)
    ]
    return Block(label, "", axis, shown, "points")
