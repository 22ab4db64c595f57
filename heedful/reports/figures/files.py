"""Figures as files, in the format that the name of a file ends in."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.records import SettingError, atomic_path, printable
from heedful.reports.alike import side_by_side

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".pdf", ".svg")


def require_format(output: str) -> None:
    """Refuse a file name whose format cannot be written."""
    if Path(output).suffix.lower() not in FORMATS:
        raise SettingError(
            f"--output {output}: no figure is written in this format. Name a file that ends in {', '.join(FORMATS)}."
        )


def write(drawn: "Figure", output: str, runs: Sequence[str] = ()) -> None:
    """Write a figure of runs in the format that its name ends in; say where, and what a reader must know of them."""
    for note in side_by_side(runs):
        print(printable(f"Note: {note}"), file=sys.stderr)
    with atomic_path(output) as path:
        drawn.savefig(path, dpi=150, format=Path(output).suffix.lower()[1:])
    print(printable(output))
