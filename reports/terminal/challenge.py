"""What the report shows of challenge examples: accuracy on originals, where labels are preserved, where they flip."""

from collections.abc import Iterable

CHALLENGE, CELLS = "challenge", "cells"
WHAT = ("hypotheses", "titles")
WAYS = ("original", "preserved", "flipped")


def row_label(name: str, several: bool = False) -> str | None:
    """How a metric of challenge examples is called in the report.

    Args:
        name: Name of a metric.
        several: Whether runs stand side by side, with the numbers over all kinds of changes only.

    Returns:
        "" for one that is left out; None for metrics of other kinds.

    Example:
        >>> row_label("challenge/infotabs/titles/preserved"), row_label("accuracy/infotabs")
        ('titles: preserved', None)
        >>> row_label("challenge/infotabs/hypotheses/kind=nominal_modifiers/flipped")
        '  nominal modifiers'
        >>> row_label("challenge/counterfactuals-alpha1/flipped/cells/right_wrong_right")
        '  right, wrong; alone: right'
    """
    if not name.startswith(f"{CHALLENGE}/"):
        return None
    *_, parent, cell = name.split("/")
    if parent == CELLS:  # table 8: original, changed; the hypothesis alone
        original, changed, alone = cell.split("_")
        return "" if several else f"  {original}, {changed}; alone: {alone}"
    what, slices, way = _places(name)
    if way not in WAYS or (slices and (several or (way == "original" and slices.startswith("kind=")))):
        return ""
    return f"  {slices.partition('=')[2].replace('_', ' ')}" if slices else f"{what}: {way}"


def in_order(names: Iterable[str]) -> list[str]:
    """Names of metrics, those of challenge examples last and in the order of reading."""

    def key(name: str) -> tuple[int, int, str, int, str]:
        if not row_label(name):
            return 0, 0, "", 0, ""
        total, _, cell = name.partition(f"/{CELLS}/")
        what, slices, way = _places(total)
        return 1, WHAT.index(what) if what in WHAT else len(WHAT), what, WAYS.index(way), slices or cell

    return sorted(names, key=key)


def _places(name: str) -> tuple[str, str, str]:
    """What was changed, what the metric is broken down by ("" for nothing), and where it is measured, or ""."""
    _, data, *what, way = name.split("/")
    slices = [place for place in what if "=" in place]
    what = [place for place in what if "=" not in place]
    return what[0] if what else data, "".join(slices), way if len(what) < 2 else ""
