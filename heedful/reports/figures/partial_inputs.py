"""The figure "partial": attentiveness against the score of a partial-input model (CAT, section 5.2 and figure 2).

A full-input model is trained on all parts. Its partial-input model is the same model, trained only on the parts that
are not swapped (--partial). Rank correlations, over all data sets and within data sets, use the full-input models whose
accuracy is above the majority share.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.records import Measurement, RunError
from heedful.reports.alike import EXAMPLES, MODEL, notes, require_alike
from heedful.reports.figures.registry import Drawn, bars, figure, panels, style
from heedful.reports.runs import Run, columns, is_above_majority, unlabelled_notes
from heedful.reports.tables import number, too_few

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED = 8  # points; figures with more points do not name them
ALL, WITHIN = "over all", "within data sets"  # names of rank correlations


class Point(NamedTuple):
    """A point of the scatter plot: the measurements of a full-input model on one data set, for one swapped part."""

    data: str  # name of the data set and of the swapped part
    model: str  # name of the model
    gain: Measurement  # score of the model trained on the other parts, minus the majority share
    attentiveness: Measurement  # attentiveness to the swapped part
    is_above: bool  # whether the accuracy of the full-input model is above the majority share


def spearman(points: Sequence[Point], within: bool = False) -> float | None:
    """Return Spearman's rank correlation of gain and attentiveness; None for fewer than three points or equal values.
    ``within`` ranks and centres points within data sets, and leaves out data sets with one point.

    Example:
        >>> spearman([Point("d", "m", Measurement(x, 1), Measurement(-x, 1), True) for x in (0.1, 0.2, 0.4)])
        -1.0
    """
    import pandas

    values = [(p.data if within else "", p.gain.value, p.attentiveness.value) for p in points]
    frame = pandas.DataFrame(values, columns=["data", "gain", "attentiveness"])
    frame = frame[frame.duplicated("data", keep=False)]
    ranks = frame.groupby("data").rank()
    ranks -= ranks.groupby(frame["data"]).transform("mean")
    rho = float(ranks.corr(min_periods=3).loc["gain", "attentiveness"])
    return None if isnan(rho) else rho


def partial_of(run: Run, part: str, runs: Sequence[Run]) -> Run | None:
    """Find, among ``runs``, a run of the same model on the same data that was trained on all parts except ``part``,
    preferably with the same seed; None if there is none.
    """
    parts = set((run.other_parts(part) or "").split("+"))
    key = (run.data, run.split, run.model, run.kind)
    models = [r for r in runs if r.partial and (r.data, r.split, r.model, r.kind) == key and r.score is not None]
    models = [r for r in models if set(r.partial.split("+")) == parts]
    return min(models, key=lambda r: (r.seed != run.seed, r.seed), default=None)


def points_of(runs: Sequence[Run]) -> tuple[list[Point], list[str]]:
    """Return the points of the scatter plot, one per run and swapped part, and the reason for each missing point."""
    points: list[Point] = []
    reasons: list[str] = []
    names = columns(runs)
    for run in runs:
        for part, m in run.attentiveness().items():
            alone = partial_of(run, part, runs)
            if reasons_of_part := _reasons(run, part, m, alone):
                reasons += reasons_of_part
                continue
            gain, attentiveness = _subtract(alone.score, alone.majority["value"]), _subtract(m, 0.0)
            data = f"{names[run.data, run.split]}: {part}"
            points.append(Point(data, run.label, gain, attentiveness, is_above_majority(m)))
    return points, reasons


def _subtract(m: Mapping[str, Any], share: float) -> Measurement:
    ci95 = tuple(bound - share for bound in m["ci95"]) if m["ci95"] else None
    return Measurement(m["value"] - share, m["n"], ci95=ci95)


def _reasons(run: Run, part: str, m: Mapping[str, Any], alone: Run | None) -> Sequence[str]:
    """Return why a run has no point for a swapped part; empty if it has one."""
    if m["value"] is None:
        return [f"{run.folder}: attentiveness to {part} is undefined: {m['reason']}."]
    if few := too_few(m["n"], m["flags"]):
        return [f"{run.folder}: attentiveness to {part} rests on too few examples, {few}."]
    if run.unlabelled:
        return unlabelled_notes([run])
    if alone is None:
        names = run.other_parts(part)
        training = f"trained with --partial {names}" if names else "of the other parts alone"
        return [f"{run.folder}: no run of {run.model} on {run.data} {training}, with the same split."]
    if alone.score["value"] is None or alone.majority is None:
        return [f"{alone.folder}: its score is undefined."]
    return notes([run, alone], (EXAMPLES,))


def correlations(points: Sequence[Point]) -> dict[str, str]:
    """Return Spearman's rank correlations as texts such as "+0.80 (n=5)", over the points whose accuracy is above the
    majority share: all of them and, with several data sets, within data sets and over each that has three points.
    """
    points = [point for point in points if point.is_above]
    by_data = {data: [p for p in points if p.data == data] for data in dict.fromkeys(p.data for p in points)}
    rhos = {ALL: (spearman(points), len(points))}
    if len(by_data) > 1:
        rhos[WITHIN] = spearman(points, within=True), len(points)
        rhos |= {data: (spearman(several), len(several)) for data, several in by_data.items() if len(several) > 2}
    return {name: f"{'undefined' if rho is None else format(rho, '+.2f')} (n={n})" for name, (rho, n) in rhos.items()}


@figure("partial", "attentiveness and one part alone (CAT, figure 2)")
def draw(runs: Sequence[Run]) -> Iterator[Drawn]:
    """Yield one scatter plot with rank correlations; raises RunError for two runs of one model, or without points."""
    require_alike(runs, (MODEL,), ())
    points, reasons = points_of(runs)
    if not points:
        first = reasons[0] if reasons else "No run holds attentiveness."
        raise RunError(first + (f" {len(reasons) - 1:,} more numbers cannot be drawn either." if reasons[1:] else ""))
    texts = correlations(points)
    rows = [
        f"{p.data}, {p.model}: others alone - majority {number(p.gain, '+', ci95=True)}, attentiveness "
        f"{number(p.attentiveness, ci95=True)}{'' if p.is_above else ' (not above majority)'}"
        for p in points
    ]
    lines = [*rows, *(f"Spearman {name}: {text}" for name, text in texts.items()), *reasons]
    yield Drawn("partial", "attentiveness against the score of the other parts alone", scatter(points, texts), lines)


def scatter(points: Sequence[Point], texts: Mapping[str, str]) -> "Figure":
    """Draw attentiveness to a part (y) against the score of the other parts alone, minus the majority share (x), with
    95 % intervals; hollow if the accuracy is not above the majority share. :func:`correlations` returns ``texts``.
    """
    canvas, (axes,) = panels(1, (8, 5))
    for k, name in enumerate(dict.fromkeys(point.data for point in points)):
        color, marker = style(k)
        label = f"{name}\nSpearman {texts[name]}" if name in texts else name
        axes.plot([], [], marker, color=color, markersize=7, label=label)
        for point in (point for point in points if point.data == name):
            face, order = (color, 2) if point.is_above else ("white", 3)
            look = {"fmt": marker, "color": color, "markerfacecolor": face, "zorder": order, "capsize": 2}
            x, y = 100 * point.gain.value, 100 * point.attentiveness.value
            axes.errorbar(x, y, xerr=bars(point.gain), yerr=bars(point.attentiveness), **look)
            if len(points) <= NAMED:
                is_below = sorted(points, key=lambda p: p.attentiveness.value).index(point) % 2 == 0  # names take turns
                model = point.model if len(point.model) <= 40 else f"...{point.model[-37:]}"  # a path: its end
                place = {"textcoords": "offset points", "fontsize": 8, "color": "0.3", "parse_math": False}
                axes.annotate(model, (x, y), (7, -12 if is_below else 6), **place)
    if not all(point.is_above for point in points):
        axes.plot([], [], "o", color="0.4", markerfacecolor="white", label="not above majority")
    axes.plot([], [], "|", color="0.4", label="bars: 95 % intervals")
    axes.axvline(0, color="0.6", linewidth=1, zorder=0, label="line: the majority share")
    axes.set(xlabel="score of the other parts alone - majority share, points", ylabel="attentiveness to the part, %")
    axes.set(ylim=(-4, 104), xmargin=0.12)
    axes.grid(alpha=0.25)
    canvas.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=9, frameon=False)
    title = "\n".join(f"Spearman {name}: {texts[name]}" for name in (ALL, WITHIN) if name in texts)
    axes.set_title(title, fontsize=10, loc="left", color="0.25", parse_math=False)
    return canvas
