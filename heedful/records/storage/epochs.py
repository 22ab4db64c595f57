"""Read and write ``figures/epochs.json``, the numbers of a run in each epoch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heedful.records.numbers.measurement import Measurement
from heedful.records.storage.files import read_json, write_json

EPOCHS = "figures/epochs.json"  # path in the folder of a run
Points = list[tuple[int, dict[str, Measurement]]]  # (epoch, measurement of each curve) pairs
History = dict[str, Points]  # maps figures to points


def as_plain(history: Mapping[str, Points]) -> dict[str, Any]:
    """Convert the measurements of all epochs to values that JSON can express.

    Args:
        history: Maps the name of each figure to pairs: an epoch, and a mapping from curves to measurements.
    """
    return {
        figure: [[epoch, {curve: m.as_dict() for curve, m in curves.items()}] for epoch, curves in points]
        for figure, points in history.items()
    }


def from_plain(plain: Mapping[str, Any]) -> History:
    """Convert the values of :func:`as_plain` back to the measurements of all epochs."""
    return {
        figure: [(epoch, {curve: Measurement(**m) for curve, m in curves.items()}) for epoch, curves in points]
        for figure, points in plain.items()
    }


def write_epochs(folder: Path, history: Mapping[str, Points]) -> None:
    """Write the measurements of all epochs to the folder of a run; ``history`` as in :func:`as_plain`."""
    write_json(folder / EPOCHS, as_plain(history))


def read_epochs(folder: Path) -> History:
    """Read the measurements of all epochs from the folder of a run; empty if there is no file."""
    path = folder / EPOCHS
    return from_plain(read_json(path)) if path.is_file() else {}
