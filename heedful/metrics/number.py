"""``Number``, a measurement with its name and its place in tables and charts; and ``Settings``, the base class of
the settings of metrics.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from heedful.records import Chart, Context, Line, Measurement, MetricName, Section, Shown
from heedful.records.numbers import Unit

Numbers = dict[MetricName, Measurement]


@dataclass(frozen=True)
class Settings:
    """Base class of the settings of a metric; the context of rows stores them as JSON."""

    @classmethod
    def from_context(cls, context: Context) -> Self:
        """Read the settings of a metric from the context of rows, which also holds other settings."""
        names = {field.name for field in fields(cls)}
        values = {name: value for name, value in context.own.items() if name in names}
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as a dictionary for JSON, without those that have their default values."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


@dataclass(frozen=True)
class Curve:
    """A curve in a chart, which shows a number over the epochs of a training run.

    Attributes:
        chart: Title of the chart; curves with the same title share a chart.
        label: Label of the curve.
        figure: File name of the figure with the chart; "" for a chart in TensorBoard only. The progress bar and
            TensorBoard's hyperparameters show the numbers of charts with a figure.
    """

    chart: str
    label: str
    figure: str = ""


@dataclass(frozen=True)
class Number:
    """A number of an evaluation, with what tables and charts need to show it.

    Attributes:
        name: Name in results.json.
        measured: Value and interval; None if the number has only a curve or a ``text``.
        label: Label of the line in tables; None to derive the label from the name, "" for no line.
        level: Indentation of the line: 0 for a main number, 1 for a line below; None to derive it from the name.
        unit: "percent", or "ratio" for a plain number.
        headline: Whether tables that compare runs show the number; None to derive this from the name.
        changed: Changed rows that the number is about, also those without an answer: bool [rows]. Tables then show two
            shares below the number: the share of these rows without an answer and, among the others, the share whose
            change is unread (does not reach the model). None for numbers without these shares.
        curve: Curve over epochs; None if there is none. The list of curves is found before any row exists, so a metric
            must also yield this number when its table of rows is empty.
        section: Heading above the line in tables, and a description of the examples of all lines below the heading.
        aside: Description of a number without a line; a note below the table refers to results.json for it.
        text: Text that tables show in place of the number.
    """

    name: MetricName
    measured: Measurement | None
    label: str | None = None
    level: int | None = None
    unit: Unit = "percent"
    headline: bool | None = None
    changed: np.ndarray | None = None
    curve: Curve | None = None
    section: tuple[str, Section] | None = None
    aside: str = ""
    text: str = ""

    def line(self, is_below: bool) -> Line:
        """Create the line of the number in tables.

        Args:
            is_below: Whether the line follows the headline of the same data and part, and need not repeat their names.
        """
        name = self.name
        last = [text for text in (name.statistic, name.slice) if text]
        words = last if is_below else [text for text in (name.family.replace("_", " "), name.part, *last) if text]
        return Line(
            str(name),
            " ".join(words) if self.label is None else self.label,
            level=int(is_below) if self.level is None else self.level,
            unit=self.unit,
            beside=not last if self.headline is None else self.headline,
            section=self.section[0] if self.section else "",
            text=self.text,
        )


def measured(numbers: Iterable[Number]) -> Numbers:
    """Map the names of numbers to their measurements; numbers without a measurement are omitted."""
    return {number.name: number.measured for number in numbers if number.measured is not None}


def shown(numbers: Sequence[Number]) -> Shown:
    """Create the table of an evaluation: a line for each number with a value or text, in the given order.

    Example:
        >>> name = MetricName("naive_partial", "mnli", "premise")
        >>> of_label = Number(name._replace(slice="from_neutral"), Measurement(0.5, 2))
        >>> [(line.level, line.label) for line in shown([Number(name, Measurement(0.5, 2)), of_label]).lines]
        [(0, 'naive partial premise'), (1, 'from_neutral')]
    """
    names = {number.name for number in numbers if number.measured is not None}
    lines = []
    sections: dict[str, Section] = {}
    asides: dict[str, None] = {}
    for number in numbers:
        if number.section is not None:
            sections[number.section[0]] = number.section[1]
        if number.aside:
            asides[number.aside] = None
        if number.label != "" and (number.measured is not None or number.text):
            headline = number.name._replace(statistic="", slice="")
            lines.append(number.line(is_below=headline != number.name and headline in names))
    return Shown(lines, list(asides), sections)


def charts(numbers: Iterable[Number]) -> tuple[Chart, ...]:
    """Group the curves of numbers by chart; return the charts in the order of their first curves."""
    by_title: dict[str, Chart] = {}
    for number in numbers:
        if number.curve is not None:
            title, label, figure = number.curve.chart, number.curve.label, number.curve.figure
            curves: Mapping[str, MetricName] = by_title[title].curves if title in by_title else {}
            by_title[title] = Chart(title, {**curves, label: number.name}, figure)
    return tuple(by_title.values())
