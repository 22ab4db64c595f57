"""Figures 4 to 6 of ``heedful rank``: how often rankers order pairs of models correctly.

A ranker orders models by a number that is computed on a sample of a few examples. The ranker ACC takes the accuracy, a
factor takes a statistic of attributions (contributions of words). The pairwise accuracy of a ranker for two models is
90 % if the ranker orders the models correctly on 9 of 10 samples. Figure 4 shows all rankers; figures 5 and 6 compare
each factor with ACC. Source: "Assessing Out-of-Domain Language Model Performance from Few Examples".
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from heedful.reports.figures.registry import RED, panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 4  # panels per row
BINS = np.linspace(0, 100, 11)
Panels = Mapping[str, Mapping[str, Sequence[float]]]  # pairwise accuracies of pairs of models by ranker and data set


def histograms(pairwise: Panels, title: str) -> "Figure":
    """Draw figure 4: for each ranker, a histogram of its pairwise accuracies (from 0 to 1), stacked by data set."""
    canvas, grid, sets = _panels(pairwise, title, 1.9, "pairwise accuracy, %")
    for axes, (ranker, by_set) in zip(grid, pairwise.items(), strict=True):
        columns = [100 * np.asarray(by_set.get(name, ())) for name in sets]
        axes.hist(columns, bins=BINS, stacked=True, color=[style(k)[0] for k in range(len(sets))], label=sets)
        axes.set_title(ranker, fontsize=10, parse_math=False)
        axes.set_xlim(0, 100)
        axes.yaxis.get_major_locator().set_params(integer=True)
    canvas.supylabel("pairs of models", fontsize=10)
    return _add_legend(canvas, grid[0], len(sets))


def against(pairwise: Panels, acc: Mapping[str, Sequence[float]], title: str) -> "Figure":
    """Draw figures 5 and 6: a panel for each factor, whose points are pairs of models: y is the pairwise accuracy
    of the factor, x of ACC (from 0 to 1). ``pairwise`` and ``acc`` have the same pairs.
    """
    canvas, grid, sets = _panels(pairwise, title, 2.3, "pairwise accuracy of ACC, %")
    for axes, (factor, by_set) in zip(grid, pairwise.items(), strict=True):
        axes.plot([0, 100], [0, 100], color=RED, linewidth=1, zorder=0, label="as good as ACC; above: better")
        for k, name in enumerate(sets):
            y = 100 * np.asarray(by_set.get(name, ()))
            x = 100 * np.asarray(acc[name]) if len(y) else y
            color, marker = style(k)
            axes.plot(x, y, marker, color=color, markersize=5, alpha=0.75, label=name)
        axes.set(xlim=(-4, 104), ylim=(-4, 104), aspect="equal")
        axes.set_title(factor, fontsize=10, parse_math=False)
        axes.grid(alpha=0.25)
    canvas.supylabel("pairwise accuracy of the factor, %", fontsize=10)
    return _add_legend(canvas, grid[0], len(sets))


def _panels(pairwise: Panels, title: str, height: float, label: str) -> tuple["Figure", list["Axes"], list[str]]:
    """Create a figure with a panel for each ranker, of a height in inches; ``label`` is the label of the x axis."""
    across = min(ACROSS, len(pairwise))
    size = max(4.5, 2.3 * across), 1 + height * -(-len(pairwise) // across)
    canvas, grid = panels(len(pairwise), size, across, sharex=True, sharey=True)
    for axes in grid:
        axes.tick_params(labelsize=8, labelbottom=True, labelleft=True)
    for axes in grid[-ACROSS:]:
        axes.set_xlabel(label, fontsize=8)
    canvas.suptitle(title, fontsize=11, parse_math=False)
    return canvas, grid, list(dict.fromkeys(name for by_set in pairwise.values() for name in by_set))


def _add_legend(canvas: "Figure", axes: "Axes", sets: int) -> "Figure":
    handles, labels = axes.get_legend_handles_labels()
    title = "a point: a pair of models" if len(labels) > sets else None
    places = {"loc": "outside lower right", "ncols": min(len(labels), 4)}
    canvas.legend(handles, labels, title=title, frameon=False, fontsize=9, title_fontsize=9, **places)
    return canvas
