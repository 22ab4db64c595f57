"""The numbers of a run on a page: lines of a table with values, intervals and places on a scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from heedful.records import Line
from heedful.reports.flags import warnings
from heedful.reports.page.about import evaluation_of
from heedful.reports.runs import Run
from heedful.reports.tables import bounds, percents, precise, too_few
from heedful.reports.terminal.table import lines_of, meaning

Entry = Mapping[str, Any]  # a measurement in results.json


@dataclass(frozen=True)
class Number:
    """One line of a table.

    Attributes:
        metric: Name in results.json.
        label: Label of the line.
        level: Depth of the indentation.
        value: The number with its standard deviation over draws, the reason why it is undefined, or a text.
        interval: 95 % interval, or "".
        n: Number of examples.
        clusters: Number of clusters, if it is smaller.
        place: Value, low and high end on a scale from 0 to 100; None for a number without such a place.
        warnings: Warnings of its flags.
        meaning: Meaning of the label; "" if the label explains itself.
        is_slice: Whether the number belongs to a slice of the examples.
        is_headline: Whether the number is a headline.
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
    """Format a share with its interval for use in a sentence.

    Example:
        >>> quoted({"value": 0.5, "ci95": [0.4, 0.61], "n": 20, "flags": []})
        '50.0 % [40.0, 61.0]'
    """
    return f"{percents(m['value'])} %{'' if m['ci95'] is None else ' ' + bounds(m['ci95'])}"


def is_known(m: Entry) -> bool:
    """Whether a measurement has a value that may be quoted."""
    return m["value"] is not None and not too_few(m["n"], m["flags"])


def numbers_of(run: Run, evaluation: str) -> list[Number]:
    """The numbers of an evaluation, as in the table of a terminal; for "" the numbers of no evaluation."""
    members: set[str] = set()
    slices = {str(name) for name in run.numbers if any(name.by)}
    for name in run.numbers:
        if evaluation_of(run, name) == evaluation:
            members |= {str(name), str(name._replace(statistic="", slice=""))}  # with the headline above the number
    lines = (line for line in lines_of(run.results) if line.metric in members)
    metrics = run.results["metrics"]
    return [replace(_number(line, metrics.get(line.metric)), is_slice=line.metric in slices) for line in lines]


def _number(line: Line, m: Entry | None) -> Number:
    blank = Number(line.metric, line.label, line.level, line.text, meaning=meaning(line.label), is_headline=line.beside)
    if line.text or m is None:
        return blank
    blank = replace(blank, n=m["n"], clusters=m.get("clusters"), warnings=warnings(m["flags"]))
    if m["value"] is None:
        return replace(blank, value=f"undefined: {m['reason']}")
    if too_few(m["n"], m["flags"]):
        return replace(blank, value="too few examples")
    value, interval = precise(m, line.unit)
    if line.unit != "ratio":
        value = " ± ".join(f"{text} %" for text in value.split(" ± "))
    place = None if line.unit == "ratio" else _place(m["value"], m["ci95"])
    return replace(blank, value=value, interval=interval, place=place)


def _place(value: float, ci95: Sequence[float] | None) -> tuple[float, float, float] | None:
    """The place of a share and its interval on a scale from 0 to 100; None outside the scale."""
    low, high = ci95 or (value, value)
    return (100 * value, 100 * low, 100 * high) if 0 <= low <= value <= high <= 1 else None
