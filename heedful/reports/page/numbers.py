"""The numbers of a run as table rows of a page: value, interval, and position on a scale from 0 to 100 %."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from heedful.metrics.statistics.draws import is_known
from heedful.reports.flags import warnings
from heedful.reports.lines import Line, lines_of
from heedful.reports.page.about import evaluation_of
from heedful.reports.runs import Run
from heedful.reports.tables import bounds, percents, precise
from heedful.reports.terminal.table import meaning

Entry = Mapping[str, Any]  # a measurement in results.json


@dataclass(frozen=True)
class Number:
    """A table row of a page that shows one number.

    Attributes:
        metric: Name of the metric in results.json.
        label: Label of the row.
        level: Depth of the indentation.
        value: The value with its standard deviation over draws, or a text, such as the reason why it is undefined.
        interval: 95 % interval; "" for none.
        n: Number of examples; None for a text.
        clusters: Number of clusters (groups of related examples); None if each example is a cluster.
        place: Value, lower and upper bound in percent; None if the number is not drawn on the scale.
        warnings: Warnings that belong to the flags of the number.
        meaning: Explanation of the label; "" for none.
        is_slice: Whether the number is about a slice (a named subset) of the examples.
        is_headline: Whether the number is a main number of its evaluation.
    """

    metric: str
    label: str
    level: int
    value: str
    interval: str = ""
    n: int | None = None
    clusters: int | None = None
    place: tuple[float, float, float] | None = None
    warnings: tuple[str, ...] = ()
    meaning: str = ""
    is_slice: bool = False
    is_headline: bool = False


def quoted(m: Entry) -> str:
    """Return a share with its interval as words of a sentence. ``m`` has a value.

    Example:
        >>> quoted({"value": 0.5, "ci95": [0.4, 0.61], "n": 20, "flags": []})
        '50.0 % [40.0, 61.0]'
    """
    return f"{percents(m['value'])} %{'' if m['ci95'] is None else ' ' + bounds(m['ci95'])}"


def numbers_of(run: Run, evaluation: str) -> list[Number]:
    """Return the numbers of an evaluation as rows of the page's table, in the order of the table.

    A :class:`Number` is one row. ``evaluation`` is the name of an evaluation; "" selects the numbers that belong to no
    evaluation.
    """
    members: set[str] = set()
    slices = {str(name) for name in run.numbers if any(name.by)}
    for name in run.numbers:
        if evaluation_of(run, name) == evaluation:
            members |= {str(name), str(name._replace(statistic="", slice=""))}  # a number and its headline
    lines = (line for line in lines_of(run.results) if line.metric in members)
    metrics = run.results["metrics"]
    return [replace(_number(line, metrics.get(line.metric)), is_slice=line.metric in slices) for line in lines]


def _number(line: Line, m: Entry | None) -> Number:
    blank = Number(
        line.metric, line.label, line.level, line.text, meaning=meaning(line.label), is_headline=line.is_headline
    )
    if line.text or m is None:
        return blank
    blank = replace(blank, n=m["n"], clusters=m.get("clusters"), warnings=warnings(m["flags"]))
    if m["value"] is None:
        return replace(blank, value=f"undefined: {m['reason']}")
    if not is_known(m):
        return replace(blank, value="too few examples")
    value, interval = precise(m, line.unit)
    if line.unit != "ratio":
        value = " ± ".join(f"{text} %" for text in value.split(" ± "))
    place = None if line.unit == "ratio" else _place(m["value"], m["ci95"])
    return replace(blank, value=value, interval=interval, place=place)


def _place(value: float, ci95: Sequence[float] | None) -> tuple[float, float, float] | None:
    """Return where a share is drawn on a scale from 0 to 100 %: value, lower and upper bound in percent; None if it is
    off the scale.
    """
    low, high = ci95 or (value, value)
    return (100 * value, 100 * low, 100 * high) if 0 <= low <= value <= high <= 1 else None
