"""The numbers of a run as rows of tables on a page: texts, flags, and bars on an axis."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from heedful.reports.flags import MARK
from heedful.reports.lines import Line, lines_of
from heedful.reports.page.about import evaluation_of
from heedful.reports.runs import Run
from heedful.reports.tables import bounds, number
from heedful.reports.terminal.table import cell_text, meaning

Entry = Mapping[str, Any]  # a measurement in results.json
VISIBLE = 4  # percentage points; narrower intervals would be too short on an axis from 0 to 100 %


class Bar(NamedTuple):
    """Where a number and a reference are drawn, in percent of the width of an axis."""

    value: float
    low: float
    high: float
    reference: float | None = None


class Axis(NamedTuple):
    """The ends of an axis, in the unit that the page shows."""

    low: float = 0.0
    high: float = 100.0

    @property
    def ticks(self) -> list[str]:
        """Texts at the start, in the middle and at the end."""
        return [f"{round(x, 9):g}" for x in (self.low, (self.low + self.high) / 2, self.high)]

    def place(self, x: float) -> float:
        """Return where a number is on the axis, in percent of its width."""
        return round(100 * (x - self.low) / (self.high - self.low), 2)

    def bar(self, span: Sequence[float], reference: float | None = None) -> Bar | None:
        """Return the bar of (value, low, high); None if it is not on the axis."""
        value, low, high = span
        if not self.low <= low <= value <= high <= self.high:
            return None
        is_shown = reference is not None and self.low <= reference <= self.high
        return Bar(*map(self.place, span), self.place(reference) if is_shown else None)  # type: ignore[arg-type]


class Row(NamedTuple):
    """A row of a table on a page."""

    label: str
    value: str  # with its standard deviation over draws; or a text, such as the reason why it is undefined
    interval: str = ""
    n: str = ""  # examples and clusters; "" for a text
    flags: Sequence[str] = ()
    bar: Bar | None = None
    metric: str = ""  # name in results.json
    meaning: str = ""  # of the label
    level: int = 0  # of indentation
    is_slice: bool = False  # whether the number is about a named subset of the examples


def span_of(m: Entry | None, unit: str = "percent") -> tuple[float, float, float] | None:
    """Return value and bounds of a measurement in its unit (all equal without an interval); None without a value."""
    if m is None or m["value"] is None:
        return None
    scale = 1 if unit == "ratio" else 100
    low, high = m["ci95"] or (m["value"], m["value"])
    return scale * m["value"], scale * low, scale * high


def axis_of(spans: Iterable[Sequence[float]], is_share: bool = True) -> Axis:
    """Return an axis on which each interval of (value, low, high) is long enough to see: from 0 to 100 % for shares
    whose intervals are all wider than :data:`VISIBLE`, else with round ends and some room on both sides.

    Example:
        >>> axis_of([(50, 40, 60)]), axis_of([(50.2, 49.9, 50.4)]), axis_of([(-1.0, -3.0, 1.0), (0, 0, 0)], False)
        (Axis(low=0.0, high=100.0), Axis(low=49.82, high=50.48), Axis(low=-3.6, high=1.6))
    """
    spans = list(spans)
    is_share = is_share and all(0 <= low <= high <= 100 for _, low, high in spans)
    if is_share and all(high - low >= VISIBLE for _, low, high in spans if high > low):
        return Axis()
    low, high = min(span[1] for span in spans), max(span[2] for span in spans)
    room = 0.15 * (high - low) if high - low > 1e-6 else abs(high) / 2 + 1
    step = 10.0 ** math.floor(math.log10(room))
    ends = [round(math.floor((low - room) / step) * step, 9), round(math.ceil((high + room) / step) * step, 9)]
    return Axis(max(0.0, ends[0]) if low >= 0 else ends[0], min(100.0, ends[1]) if is_share else ends[1])


def row_of(line: Line, m: Entry | None, axis: Axis, label: str = "", reference: float | None = None) -> Row:
    """Return the row of a number: texts of :func:`cell_text`, and a bar with a reference in the unit of the axis."""
    head, _, n = MARK.sub("", cell_text(m, line, "\n")).rpartition(" n=")
    value, _, interval = head.partition("\n")
    if not head:  # a text in place of the number
        value, n = n, ""
    elif line.unit == "percent":
        value += " %"
    span = span_of(m, line.unit) if head and not line.text else None
    bar = axis.bar(span, reference) if span else None
    flags = m["flags"] if m else ()
    return Row(label or line.label, value, interval, n, flags, bar, line.metric, meaning(line.label), line.level)


def numbers_of(run: Run, evaluation: str) -> list[Row]:
    """Return the numbers of an evaluation as rows, in the order of the table; "" for those that belong to none."""
    members: set[str] = set()
    for name in run.numbers:
        if evaluation_of(run, name) == evaluation:
            members |= {str(name), str(name._replace(statistic="", slice=""))}  # a number and its headline
    slices = {str(name) for name in run.numbers if any(name.by)}
    axes, metrics = {"ratio": Axis(math.nan, math.nan)}, run.results["metrics"]
    lines = [line for line in lines_of(run.results) if line.metric in members]
    rows = (row_of(line, metrics.get(line.metric), axes.get(line.unit, Axis())) for line in lines)
    return [row._replace(is_slice=row.metric in slices) for row in rows]


def quoted(m: Entry) -> str:
    """Return a share with its interval as words of a sentence. ``m`` has a value.

    Example:
        >>> quoted({"value": 0.5, "std": None, "ci95": [0.4, 0.61], "n": 20, "flags": []})
        '50.0 % [40.0, 61.0]'
    """
    return f"{number(m)} % {bounds(m['ci95'])}".rstrip()
