"""The registry of figures, for the command ``heedful figure``, pages, TensorBoard and notebooks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.records import Measurement
from heedful.reports.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY, RED = "0.45", "#C1121F"  # context, and errors
# Okabe and Ito (2008) with Tol's wine for their yellow: distinct without colour vision; the first three are distinct in
# grey as well, the others by their markers
COLORS = ("#0072B2", "#E69F00", "#000000", "#CC79A7", "#D55E00", "#56B4E9", "#009E73", "#882255")
MARKERS = "o^sDv<>hPX"


class Drawn(NamedTuple):
    """One figure."""

    name: str  # name among the figures of a kind, such as an operation on tables
    title: str  # text for readers who cannot see the figure
    figure: "Figure"  # the figure
    notes: Sequence[str] = ()  # sentences that are printed with it


Draw = Callable[[Sequence[Run]], Iterator[Drawn]]


class Kind(NamedTuple):
    """A kind of figure."""

    draw: Draw  # yields figures of runs; nothing for runs without such numbers
    about: str  # description in a few words
    evaluation: str  # the evaluation whose section on a page has the figures of one run, or ""


FIGURES: dict[str, Kind] = {}


def figure(name: str, about: str, evaluation: str = "") -> Callable[[Draw], Draw]:
    """Register a function that draws figures of runs."""

    def register(draw: Draw) -> Draw:
        FIGURES[name] = Kind(draw, about, evaluation)
        return draw

    return register


def style(k: int) -> tuple[str, str]:
    """The colour and the marker of the k-th series of a figure."""
    return COLORS[k % len(COLORS)], MARKERS[k % len(MARKERS)]


def bars(m: Measurement | Mapping[str, Any]) -> list[list[float]]:
    """Lengths of the error bars of an interval below and above its value, in percent; 0 without an interval."""
    entry = m if isinstance(m, Mapping) else vars(m)
    low, high = entry["ci95"] or (entry["value"], entry["value"])
    return [[max(0.0, 100 * (entry["value"] - low))], [max(0.0, 100 * (high - entry["value"]))]]
