"""What a run measured after each of its epochs: ``figures/epochs.json``, beside the pictures that show it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from heedful.records.numbers.measurement import Measurement
from heedful.records.storage.files import read_json, write_json

EPOCHS = "figures/epochs.json"  # in the folder of a run
Points = list[tuple[int, dict[str, Measurement]]]  # epoch, and the name of each curve to its measurement
History = dict[str, Points]  # by figure


def as_plain(history: Mapping[str, Points]) -> dict[str, Any]:
    """A history as checkpoints and files hold it."""
    return {
        figure: [[epoch, {curve: m.as_dict() for curve, m in of.items()}] for epoch, of in points]
        for figure, points in history.items()
    }


def from_plain(plain: Mapping[str, Any]) -> History:
    """The history that :func:`as_plain` made this of."""
    return {
        figure: [(epoch, {curve: Measurement(**m) for curve, m in of.items()}) for epoch, of in points]
        for figure, points in plain.items()
    }


def write_epochs(folder: Path, history: Mapping[str, Points]) -> None:
    """Write the history of a run into its folder."""
    write_json(folder / EPOCHS, as_plain(history))


def read_epochs(folder: Path) -> History:
    """The history of the run in a folder; empty where none is kept."""
    path = folder / EPOCHS
    return from_plain(read_json(path)) if path.is_file() else {}
