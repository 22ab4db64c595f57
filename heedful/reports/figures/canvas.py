"""A figure on which things are placed in inches."""

from collections.abc import Mapping
from typing import Any

from heedful.records import Measurement

LINE, GAP, MARGIN = 0.17, 0.2, 0.15  # from line to line, between blocks, around all: inches
GREY, RED = "0.45", "#C1121F"  # of what is beside the point, and of what was swapped in

# Okabe and Ito (2008) with Tol's wine for their yellow: told apart without colour vision; the first three are told
# apart in grey as well, and others by the markers
COLORS = ("#0072B2", "#E69F00", "#000000", "#CC79A7", "#D55E00", "#56B4E9", "#009E73", "#882255")
MARKERS = "o^sDv<>hPX"


def style(k: int) -> tuple[str, str]:
    """The colour and the marker of the k-th thing that a figure shows."""
    return COLORS[k % len(COLORS)], MARKERS[k % len(MARKERS)]


def bars(m: Measurement | Mapping[str, Any]) -> list[list[float]]:
    """How far an interval reaches below and above its value, in percent; 0 where there is none."""
    of = m if isinstance(m, Mapping) else vars(m)
    low, high = of["ci95"] or (of["value"], of["value"])
    return [[max(0.0, 100 * (of["value"] - low))], [max(0.0, 100 * (high - of["value"]))]]


class Canvas:
    """A figure of this size in inches; places are measured from its upper left corner.

    Args:
        width: In inches.
        height: In inches.
    """

    def __init__(self, width: float, height: float) -> None:
        from matplotlib.figure import Figure

        self.width = width
        self.height = height
        self.figure = Figure(figsize=(width, height))

    def text(self, x: float, y: float, text: str, size: float = 9.5, **how: Any) -> None:
        """A line of text on the base line ``y``."""
        self.figure.text(x / self.width, 1 - y / self.height, text, fontsize=size, parse_math=False, **how)

    def line(self, y: float) -> None:
        """A line from side to side."""
        from matplotlib.lines import Line2D

        y = 1 - y / self.height
        x = MARGIN / self.width
        self.figure.add_artist(Line2D([x, 1 - x], [y, y], color="0.85", linewidth=0.8))

    def box(self, x: float, y: float, width: float, height: float, **how: Any) -> None:
        """A rectangle with its upper left corner at (x, y), without a border unless ``how`` names its colour."""
        from matplotlib.patches import Rectangle

        corner = x / self.width, 1 - (y + height) / self.height
        self.figure.add_artist(Rectangle(corner, width / self.width, height / self.height, **{"linewidth": 0} | how))
