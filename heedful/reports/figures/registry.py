"""The registry of figures, and the colours, markers and error bars that all figures share."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.records import Measurement
from heedful.reports.runs import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GREY, RED = "0.45", "#C1121F"  # for reference lines, and for errors of a model
# Okabe and Ito (2008), with the wine of Tol in place of yellow: distinct for colour-blind readers. In grey the first
# three are distinct; markers distinguish the others
COLORS = ("#0072B2", "#E69F00", "#000000", "#CC79A7", "#D55E00", "#56B4E9", "#009E73", "#882255")
MARKERS = "o^sDv<>hPX"


class Drawn(NamedTuple):
    """A figure that is ready to be saved, with its name, its title and its notes."""

    name: str  # name among the figures of the same kind, such as an operation on tables
    title: str  # text for readers who cannot see the figure
    figure: "Figure"  # the figure
    notes: Sequence[str] = ()  # lines that are printed with the figure


Draw = Callable[[Sequence[Run]], Iterator[Drawn]]  # draws the figures of runs; none for runs without such numbers


class Kind(NamedTuple):
    """An entry of the registry: a kind of figure, such as "attentiveness", with the function that draws it."""

    draw: Draw  # draws the figures
    about: str  # description in a few words
    evaluation: str  # the evaluation in whose section a page shows the figures; "" for none


FIGURES: dict[str, Kind] = {}


def figure(name: str, about: str, evaluation: str = "") -> Callable[[Draw], Draw]:
    """Return a decorator that registers a drawing function in :data:`FIGURES`, as a :class:`Kind`."""

    def register(draw: Draw) -> Draw:
        FIGURES[name] = Kind(draw, about, evaluation)
        return draw

    return register


def panels(n: int, size: tuple[float, float], across: int = 1, **shared: bool) -> tuple["Figure", list["Axes"]]:
    """Create a figure of ``size`` in inches with ``n`` axes, ``across`` per row; ``shared`` is sharex and sharey."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=size, layout="constrained")
    grid = canvas.subplots(-(-n // across), across, squeeze=False, **shared).flat
    for axes in grid[n:]:
        axes.set_visible(False)
    return canvas, list(grid[:n])


def style(k: int) -> tuple[str, str]:
    """Return the colour and the marker of the series with index ``k`` in a figure."""
    return COLORS[k % len(COLORS)], MARKERS[k % len(MARKERS)]


def bars(m: Measurement | Mapping[str, Any]) -> list[list[float]]:
    """Return the error bar of a measurement for matplotlib: the distances to its bounds in percent, 0 without them."""
    entry = m if isinstance(m, Mapping) else vars(m)
    low, high = entry["ci95"] or (entry["value"], entry["value"])
    return [[max(0.0, 100 * (entry["value"] - low))], [max(0.0, 100 * (high - entry["value"]))]]
