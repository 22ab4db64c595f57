"""TCE against DCE, as in figures 3 and 4: ``heedful figure causal_effects RUN [RUN ...]``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from heedful.metrics.natural_logic.causal_effects import NATURAL_LOGIC
from heedful.records import MetricName, RunError
from heedful.records.command_lines import CommandParser
from heedful.records.storage.results import distinct, named, read_results
from heedful.reports.figures.canvas import bars, style
from heedful.reports.figures.files import require_format, write
from heedful.reports.runs import short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = {"context": "changed contexts", "insertion": "changed word pairs"}
Point = tuple[Mapping[str, Any], Mapping[str, Any]]  # DCE and TCE, as they stand in results.json


def points(results: Mapping[str, Any]) -> dict[str, dict[str, Point]]:
    """For each data set of a results.json, and each kind of change, the DCE and the TCE; without undefined ones."""
    numbers = named(results)
    found = {}
    for data in dict.fromkeys(name.data for name in numbers if name.family == NATURAL_LOGIC):
        pairs = {
            kind: tuple(numbers.get(MetricName(NATURAL_LOGIC, data, kind, e)) for e in ("dce", "tce"))
            for kind in PANELS
        }
        found[data] = {kind: pair for kind, pair in pairs.items() if all(m and m["value"] is not None for m in pair)}
    return found


def collect(folders: Sequence[str]) -> dict[str, dict[str, Point]]:
    """Short name of each run, with its data set where one run has several, to its points.

    Raises:
        HeedfulError: A folder has no results, or no causal effects are among them.
    """
    found: dict[str, dict[str, Point]] = {}
    for folder, name in zip(folders, short_names(folders), strict=True):
        results = read_results(folder)
        of_run = points(results)
        if not any(of_run.values()):
            family = f"{NATURAL_LOGIC}/"
            reasons = [m["reason"] for name, m in results["metrics"].items() if name.startswith(family) and m["reason"]]
            why = f": {reasons[0]}" if reasons else ""
            raise RunError(
                f"{folder}/results.json holds no causal effects{why}. Evaluate again, with that evaluation among "
                "evaluations."
            )
        for data, by_kind in of_run.items():
            found[f"{name} ({data})" if len(of_run) > 1 else name] = by_kind
    return found


def _frame(axes: "Axes", title: str) -> None:
    """Axes from 0 to 100 %, the line of no difference, and where it is better."""
    axes.plot([0, 100], [0, 100], color="0.55", linewidth=1, linestyle="--", zorder=1)
    axes.text(97, 93, "TCE = DCE", color="0.4", ha="right", va="top", rotation=45, rotation_mode="anchor", fontsize=9)
    axes.set(xlim=(-2, 102), ylim=(-2, 102), aspect="equal")
    axes.set_title(title)
    axes.set_title("\N{NORTH WEST ARROW} better", loc="left", color="0.4", fontsize=10)  # where no marker can be
    axes.set_xlabel("DCE: changes though the label stays, %")
    axes.set_ylabel("TCE: changes where the label does, %")
    axes.grid(alpha=0.25)


def figure(runs: Mapping[str, Mapping[str, Point]]) -> "Figure":
    """DCE and TCE with 95 % intervals, a panel for each kind of change and a marker for each run."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(9.5, 5 + 0.22 * ((len(runs) + 2) // 3)), layout="constrained")
    for axes, (kind, title) in zip(drawn.subplots(1, len(PANELS)), PANELS.items(), strict=True):
        _frame(axes, title)
        for i, (name, by_kind) in enumerate(runs.items()):
            color, marker = style(i)
            nothing = {"value": float("nan"), "ci95": None}
            dce, tce = by_kind.get(kind, (nothing, nothing))  # in the legend all the same
            x = [100 * dce["value"]]
            y = [100 * tce["value"]]
            axes.errorbar(x, y, xerr=bars(dce), yerr=bars(tce), fmt="none", ecolor=color, elinewidth=1.3, zorder=2)
            axes.scatter(x, y, s=75, color=color, marker=marker, edgecolor="white", alpha=0.9, label=name, zorder=3)
    places = {"loc": "outside lower center", "ncols": min(3, len(runs)), "frameon": False}
    drawn.legend(*axes.get_legend_handles_labels(), title="a point: a run; bars: 95 % intervals", **places)
    return drawn


def main(arguments: list[str]) -> None:
    """Draw the causal effects of runs into a file."""
    about = "The total causal effect (TCE) of runs against the direct one (DCE), with 95 % intervals."
    parser = CommandParser(
        "figure causal_effects", about, [("RUN RUN --output effects.pdf", "two models in one figure")]
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="folder with a results.json")
    parser.add_argument("--output", default="causal_effects.png", metavar="FILE.png", help="default: %(default)s")
    chosen = parser.parse_args(arguments)
    require_format(chosen.output)
    runs = distinct(chosen.runs)
    drawn = figure(collect(runs))
    write(drawn, chosen.output, runs)
