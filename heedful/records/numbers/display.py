"""Descriptions of how the numbers of an evaluation are displayed: as lines of a table, and as curves over epochs.

They are derived from the numbers of a metric (:class:`heedful.metrics.number.Number`). results.json stores the tables,
so that reports can display them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal

from heedful.records.numbers.metric_name import MetricName

Unit = Literal["percent", "ratio"]


@dataclass(frozen=True)
class Line:
    """One line of a table of results: it displays the value of a metric after a label.

    Attributes:
        metric: Name of the metric in results.json.
        label: Text at the start of the line.
        level: Level of indentation: 0 for a headline, 1 for a line below it.
        unit: "percent", or "ratio" for a number without unit.
        beside: Whether the line also appears in tables that compare runs.
        section: Heading of the section; "" for none.
        text: Text that is displayed in place of the number, or "".
    """

    metric: str
    label: str
    level: int = 0
    unit: Unit = "percent"
    beside: bool = False
    section: str = ""
    text: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Convert to an entry of results.json; attributes with their default value are omitted."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}


@dataclass(frozen=True)
class Section:
    """Description of the examples behind the lines of a table that share a heading.

    Attributes:
        about: Phrases that describe the examples, such as "of 3 seeds".
        examples: Identifier of the examples, such as a hash; runs with different identifiers are not comparable.
    """

    about: tuple[str, ...] = ()
    examples: str = ""


@dataclass(frozen=True)
class Shown:
    """The layout of a table of results: which metrics the table displays, in which order, and under which headings.

    The values of the metrics are not in the layout, but elsewhere in results.json.

    Attributes:
        lines: Lines from top to bottom. A metric without a line is not in the table, only in results.json.
        asides: Descriptions, such as "naive intervals", of metrics that have no line. A note below the table lists the
            descriptions and refers the reader to results.json.
        sections: Maps a heading above lines to a description of the examples behind these lines.
    """

    lines: Sequence[Line] = ()
    asides: Sequence[str] = ()
    sections: Mapping[str, Section] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Convert to an entry of results.json."""
        return {
            "lines": [line.as_dict() for line in self.lines],
            "asides": list(self.asides),
            "sections": {heading: asdict(section) for heading, section in self.sections.items()},
        }


@dataclass(frozen=True)
class Chart:
    """A chart of curves over the epochs of a run.

    Attributes:
        title: Title of the chart.
        curves: Maps the labels of the curves to their metrics.
        figure: Name of the file ``figures/<figure>.png`` that also shows the curves; "" for a chart that is only in
            TensorBoard. The progress bar and TensorBoard's hyperparameters show the metrics of charts with a figure.
    """

    title: str
    curves: Mapping[str, MetricName]
    figure: str = ""
