"""Declarations of how the numbers of an evaluation are displayed in a terminal, in TensorBoard and in figures.

They are derived from the numbers of a metric (:class:`heedful.metrics.number.Number`); results.json holds the lines.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from heedful.records.numbers.metric_name import MetricName

Unit = Literal["percent", "ratio"]


@dataclass(frozen=True)
class Line:
    """One line of a table: a metric with its label.

    Attributes:
        metric: The metric, as a text.
        label: Label in the table.
        level: Indentation: 0 for a headline, 1 for a line below.
        unit: "percent", or "ratio" for a plain number.
        beside: Whether tables that compare runs show the line as well.
        section: The heading above the line; "" for none.
        text: Shown instead of the number.
    """

    metric: str
    label: str
    level: int = 0
    unit: Unit = "percent"
    beside: bool = False
    section: str = ""
    text: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The entry of results.json, without defaults."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}


@dataclass(frozen=True)
class Section:
    """Lines under the same heading.

    Attributes:
        about: Description of the examples of these lines.
        examples: Identifier of these examples: if it differs between runs, they were measured on different examples.
    """

    about: tuple[str, ...] = ()
    examples: str = ""


@dataclass(frozen=True)
class Shown:
    """The table of one evaluation.

    Attributes:
        lines: Lines from top to bottom. Metrics without a line are in results.json only.
        asides: Kinds of numbers that are in results.json only, such as "naive intervals".
        sections: Sections by heading.
    """

    lines: Sequence[Line] = ()
    asides: Sequence[str] = ()
    sections: Mapping[str, Section] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The entry of results.json."""
        return {
            "lines": [line.as_dict() for line in self.lines],
            "asides": list(self.asides),
            "sections": {heading: asdict(section) for heading, section in self.sections.items()},
        }


@dataclass(frozen=True)
class Chart:
    """Curves over the epochs of a run.

    Attributes:
        title: Title of the chart.
        curves: Maps labels of curves to metrics.
        figure: The figure that also draws them, ``figures/<figure>.png``; "" for TensorBoard alone. Metrics in figures
            are also shown by the progress bar and among the hyperparameters.
    """

    title: str
    curves: Mapping[str, MetricName]
    figure: str = ""
