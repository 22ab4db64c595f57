"""The figure "epochs": headlines (the main numbers of evaluations) over the epochs of a training."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from heedful.records.storage.results import Points, read_epochs
from heedful.reports.figures.registry import Drawn, bars, figure, panels, style
from heedful.reports.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def history_figure(history: Points, title: str) -> "Figure":
    """Draw curves over epochs with 95 % intervals; the figure can be read as a thumbnail. ``history`` has pairs of an
    epoch and its measurements by curve. Undefined values, and curves without a value, are left out.
    """
    from matplotlib.ticker import MaxNLocator

    names = list(dict.fromkeys(name for _, curves in history for name in curves))
    canvas, (axes,) = panels(1, (5, 3.6 + 0.26 * min(3, len(names))))
    for i, name in enumerate(names):
        color, marker = style(i)
        shift = 0.06 * (i - (len(names) - 1) / 2)  # error bars of an epoch are next to each other
        points = [(epoch + shift, m) for epoch, curves in history if (m := curves.get(name)) and m.value is not None]
        if not points:
            continue
        xs, ys = [x for x, _ in points], [100 * m.value for _, m in points]
        reach = np.hstack([bars(m) for _, m in points])
        axes.errorbar(xs, ys, yerr=reach, label=name, color=color, marker=marker, capsize=4, linewidth=2.5)
    axes.set(ylim=(-4, 104), xlabel="epoch", ylabel="%, bars: 95 % intervals")
    axes.set_xlim(history[0][0] - 0.4, history[-1][0] + 0.4)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_title(title, fontsize=13)
    axes.tick_params(labelsize=12)
    axes.grid(axis="y", alpha=0.3)
    canvas.legend(loc="outside lower center", fontsize=12, ncols=1 if len(names) < 4 else 2, frameon=False)
    return canvas


def is_drawn(history: Points) -> bool:
    """Whether a curve has a value."""
    return any(m.value is not None for _, curves in history for m in curves.values())


@figure("epochs", "headlines over the epochs of a training")
def draw(runs: Sequence[Run]) -> Iterator[Drawn]:
    """Yield a figure for each run and each chart (set of curves) in its file epochs.json."""
    for run in runs:
        for name, points in read_epochs(Path(run.folder)).items():
            if is_drawn(points):
                yield Drawn(name, "over epochs, on the examples watched during training", history_figure(points, ""))
