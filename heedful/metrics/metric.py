"""A metric makes numbers of the rows of an evaluation, and says how they are shown; from a rows file alone."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from heedful.records import Chart, Context, Line, Measurement, MetricName, Shown
from heedful.records.rows import require_canonical

Numbers = dict[MetricName, Measurement]


def lines(numbers: Numbers) -> list[Line]:
    """A line for each number; under a headline, which stands beside that of other runs, what belongs to it.

    Example:
        >>> name = MetricName("naive_partial", "mnli", "premise")
        >>> shown = lines({name: Measurement(0.5, 2), name._replace(slice="from_neutral"): Measurement(0.5, 2)})
        >>> [(line.level, line.label) for line in shown]
        [(0, 'naive partial premise'), (1, 'from_neutral')]
    """
    found = []
    for name in numbers:
        headline = name._replace(statistic="", slice="")
        last = [text for text in (name.statistic, name.slice) if text]
        below = bool(last) and headline in numbers
        label = " ".join(
            last if below else [text for text in (name.family.replace("_", " "), name.part, *last) if text]
        )
        found.append(Line(str(name), label, level=int(below), beside=not last))
    return found


def show_all(numbers: Numbers, context: Context, counts: Mapping[str, Any]) -> Shown:
    """Show every number under its own name."""
    return Shown(lines(numbers))


def no_charts(context: Context) -> tuple[Chart, ...]:
    """Draw nothing."""
    return ()


@dataclass(frozen=True)
class Metric:
    """The numbers of an evaluation.

    Attributes:
        name: Of the evaluation; its rows stand in ``rows/<name>.parquet``.
        numbers: Makes the numbers from the rows and the context; pure. In the order of reading.
        show: Says how these numbers are shown, from the numbers, the context and the counts of the evaluation.
        charts: The curves over epochs, from the context; called before anything is measured.
        statistics: What other numbers may be called, beside those of its curves: the last words of their names. None
            where nobody says.
    """

    name: str
    numbers: Callable[[pa.Table, Context], Numbers]
    show: Callable[[Numbers, Context, Mapping[str, Any]], Shown] = show_all
    charts: Callable[[Context], tuple[Chart, ...]] = no_charts
    statistics: tuple[str, ...] | None = None

    def may_have(self, metric: str, context: Context) -> bool:
        """Whether a number may have this name: that of a curve, or one about the same data and part."""
        curves = [name for chart in self.charts(context) for name in chart.curves.values()]
        known = {str(name._replace(statistic="", slice="") if name.part else name) for name in curves}
        if metric in known | set(map(str, curves)):
            return True
        if self.statistics is None:
            return any(metric.startswith(f"{name}/") for name in known)
        words = {*self.statistics, *context.labels, *(f"from_{label}" for label in context.labels)}
        own = [name._replace(statistic="", slice="") for name in curves if name.family == self.name]
        return any(metric == f"{name}/{word}" for name in own for word in words)

    def score(self, rows: pa.Table, context: Context) -> Numbers:
        """The numbers of rows.

        Raises:
            HeedfulError: The rows are not in their canonical order, in which those of an example stand together.
        """
        require_canonical(rows)
        return self.numbers(rows, context)
