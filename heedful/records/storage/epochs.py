"""The numbers of each epoch of a run: ``figures/epochs.json``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heedful.records.numbers.measurement import Measurement
from heedful.records.storage.files import read_json, write_json

EPOCHS = "figures/epochs.json"  # in the folder of a run
Points = list[tuple[int, dict[str, Measurement]]]  # epoch, and curve to measurement
History = dict[str, Points]  # by figure


def as_plain(history: Mapping[str, Points]) -> dict[str, Any]:
    """Convert a history to plain values."""
    return {
        figure: [[epoch, {curve: m.as_dict() for curve, m in curves.items()}] for epoch, curves in points]
        for figure, points in history.items()
    }


def from_plain(plain: Mapping[str, Any]) -> History:
    """Convert a history from the values of :func:`as_plain`."""
    return {
        figure: [(epoch, {curve: Measurement(**m) for curve, m in curves.items()}) for epoch, curves in points]
        for figure, points in plain.items()
    }


def write_epochs(folder: Path, history: Mapping[str, Points]) -> None:
    """Write the history of a run into its folder."""
    write_json(folder / EPOCHS, as_plain(history))


def read_epochs(folder: Path) -> History:
    """Read the history of the run in a folder; empty without one."""
    path = folder / EPOCHS
    return from_plain(read_json(path)) if path.is_file() else {}
