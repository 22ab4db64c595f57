"""The numbers of a run as a page shows them: in words and digits, and as places on a scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from heedful.records import Line
from heedful.reports.flags import warnings
from heedful.reports.page.run import Run
from heedful.reports.tables import bounds, percents, precise, too_few
from heedful.reports.terminal.table import lines_of, meaning

Measured = Mapping[str, Any]  # as results.json has it


@dataclass(frozen=True)
class Number:
    """One line of a table.

    Attributes:
        metric: Its name in results.json.
        label: What it is called.
        level: How far it is indented.
        value: The number, with the standard deviation over draws; why there is none; or a text.
        interval: Its 95 % interval; "" for none.
        n: How many examples it rests on.
        clusters: How many clusters these are, where they are fewer.
        place: Value, low and high end on a scale from 0 to 100; None where there is no such number.
        warnings: What must not be read into it.
        meaning: What the label means; "" where it says so itself.
        is_slice: Whether it is of a slice of the examples, of which there may be many.
        is_headline: Whether it is among the few that a reader looks at first.
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


def quoted(m: Measured) -> str:
    """A share for a sentence, with its interval.

    Example:
        >>> quoted({"value": 0.5, "ci95": [0.4, 0.61], "n": 20, "flags": []})
        '50.0 % [40.0, 61.0]'
    """
    return f"{percents(m['value'])} %{'' if m['ci95'] is None else ' ' + bounds(m['ci95'])}"


def is_known(m: Measured) -> bool:
    """Whether a measurement has a value that may be quoted."""
    return m["value"] is not None and not too_few(m["n"], m["flags"])


def numbers_of(run: Run, evaluation: str) -> list[Number]:
    """The numbers of an evaluation, as the table in a terminal has them; of "" those that belong to none."""
    own: set[str] = set()
    slices = {str(name) for name in run.numbers if any(name.by)}
    for name in run.numbers:
        if run.evaluation_of(name) == evaluation:
            own |= {str(name), str(name._replace(statistic="", slice=""))}  # lines may be headings of such
    lines = (line for line in lines_of(run.results) if line.metric in own)
    metrics = run.results["metrics"]
    return [replace(_number(line, metrics.get(line.metric)), is_slice=line.metric in slices) for line in lines]


def _number(line: Line, m: Measured | None) -> Number:
    plain = Number(line.metric, line.label, line.level, line.text, meaning=meaning(line.label), is_headline=line.beside)
    if line.text or m is None:
        return plain
    plain = replace(plain, n=m["n"], clusters=m.get("clusters"), warnings=warnings(m["flags"]))
    if m["value"] is None:
        return replace(plain, value=f"undefined: {m['reason']}")
    if too_few(m["n"], m["flags"]):
        return replace(plain, value="too few examples")
    value, interval = precise(m, line.unit)
    if line.unit != "ratio":
        value = " ± ".join(f"{text} %" for text in value.split(" ± "))
    place = None if line.unit == "ratio" else _place(m["value"], m["ci95"])
    return replace(plain, value=value, interval=interval, place=place)


def _place(value: float, ci95: Sequence[float] | None) -> tuple[float, float, float] | None:
    """Where a share lies on a scale from 0 to 100, with its interval; None beyond it."""
    low, high = ci95 or (value, value)
    return (100 * value, 100 * low, 100 * high) if 0 <= low <= value <= high <= 1 else None
