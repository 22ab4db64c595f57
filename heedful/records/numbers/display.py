"""How the numbers of an evaluation are shown, in a terminal, in TensorBoard, in figures: declared once, as data.

They follow from the numbers of a metric (:class:`heedful.metrics.number.Number`); results.json holds the
lines.
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
        unit: "percent", or "ratio": a plain number.
        beside: Whether tables of runs side by side show it, too.
        section: The heading that it stands under; "" for none.
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
    """Lines that stand under one heading.

    Attributes:
        about: On which examples they rest, in words.
        examples: Identifies these examples: runs in which it differs were measured on different ones.
    """

    about: tuple[str, ...] = ()
    examples: str = ""


@dataclass(frozen=True)
class Shown:
    """The table of one evaluation.

    Attributes:
        lines: In the order of reading. Metrics without a line are in results.json only.
        asides: Kinds of numbers in results.json only that a reader may look for, such as "naive intervals".
        sections: By their headings.
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
        curves: Label of a curve to its metric.
        figure: The figure that also draws them, ``figures/<figure>.png``; "" for TensorBoard alone. Metrics in figures
            are also shown by the progress bar and among the hyperparameters.
    """

    title: str
    curves: Mapping[str, MetricName]
    figure: str = ""
