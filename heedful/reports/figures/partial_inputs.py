"""The figure "partial": attentiveness against the score of a partial-input model (CAT, section 5.2 and figure 2).

A full-input model is trained on all parts. Its partial-input model is the same model, trained only on the parts that
are not swapped (--partial). Rank correlations, over all data sets and within data sets, use the full-input models whose
accuracy is above the majority share.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heedful.records import Measurement, RunError
from heedful.reports.alike import EXAMPLES, MODEL, notes, require_alike
from heedful.reports.figures.registry import Drawn, bars, figure, style
from heedful.reports.runs import Run, columns, is_above_majority, unlabelled_notes
from heedful.reports.tables import number, too_few

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMED = 8  # points; figures with more points do not name them
CLOSE = 6  # percentage points of attentiveness between two points whose names would overlap
ALL, WITHIN = "over all", "within data sets"  # names of rank correlations


class Point(NamedTuple):
    """A point of the scatter plot: the measurements of a full-input model on one data set, for one swapped part."""

    data: str  # name of the data set and of the swapped part
    model: str  # name of the model
    gain: Measurement  # score of the model trained on the other parts, minus the majority share
    attentiveness: Measurement  # attentiveness to the swapped part
    is_above: bool  # whether the accuracy of the full-input model is above the majority share


def spearman(points: Sequence[Point]) -> float | None:
    """Return Spearman's rank correlation of gain and attentiveness over all points.

    Gain is a partial-input model's score minus the majority share. None for fewer than three points or constant values.

    Example:
        >>> spearman([Point("d", "m", Measurement(x, 1), Measurement(-x, 1), True) for x in (0.1, 0.2, 0.4)])
        -1.0
    """
    return _correlation([points])


def spearman_within(points: Sequence[Point]) -> float | None:
    """Return Spearman's rank correlation of gain and attentiveness (fields of :class:`Point`) within data sets.

    Ranks are computed and centred in each data set. None for fewer than three points or constant values.
    """
    return _correlation([[p for p in points if p.data == data] for data in dict.fromkeys(p.data for p in points)])


def _correlation(sets: Sequence[Sequence[Point]]) -> float | None:
    from scipy.stats import rankdata

    sets = [points for points in sets if len(points) > 1]
    if sum(map(len, sets)) < 3:
        return None
    centered = []
    for name in ("gain", "attentiveness"):
        ranks = [rankdata([getattr(p, name).value for p in points]) for points in sets]
        centered.append(np.concatenate([each - each.mean() for each in ranks]))
    x, y = centered
    norm = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / norm if norm else None


def partial_of(run: Run, part: str, runs: Sequence[Run]) -> Run | None:
    """Find, among ``runs``, the run of the same model on the same data that was trained on all parts except ``part``.

    A run with the same seed is preferred. None if there is no such run.
    """
    wanted = set((run.other_parts(part) or "").split("+"))
    key = (run.data, run.split, run.model, run.kind)
    fitting = [r for r in runs if r.partial and (r.data, r.split, r.model, r.kind) == key and r.score is not None]
    fitting = [r for r in fitting if set(r.partial.split("+")) == wanted]
    return min(fitting, key=lambda r: (r.seed != run.seed, r.seed), default=None)


def less(score: Mapping[str, Any], majority: float) -> Measurement:
    """Return a score, an entry of results.json, minus the majority share; the interval is shifted as well."""
    ci95 = tuple(bound - majority for bound in score["ci95"]) if score["ci95"] else None
    return Measurement(score["value"] - majority, score["n"], ci95=ci95)


def points_of(runs: Sequence[Run]) -> tuple[list[Point], list[str]]:
    """Return the points of the scatter plot, one per run and swapped part, and the reason for each missing point.

    A point has the attentiveness to the part, and the score of the same model trained only on the other parts.
    """
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
                names_kept = run.other_parts(part)
                wanted = f"trained with --partial {names_kept}" if names_kept else "of the other parts alone"
                without.append(f"{run.folder}: no run of {run.model} on {run.data} {wanted}, with the same split.")
            elif unequal := notes([run, alone], (EXAMPLES,)):
                without += unequal
            elif alone.score["value"] is None or alone.majority is None:
                without.append(f"{alone.folder}: its score is undefined.")
            else:
                ci95 = tuple(m["ci95"]) if m["ci95"] else None
                attentiveness = Measurement(m["value"], m["n"], ci95=ci95)
                gain = less(alone.score, alone.majority["value"])
                data = f"{names[run.data, run.split]}: {part}"
                points.append(Point(data, run.label, gain, attentiveness, is_above_majority(m)))
    return points, without


def correlations(points: Sequence[Point]) -> dict[str, str]:
    """Return Spearman's rank correlations of gain and attentiveness (:class:`Point`), as texts such as "+0.80 (n=5)".

    Points of models whose accuracy is not above the majority share are left out. The key "over all" has the correlation
    over all other points. With several data sets, the key "within data sets" has the correlation of the ranks within
    data sets, and the name of each data set with at least three points has the correlation over this data set.
    """
    points = [point for point in points if point.is_above]
    by_data = {data: [p for p in points if p.data == data] for data in dict.fromkeys(p.data for p in points)}
    rhos = {ALL: (spearman(points), len(points))}
    if len(by_data) > 1:
        rhos[WITHIN] = spearman_within(points), len(points)
        rhos |= {data: (spearman(several), len(several)) for data, several in by_data.items() if len(several) > 2}
    return {name: f"{'undefined' if rho is None else format(rho, '+.2f')} (n={n})" for name, (rho, n) in rhos.items()}


@figure("partial", "attentiveness and one part alone (CAT, figure 2)")
def draw(runs: Sequence[Run]) -> Iterator[Drawn]:
    """Yield one scatter plot with rank correlations: attentiveness (y) against the accuracy of the partial-input model
    above the majority share (x).

    Raises:
        RunError: Two runs hold the same model, or there is no point.
    """
    require_alike(runs, (MODEL,), ())
    points, without = points_of(runs)
    if not points:
        reason, *more_reasons = without or ["No run holds attentiveness."]
        more = f" {len(more_reasons):,} more numbers cannot be drawn either." if more_reasons else ""
        raise RunError(f"{reason}{more}")
    texts = correlations(points)
    rows = [
        f"{p.data}, {p.model}: others alone - majority {number(p.gain, '+', ci95=True)}, attentiveness "
        f"{number(p.attentiveness, ci95=True)}{'' if p.is_above else ' (not above majority)'}"
        for p in points
    ]
    lines = [*rows, *(f"Spearman {name}: {text}" for name, text in texts.items()), *without]
    yield Drawn("partial", "attentiveness against the score of the other parts alone", scatter(points, texts), lines)


def scatter(points: Sequence[Point], texts: Mapping[str, str]) -> "Figure":
    """Draw attentiveness to a part (y) against the score of the other parts alone, minus the majority share (x).

    A point is a full-input model on one data set, for one swapped part, with 95 % intervals in both directions. A
    hollow point is a model whose accuracy is not above the majority share.

    Args:
        points: Points of :func:`points_of`.
        texts: Rank correlations of :func:`correlations`, for the title and the legend.
    """
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(8, 5), layout="constrained")
    axes = canvas.add_subplot()
    for k, name in enumerate(dict.fromkeys(point.data for point in points)):
        color, marker = style(k)
        label = f"{name}\nSpearman {texts[name]}" if name in texts else name
        axes.plot([], [], marker, color=color, markersize=7, label=label)
        for point in (point for point in points if point.data == name):
            face, order = (color, 2) if point.is_above else ("white", 3)
            look = {"fmt": marker, "color": color, "markerfacecolor": face, "markeredgewidth": 1.4, "zorder": order}
            look |= {"markersize": 6, "capsize": 2, "linewidth": 1.1}
            x, y = 100 * point.gain.value, 100 * point.attentiveness.value
            axes.errorbar(x, y, xerr=bars(point.gain), yerr=bars(point.attentiveness), **look)
            if len(points) <= NAMED:
                _write_name(axes, point, points)
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
    canvas.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=9, frameon=False)
    title = "\n".join(f"Spearman {name}: {texts[name]}" for name in (ALL, WITHIN) if name in texts)
    axes.set_title(title, fontsize=10, loc="left", color="0.25", parse_math=False)
    return canvas


def _write_name(axes: "Axes", point: Point, points: Sequence[Point]) -> None:
    """Write the name of the model above its point, or below if names would overlap or the point is near the top."""
    x, y = 100 * point.gain.value, 100 * point.attentiveness.value
    place = points.index(point)
    distances = [(100 * p.attentiveness.value - y, k < place) for k, p in enumerate(points) if k != place]
    is_below = any(0 < distance < CLOSE or (distance == 0 and is_before) for distance, is_before in distances)
    up = -12 if y >= 90 or is_below else 6
    name = point.model if len(point.model) <= 40 else f"...{point.model[-37:]}"  # a path: its end fits the figure
    axes.annotate(name, (x, y), (7, up), textcoords="offset points", fontsize=8, color="0.3", parse_math=False)
