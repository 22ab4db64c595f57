"""The registry of figures: the command, the page of a run and notebooks draw what is registered here."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from heedful.reports.runs import Measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Drawn(NamedTuple):
    """One figure.

    Attributes:
        name: Name among the figures of a kind, such as an operation on tables.
        title: What it shows, for who cannot see it.
        figure: The figure.
        notes: What is printed with it, a sentence each.
    """

    name: str
    title: str
    figure: "Figure"
    notes: Sequence[str] = ()


Draw = Callable[[Sequence[Measured]], Iterator[Drawn]]


class Kind(NamedTuple):
    """A kind of figure.

    Attributes:
        draw: Yields figures of runs; nothing where the runs have no such numbers.
        about: What it shows, in a few words.
        evaluation: The evaluation in whose section the page shows figures of one run; "" for none.
    """

    draw: Draw
    about: str
    evaluation: str


FIGURES: dict[str, Kind] = {}


def figure(name: str, about: str, evaluation: str = "") -> Callable[[Draw], Draw]:
    """Register a function that draws figures of runs."""

    def register(draw: Draw) -> Draw:
        FIGURES[name] = Kind(draw, about, evaluation)
        return draw

    return register
