"""How sensitive and how robust runs are among each other: the categories of the natural-logic paper's table 5."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from heedful.metrics.natural_logic.causal_effects import NATURAL_LOGIC
from heedful.records import MetricName
from heedful.records.storage.results import named
from heedful.reports.tables import grid

KINDS = {"context": "context", "insertion": "word-pair"}  # of changes, as they are called here
RULE = (
    "Alike: the 95 % intervals of the highest and the lowest of these runs overlap.\n"
    "Else, between these two: low, mid, high, by thirds."
)
Interval = tuple[float, float, float]  # value, low, high


def categories(measured: Sequence[Interval | None]) -> list[str]:
    """The category of each of several runs among them (the paper, section 5.3, gives no rule: this one is our own).

    Where the 95 % intervals of the largest value and of the smallest overlap or touch, all runs are "alike". Otherwise
    these two are "highest" and "lowest"; equal values share it. Others by where they lie between: below a third of the
    way "low", below two thirds "mid", else "high".

    Args:
        measured: Value and interval of each run; None for a run that has none, which gets "".
    """
    measured_ones = [m for m in measured if m is not None]
    low = min((m[0] for m in measured_ones), default=0.0)
    high = max((m[0] for m in measured_ones), default=0.0)
    up_to = max((m[2] for m in measured_ones if m[0] == low), default=0.0)
    down_to = min((m[1] for m in measured_ones if m[0] == high), default=0.0)

    def category(m: Interval | None) -> str:
        if m is None:
            return ""
        if low == high or down_to <= up_to:
            return "alike"
        if m[0] in (low, high):
            return "highest" if m[0] == high else "lowest"
        return ("low", "mid", "high")[min(2, int(3 * (m[0] - low) / (high - low)))]

    return [category(m) for m in measured]


def _interval(m: Mapping[str, Any] | None) -> Interval | None:
    """A metric with its interval; with one of no width where it has none."""
    if m is None or m["value"] is None:
        return None
    low, high = m["ci95"] or (m["value"], m["value"])
    return m["value"], low, high


def print_categories(runs: Sequence[Mapping[str, Any]], console: Console | None = None) -> None:
    """Print how sensitive and how robust each run is among those compared; nothing for fewer than two runs.

    Sensitivity is the TCE, robustness 1 - DCE, each for changes of the context and of the word pair.

    Args:
        runs: The results of each run.
        console: Where to print; the terminal by default.
    """
    console = console or Console()
    numbers = [named(run) for run in runs]
    rows = []
    for data in dict.fromkeys(name.data for of_run in numbers for name in of_run if name.family == NATURAL_LOGIC):
        for kind, label in KINDS.items():
            tce, dce = (
                [_interval(of_run.get(MetricName(NATURAL_LOGIC, data, kind, effect))) for of_run in numbers]
                for effect in ("tce", "dce")
            )
            robust = [None if m is None else (1 - m[0], 1 - m[2], 1 - m[1]) for m in dce]
            for what, measured in {"sensitivity (TCE)": tce, "robustness (1 - DCE)": robust}.items():
                if sum(m is not None for m in measured) > 1:
                    rows.append([f"{label} {what}", *categories(measured)])
    if rows:
        console.print()
        console.print(grid(["among these runs", *(f"({i + 1})" for i in range(len(runs)))], rows))
        console.print(RULE, highlight=False)
