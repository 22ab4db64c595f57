"""Attentiveness to each part of one run, with its 95 % interval."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from heedful.records import printable
from heedful.reports.figures.canvas import GREY, bars, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(parts: Mapping[str, Mapping[str, Any]]) -> "Figure":
    """A line for each part: a point at the attentiveness to it, and a bar for the interval.

    Args:
        parts: Name of a part to its measurement, as results.json has it; each has a value.
    """
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(5.5, 0.8 + 0.4 * len(parts)), layout="constrained")
    axes = drawn.add_subplot()
    color, marker = style(0)
    for k, m in enumerate(parts.values()):
        axes.errorbar(100 * m["value"], k, xerr=bars(m), fmt=marker, color=color, capsize=3)
    axes.set_yticks(range(len(parts)), [printable(part) for part in parts], parse_math=False)
    axes.set_ylim(len(parts) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.set_xlabel("attentiveness, % (bars: 95 % intervals)")
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_color(GREY)
    return drawn
