"""The tables of a page: main numbers and differences of runs on common axes, all numbers of a run, and moves."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from heedful.metrics.statistics.draws import is_known
from heedful.records import HeedfulError, Measurement, MetricName, printable
from heedful.records.rows import BASE
from heedful.reports.alike import side_by_side
from heedful.reports.compare import headline_differences
from heedful.reports.flags import MARK
from heedful.reports.lines import Line, lines_of
from heedful.reports.page.about import evaluation_of
from heedful.reports.page.examples import change_of
from heedful.reports.page.origin import without_places
from heedful.reports.runs import Run, unlabelled_notes
from heedful.reports.tables import basis, bounds, number, percents, precise
from heedful.reports.terminal.table import cell_text, meaning, merged

Entry = Mapping[str, Any]  # a measurement in results.json
VISIBLE = 4  # percentage points; narrower intervals would be too short on an axis from 0 to 100 %
QUALITIES = ("accuracy", "exact_match", "two_class")  # families of scores with a majority baseline
MOVES = ("attentiveness", "default_label", "naive_partial")  # evaluations with tables of moves
MOST_LABELS = 8  # of a table of moves
CHANGE = ["intervention", "part", "variant"]


Span = tuple[float, float, float]  # a number and the bounds of its interval, in the unit that the page shows


class Axis(NamedTuple):
    """The ends of an axis, in the unit that the page shows."""

    low: float = 0.0
    high: float = 100.0

    @property
    def ticks(self) -> list[str]:
        """Texts at the start, in the middle and at the end."""
        return [f"{round(x, 9):g}" for x in (self.low, (self.low + self.high) / 2, self.high)]

    def holds(self, *numbers: float | None) -> bool:
        """Whether all numbers are on the axis."""
        return all(x is not None and self.low <= x <= self.high for x in numbers)

    def place(self, x: float) -> float:
        """Return where a number is on the axis, in percent of its width."""
        return round(100 * (x - self.low) / (self.high - self.low), 2)


class Row(NamedTuple):
    """A row of a table on a page."""

    label: str
    value: str  # with its standard deviation over draws; or a text, such as the reason why it is undefined
    interval: str = ""
    n: str = ""  # examples and clusters; "" for a text
    flags: Sequence[str] = ()
    span: Span | None = None  # of the bar; None for no bar
    reference: float | None = None  # of the grey line on the axis
    metric: str = ""  # name in results.json
    meaning: str = ""  # of the label
    level: int = 0  # of indentation
    is_slice: bool = False  # whether the number is about a named subset of the examples


def span_of(m: Entry, unit: str = "percent") -> Span:
    """Return value and bounds of a measurement with a value, in its unit; all are equal without an interval."""
    scale = 1 if unit == "ratio" else 100
    low, high = m["ci95"] or (m["value"], m["value"])
    return scale * m["value"], scale * low, scale * high


def axis_of(spans: Sequence[Span], is_share: bool = True) -> Axis:
    """Return an axis on which each interval of (value, low, high) is long enough to see: from 0 to 100 % for shares
    whose intervals are all wider than :data:`VISIBLE`, else with round ends and some room on both sides.

    Example:
        >>> axis_of([(50, 40, 60)]), axis_of([(50.2, 49.9, 50.4)]), axis_of([(-1.0, -3.0, 1.0), (0, 0, 0)], False)
        (Axis(low=0.0, high=100.0), Axis(low=49.82, high=50.48), Axis(low=-3.6, high=1.6))
    """
    is_share = is_share and all(0 <= low <= high <= 100 for _, low, high in spans)
    if is_share and all(high - low >= VISIBLE for _, low, high in spans if high > low):
        return Axis()
    low, high = min(span[1] for span in spans), max(span[2] for span in spans)
    room = 0.15 * (high - low) if high - low > 1e-6 else abs(high) / 2 + 1
    step = 10.0 ** math.floor(math.log10(room))
    ends = [round(math.floor((low - room) / step) * step, 9), round(math.ceil((high + room) / step) * step, 9)]
    return Axis(max(0.0, ends[0]) if low >= 0 else ends[0], min(100.0, ends[1]) if is_share else ends[1])


def row_of(line: Line, m: Entry | None) -> Row:
    """Return the row of a number, or of the text in its place."""
    row = Row(line.label, "", metric=line.metric, meaning=meaning(line.label), level=line.level)
    row = row._replace(flags=m["flags"] if m else ())
    if m is None or line.text or not is_known(m):
        return row._replace(value=MARK.sub("", cell_text(m, line)))
    value, interval = precise(m, line.unit)
    value += " %" if line.unit == "percent" else ""
    return row._replace(value=value, interval=interval, n=basis(m).removeprefix("n="), span=span_of(m, line.unit))


def numbers_of(run: Run, evaluation: str) -> list[Row]:
    """Return the numbers of an evaluation as rows, in the order of the table; "" for those that belong to none."""
    members: set[str] = set()
    for name in run.numbers:
        if evaluation_of(run, name) == evaluation:
            members |= {str(name), str(name._replace(statistic="", slice=""))}  # a number and its headline
    slices = {str(name) for name in run.numbers if any(name.by)}
    rows = []
    for line in lines_of(run.results):
        if line.metric in members:
            row = row_of(line, run.results["metrics"].get(line.metric))._replace(is_slice=line.metric in slices)
            rows.append(row._replace(span=None) if line.unit == "ratio" else row)  # the axis is in percent
    return rows


def quoted(m: Entry) -> str:
    """Return a share with its interval as words of a sentence. ``m`` has a value.

    Example:
        >>> quoted({"value": 0.5, "std": None, "ci95": [0.4, 0.61], "n": 20, "flags": []})
        '50.0 % [40.0, 61.0]'
    """
    return f"{number(m)} % {bounds(m['ci95'])}".rstrip()


class Block(NamedTuple):
    """A number in some runs, or its differences: rows whose bars share an axis (None without bars)."""

    label: str
    meaning: str
    axis: Axis | None
    rows: Sequence[Row]
    unit: str

    @property
    def has_reference(self) -> bool:
        """Whether a grey line is on the axis."""
        return self.axis is not None and any(row.span and self.axis.holds(row.reference) for row in self.rows)


def overview(runs: Sequence[Run]) -> list[Block]:
    """Return the main numbers of all runs: a block per number, with a row for each run that has it."""
    names = {str(name): name for run in runs for name in run.numbers}
    several = len(runs) > 1 and len({name.data for name in names.values()}) > 1
    blocks = []
    for line in merged([run.results for run in runs]):
        entries = [(run, m) for run in runs if (m := run.results["metrics"].get(line.metric))]
        if not line.is_headline or not entries:
            continue
        name = names[line.metric]
        rows = [row_of(line, m)._replace(label=run.label, reference=majority_of(run, name)) for run, m in entries]
        spans = [row.span for row in rows if row.span]
        axis = axis_of(spans, line.unit != "ratio") if spans else None
        label = f"{line.label}, {name.data}" if several and name.data not in line.label.split() else line.label
        blocks.append(Block(label, meaning(line.label), axis, rows, "" if line.unit == "ratio" else "%"))
    return blocks


def majority_of(run: Run, name: MetricName) -> float | None:
    """Return the score of the best constant answer in percent, for a score; None for other metrics."""
    m = run.numbers.get(name._replace(statistic="majority")) if name.family in QUALITIES else None
    return None if m is None or m["value"] is None else 100 * m["value"]


def differences_of(runs: Sequence[Run]) -> dict[str, Any]:
    """Return how the main numbers of other runs differ from the first run, with paired intervals ("blocks"), the name
    of the first run, and notes, such as why runs with different examples or changes have no differences.
    """
    notes = [*unlabelled_notes(runs), *side_by_side(runs)]
    changes_by_label: dict[str, list[tuple[Run, Measurement, Sequence[str]]]] = {}
    first = runs[0]
    for run in runs[1:]:
        try:
            changes = list(headline_differences(first, run))
            reason = "" if changes else "their changes are not the same."
        except HeedfulError as error:
            changes, reason = [], str(error)
        notes += [f"{run.label} and {first.label} are not paired: {reason}"] if reason else []
        for label, m, flags in changes:
            changes_by_label.setdefault(label, []).append((run, m, tuple(dict.fromkeys(flags))))
    for run in runs:
        notes = [note.replace(run.folder, run.label) for note in notes]
    blocks = [_difference(label, changes) for label, changes in changes_by_label.items()]
    return {"first": first.label, "blocks": blocks, "notes": [without_places(printable(note)) for note in notes]}


def _difference(label: str, changes: Sequence[tuple[Run, Measurement, Sequence[str]]]) -> Block:
    rows = []
    for run, m, flags in changes:
        texts = number(m, "+"), bounds(m.ci95, "+"), basis(m).removeprefix("n=")
        rows.append(Row(run.label, *texts, flags, span_of(vars(m)), reference=0.0))
    reach = max(abs(bound) for _, m, _ in changes for bound in span_of(vars(m)))  # 0 is in the middle
    return Block(label, "", axis_of([(0.0, -reach, reach)], is_share=False), rows, "points")


def moves_of(run: Run, evaluation: str) -> list[dict[str, Any]]:
    """Return a table for each change in the rows of an evaluation of :data:`MOVES`, such as a swap of the premise: the
    shares of the labels after the change, over all draws, for each label before the change.

    Free texts, and changes with more than :data:`MOST_LABELS` labels, have no table.
    """
    if evaluation not in MOVES or evaluation not in run.rows or not run.contexts[evaluation].kind.has_labels:
        return []
    import pandas

    frame = run.rows[evaluation][0].select([*CHANGE, "uid", "draw", "y", "y2"]).to_pandas()
    tables = []
    for names, group in frame[~frame["intervention"].isin([BASE, "null"])].groupby(CHANGE, sort=False):
        there = {*group["y"], *group["y2"]}
        order = dict.fromkeys([*run.contexts[evaluation].labels, *sorted(there)])
        labels = [label for label in order if label in there]
        if len(labels) > MOST_LABELS:
            continue
        shares = pandas.crosstab(group["y"], group["y2"], normalize="index").reindex(columns=labels, fill_value=0.0)
        n = group.groupby("y")["uid"].nunique()
        rows = [(y, int(n[y]), [*map(percents, shares.loc[y])]) for y in labels if y in n]
        heading = change_of(dict(zip(CHANGE, names, strict=True)))
        tables.append({"heading": heading, "labels": labels, "draws": group["draw"].nunique(), "rows": rows})
    return tables
