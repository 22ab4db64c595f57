"""The figure "causal_effects": total causal effects (TCE) against direct causal effects (DCE).

TCE is the share of predictions that change when an edit of the input changes the gold label; DCE is this share for
edits that keep the gold label. Source: "Estimating the Causal Effects of Natural Logic Features in Transformer-Based
NLI Models", figures 3 and 4.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from heedful.metrics.natural_logic.causal_effects import NATURAL_LOGIC
from heedful.records import MetricName
from heedful.reports.figures.registry import Drawn, bars, figure, panels, style
from heedful.reports.runs import Run

PANELS = {"context": "changed contexts", "insertion": "changed word pairs"}
UNDEFINED: Mapping[str, Any] = {"value": float("nan"), "ci95": None}
Point = tuple[Mapping[str, Any], Mapping[str, Any]]  # DCE and TCE: entries of results.json


def points(run: Run) -> dict[str, dict[str, Point]]:
    """Return the defined (DCE, TCE) of a run, by data set and by kind of edit ("context" and "insertion")."""
    by_data: dict[str, dict[str, Point]] = {}
    for data in dict.fromkeys(name.data for name in run.numbers if name.family == NATURAL_LOGIC):
        for kind in PANELS:
            dce, tce = (run.numbers.get(MetricName(NATURAL_LOGIC, data, kind, effect)) for effect in ("dce", "tce"))
            if dce and tce and dce["value"] is not None and tce["value"] is not None:
                by_data.setdefault(data, {})[kind] = dce, tce
    return by_data


@figure("causal_effects", "total and direct causal effects, with 95 % intervals", NATURAL_LOGIC)
def draw(runs: Sequence[Run]) -> Iterator[Drawn]:
    """Yield one figure for all runs that have these numbers: a panel per kind of edit, with a point per run."""
    labelled = {}
    for run in runs:
        effects_of = points(run)
        labelled |= {f"{run.label} ({data})" if len(effects_of) > 1 else run.label: p for data, p in effects_of.items()}
    if not labelled:
        return
    canvas, columns = panels(len(PANELS), (9.5, 5 + 0.22 * ((len(labelled) + 2) // 3)), len(PANELS))
    for axes, (kind, title) in zip(columns, PANELS.items(), strict=True):
        diagonal = {"ha": "right", "va": "top", "rotation": 45, "rotation_mode": "anchor", "fontsize": 9}
        axes.plot([0, 100], [0, 100], color="0.55", linewidth=1, linestyle="--", zorder=1)
        axes.text(97, 93, "TCE = DCE", color="0.4", **diagonal)
        axes.set(xlim=(-2, 102), ylim=(-2, 102), aspect="equal", title=title)
        axes.set(xlabel="DCE: changes though the label stays, %", ylabel="TCE: changes where the label does, %")
        # A title is outside of the axes, where no marker can be
        axes.set_title("\N{NORTH WEST ARROW} better", loc="left", color="0.4", fontsize=10)
        axes.grid(alpha=0.25)
        for i, (name, by_kind) in enumerate(labelled.items()):
            color, marker = style(i)
            dce, tce = by_kind.get(kind, (UNDEFINED, UNDEFINED))  # the legend lists undefined points as well
            x, y = [100 * dce["value"]], [100 * tce["value"]]
            axes.errorbar(x, y, xerr=bars(dce), yerr=bars(tce), fmt="none", ecolor=color, elinewidth=1.3, zorder=2)
            axes.scatter(x, y, s=75, color=color, marker=marker, edgecolor="white", alpha=0.9, label=name, zorder=3)
    places = {"loc": "outside lower center", "ncols": min(3, len(labelled)), "frameon": False}
    canvas.legend(*axes.get_legend_handles_labels(), title="a point: a run; bars: 95 % intervals", **places)
    title = "total against direct causal effects, with 95 % intervals; up and left is better"
    yield Drawn(NATURAL_LOGIC, title, canvas)
