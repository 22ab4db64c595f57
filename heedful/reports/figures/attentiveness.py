"""The figure "attentiveness": attentiveness of runs to each input part, with 95 % intervals."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from heedful.metrics.statistics.draws import is_known
from heedful.records import MetricName, printable
from heedful.reports.figures.registry import GREY, Drawn, bars, figure, panels, style
from heedful.reports.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Entries = Mapping[str, Mapping[str, Any]]  # entries of results.json with a value, by part


def bars_of(parts: Entries, alone: Entries = MappingProxyType({}), majority: float | None = None) -> "Figure":
    """Draw attentiveness by part as points with error bars; hollow points are the accuracy of the model that reads only
    the other parts, a dashed line is the score of the best constant answer (None for no line).
    """
    width = 5 + 0.09 * max(map(len, parts), default=0)  # inches: the axes keep about 4 beside the longest label
    height = 0.8 + 0.4 * (len(parts) + len(alone)) + 0.5 * bool(alone)
    canvas, (axes,) = panels(1, (width, height))
    for series, entries in enumerate((parts, alone)):  # filled, hollow
        color, marker = style(series)
        for part, m in entries.items():
            y = list(parts).index(part) + bool(alone) * (0.15 if series else -0.15)
            look = {"fmt": marker, "color": color, "markerfacecolor": ("white" if series else color), "capsize": 3}
            axes.errorbar(100 * m["value"], y, xerr=bars(m), **look)
    if majority is not None:
        axes.axvline(100 * majority, color=GREY, linewidth=1, linestyle="--")
    axes.set_yticks(range(len(parts)), [printable(part) for part in parts], parse_math=False)
    axes.set(xlim=(-2, 102), ylim=(len(parts) - 0.5, -0.5))
    more = "\nhollow: accuracy on the other parts alone" if alone else ""
    more += "\ndashed: one constant answer" if majority is not None else ""
    axes.set_xlabel(f"attentiveness, % (bars: 95 % intervals){more}")
    axes.grid(axis="x", alpha=0.25)
    axes.spines[["top", "right"]].set_color(GREY)
    return canvas


@figure("attentiveness", "attentiveness to each part, with 95 % intervals", "attentiveness")
def draw(runs: Sequence[Run]) -> Iterator[Drawn]:
    """Yield one figure with the attentiveness of all runs, if there are several, and one figure for each run."""
    has_several_data = len({run.data for run in runs}) > 1
    together = {
        f"{part}: {run.label}{f', {run.data}' if has_several_data else ''}": m
        for part in dict.fromkeys(part for run in runs for part in run.attentiveness())
        for run in runs
        if is_known(m := run.attentiveness().get(part))
    }
    if len(runs) > 1 and together:
        yield Drawn("together", f"attentiveness of {len(runs)} runs, with 95 % intervals", bars_of(together))
    for run in runs:
        parts = {part: m for part, m in run.attentiveness().items() if is_known(m)}
        names = {part: MetricName("naive_partial", run.data, run.other_parts(part) or "", "accuracy") for part in parts}
        alone = {part: m for part, name in names.items() if is_known(m := run.numbers.get(name))}
        if parts:
            title = f"attentiveness to {' and '.join(parts)}, with 95 % intervals"
            title += "; hollow: accuracy of this model on the other parts alone" if alone else ""
            majority = run.majority["value"] if run.majority and alone else None
            yield Drawn(run.label, title, bars_of(parts, alone, majority))
