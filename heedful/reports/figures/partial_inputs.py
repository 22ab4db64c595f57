"""Attentiveness against what a model of the partial input can do (CAT, §5.2 and figure 2).

A model of all parts is matched with the run of the same model that was trained on the parts that are not swapped
(--partial). Rank correlations are of the models whose accuracy is above the majority share: over all of them, and
within data sets, since clusters of data sets can make the former by themselves.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heedful.records import Context, Measurement, RunError
from heedful.reports.alike import EXAMPLES, MODEL, require_alike
from heedful.reports.alike import notes as alike_notes
from heedful.reports.figures.canvas import bars, style
from heedful.reports.figures.registry import Drawn, figure
from heedful.reports.runs import Measured, columns, is_above_majority, unlabelled_notes
from heedful.reports.tables import number, too_few

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


def other_parts(run: Measured, part: str) -> str | None:
    """The parts of the data that stay when a part is swapped, joined by "+"; None where there are no rows."""
    if "attentiveness" not in run.rows:
        return None
    parts = Context.of(run.rows["attentiveness"][1]["context"]).parts
    return "+".join(name for name in parts if name not in part.split("+"))


def partial_of(run: Measured, part: str, runs: Sequence[Measured]) -> Measured | None:
    """The run that was trained on the other parts alone: of the same model and data, with the same seed if there is."""
    others = other_parts(run, part)
    same = (run.data, run.split, run.model)
    fitting = [r for r in runs if r.partial and (r.data, r.split, r.model) == same and r.score is not None]
    fitting = [r for r in fitting if r.kind == run.kind]
    fitting = [r for r in fitting if set(r.partial.split("+")) == set((others or "").split("+"))]
    return min(fitting, key=lambda r: (r.seed != run.seed, r.seed), default=None)


def less(score: Mapping[str, Any], majority: float) -> Measurement:
    """A score less the majority share, which is known exactly for the examples that were evaluated."""
    ci95 = tuple(bound - majority for bound in score["ci95"]) if score["ci95"] else None
    return Measurement(score["value"] - majority, score["n"], ci95=ci95)


def points_of(runs: Sequence[Measured]) -> tuple[list[Point], list[str]]:
    """A point for each model of all parts and each part that was swapped; and why others have none, a sentence each."""
    points = []
    without = []
    names = columns(runs)
    for run in runs:
        for part, m in run.attentiveness().items():
            alone = partial_of(run, part, runs)
            if m["value"] is None:
                without.append(f"{run.folder}: attentiveness to {part} is undefined: {m['reason']}.")
            elif few := too_few(m["n"], m["flags"]):
                without.append(f"{run.folder}: attentiveness to {part} rests on too few examples, {few}.")
            elif run.unlabelled:
                without += unlabelled_notes([run])
            elif alone is None:
                others = other_parts(run, part)
                wanted = f"trained with --partial {others}" if others else "of the other parts alone"
                without.append(f"{run.folder}: no run of {run.model} on {run.data} {wanted}, with the same split.")
            elif apart := alike_notes([run, alone], (EXAMPLES,)):
                without += apart
            elif alone.score["value"] is None or alone.majority is None:
                without.append(f"{alone.folder}: its score is undefined.")
            else:
                gain = less(alone.score, alone.majority["value"])
                ci95 = tuple(m["ci95"]) if m["ci95"] else None
                attention = Measurement(m["value"], m["n"], ci95=ci95)
                data = f"{names[run.data, run.split]}: {part}"
                points.append(Point(data, run.label, gain, attention, is_above_majority(m)))
    return points, without


def correlations(points: Sequence[Point]) -> dict[str, str]:
    """Spearman's rho of the models above the majority share: over all, within data sets, and in each."""
    above = [point for point in points if point.is_above]
    of_data = {data: [p for p in above if p.data == data] for data in dict.fromkeys(p.data for p in above)}
    rhos = {ALL: (spearman(above), len(above))}
    if len(of_data) > 1:
        rhos[WITHIN] = spearman_within(above), len(above)
        rhos |= {data: (spearman(some), len(some)) for data, some in of_data.items() if len(some) > 2}
    return {name: f"{'undefined' if rho is None else format(rho, '+.2f')} (n={n})" for name, (rho, n) in rhos.items()}


@figure("partial", "attentiveness and one part alone (CAT, figure 2)")
def draw(runs: Sequence[Measured]) -> Iterator[Drawn]:
    """The scatter of models of all parts, with rank correlations of those above the majority share.

    Raises:
        RunError: A model was named twice, or there is no point, and why.
    """
    require_alike(runs, (MODEL,), ())
    points, without = points_of(runs)
    if not points:
        reason, *others = without or ["No run holds attentiveness."]
        more = f" {len(others):,} more numbers cannot be drawn either." if others else ""
        raise RunError(f"{reason}{more}")
    told = correlations(points)
    rows = [
        f"{p.data}, {p.model}: others alone - majority {number(p.gain, '+', ci95=True)}, attentiveness "
        f"{number(p.attentiveness, ci95=True)}{'' if p.is_above else ' (not above majority)'}"
        for p in points
    ]
    notes = [*rows, *(f"Spearman {name}: {text}" for name, text in told.items()), *without]
    yield Drawn("partial", "attentiveness against the score of the other parts alone", scatter(points, told), notes)


def scatter(points: Sequence[Point], told: Mapping[str, str]) -> "Figure":
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
