"""Colours, markers and error bars that figures have in common."""

from collections.abc import Mapping
from typing import Any

from heedful.records import Measurement

GREY, RED = "0.45", "#C1121F"  # of what is beside the point, and of what is wrong

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
