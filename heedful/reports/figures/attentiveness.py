"""Attentiveness to each part of one run, with its 95 % interval."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from heedful.records import printable
from heedful.reports.figures.canvas import GREY, bars, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(
    parts: Mapping[str, Mapping[str, Any]],
    alone: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    majority: float | None = None,
) -> "Figure":
    """A line for each part: a point at the attentiveness to it, and a bar for the interval.

    Args:
        parts: Name of a part to its measurement, as results.json has it; each has a value.
        alone: Name of a part to the accuracy on the others alone, drawn hollow below it.
        majority: The share of the best single answer, drawn as a line.
    """
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(5.5, 0.8 + 0.4 * (len(parts) + len(alone)) + 0.5 * bool(alone)), layout="constrained")
    axes = drawn.add_subplot()
    color, marker = style(0)
    below, other = style(1)
    for k, (part, m) in enumerate(parts.items()):
        axes.errorbar(100 * m["value"], k - 0.15 * bool(alone), xerr=bars(m), fmt=marker, color=color, capsize=3)
        if part in alone:
            score = alone[part]
            hollow = {"fmt": other, "color": below, "markerfacecolor": "white", "capsize": 3}
            axes.errorbar(100 * score["value"], k + 0.15, xerr=bars(score), **hollow)
    if majority is not None:
        axes.axvline(100 * majority, color=GREY, linewidth=1, linestyle="--")
    axes.set_yticks(range(len(parts)), [printable(part) for part in parts], parse_math=False)
    axes.set_ylim(len(parts) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    more = "\nhollow: accuracy on the other parts alone" if alone else ""
    more += "\ndashed: one constant answer" if majority is not None else ""
    axes.set_xlabel(f"attentiveness, % (bars: 95 % intervals){more}")
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_color(GREY)
    return drawn
