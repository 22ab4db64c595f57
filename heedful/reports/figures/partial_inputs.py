"""Attentiveness against what a model of the partial input can do (CAT, figure 2)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from heedful.records import Measurement
from heedful.reports.figures.canvas import bars, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED = 8  # of more points, none has its name beside it
CLOSE = 6  # points of attentiveness between two names that would meet
ALL, WITHIN = "over all", "within data sets"  # of rank correlations


class Point(NamedTuple):
    """One model on one data set.

    Attributes:
        data: The data set and the part that was swapped.
        model: What it is called.
        gain: Score of the model of the other parts alone, less the majority share.
        attentiveness: To the part.
        is_above: Whether the accuracy of the model of all parts is above the majority share.
    """

    data: str
    model: str
    gain: Measurement
    attentiveness: Measurement
    is_above: bool


def spearman(points: Sequence[Point]) -> float | None:
    """Rank correlation of gain and attentiveness; None for fewer than three points, or where one of them is constant.

    Example:
        >>> spearman([Point("d", "m", Measurement(x, 1), Measurement(-x, 1), True) for x in (0.1, 0.2, 0.4)])
        -1.0
    """
    return _correlation([points])


def spearman_within(points: Sequence[Point]) -> float | None:
    """Rank correlation within data sets: of the ranks in each, less their mean there; None as for :func:`spearman`.

    What tells data sets apart does not count. Data sets of one point say nothing.
    """
    return _correlation([[p for p in points if p.data == data] for data in dict.fromkeys(p.data for p in points)])


def _correlation(sets: Sequence[Sequence[Point]]) -> float | None:
    from scipy.stats import rankdata

    sets = [points for points in sets if len(points) > 1]
    if sum(map(len, sets)) < 3:
        return None
    columns = []
    for of in ("gain", "attentiveness"):
        ranks = [rankdata([getattr(p, of).value for p in points]) for points in sets]
        columns.append(np.concatenate([of_set - of_set.mean() for of_set in ranks]))
    x, y = columns
    norm = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / norm if norm else None


def figure(points: Sequence[Point], told: Mapping[str, str]) -> "Figure":
    """A point for each model and data set, with 95 % intervals both ways; hollow if it is not above the majority share.

    Args:
        points: With values.
        told: Rank correlations as texts: :data:`ALL`, :data:`WITHIN`, and those within a data set by its name.
    """
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(8, 5), layout="constrained")
    axes = drawn.add_subplot()
    data = list(dict.fromkeys(point.data for point in points))
    for k, name in enumerate(data):
        color, marker = style(k)
        axes.plot(
            [], [], marker, color=color, markersize=7, label=f"{name}\nSpearman {told[name]}" if name in told else name
        )
        for point in points:
            if point.data == name:
                _draw(axes, point, color, marker)
                if len(points) <= NAMED:
                    _name(axes, point, points)
    if not all(point.is_above for point in points):
        axes.plot([], [], "o", color="0.4", markersize=7, markerfacecolor="white", label="not above majority")
    axes.plot([], [], "|", color="0.4", markersize=9, label="bars: 95 % intervals")
    axes.axvline(0, color="0.6", linewidth=1, zorder=0, label="line: the majority share")
    axes.set_xlabel("score of the other parts alone - majority share, points", fontsize=11)
    axes.set_ylabel("attentiveness to the part, %", fontsize=11)
    axes.set_ylim(-4, 104)
    axes.margins(x=0.12)
    axes.tick_params(labelsize=10)
    axes.grid(alpha=0.25)
    drawn.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=9, frameon=False)
    text = "\n".join(f"Spearman {name}: {told[name]}" for name in (ALL, WITHIN) if name in told)
    axes.set_title(text, fontsize=10, loc="left", color="0.25", parse_math=False)
    return drawn


def _draw(axes: "Axes", point: Point, color: str, marker: str) -> None:
    x = 100 * point.gain.value
    y = 100 * point.attentiveness.value
    face, order = (color, 2) if point.is_above else ("white", 3)
    axes.errorbar(
        x,
        y,
        xerr=bars(point.gain),
        yerr=bars(point.attentiveness),
        fmt=marker,
        color=color,
        markersize=6,
        capsize=2,
        linewidth=1.1,
        markerfacecolor=face,
        markeredgewidth=1.4,
        zorder=order,
    )


def _name(axes: "Axes", point: Point, points: Sequence[Point]) -> None:
    """The name of the model beside its point: below it where another one stands close above, or as high and before."""
    x = 100 * point.gain.value
    y = 100 * point.attentiveness.value
    place = points.index(point)
    above = [(100 * other.attentiveness.value - y, k < place) for k, other in enumerate(points) if k != place]
    is_below = any(0 < distance < CLOSE or (distance == 0 and is_before) for distance, is_before in above)
    up = -12 if y >= 90 or is_below else 6
    axes.annotate(point.model, (x, y), (7, up), textcoords="offset points", fontsize=8, color="0.3", parse_math=False)
