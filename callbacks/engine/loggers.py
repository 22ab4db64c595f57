"""What goes to the loggers of a Trainer beside its numbers: intervals, and figures to those that take them.

Examples go to TensorBoard alone, which writes to this machine: others may send them to a server.
"""

import io
from collections.abc import Iterator, Sequence
from typing import Any

from pytorch_lightning import Trainer
from pytorch_lightning.loggers import Logger, TensorBoardLogger

SIDES = ("low", "high")  # end the names of the bounds of an interval


def others(trainer: Trainer) -> list[Logger]:
    """The loggers that are not TensorBoard's, which shows intervals in its figures alone."""
    return [logger for logger in trainer.loggers if not isinstance(logger, TensorBoardLogger)]


def log_figure(loggers: Sequence[Logger], tag: str, figure: Any, step: int) -> None:
    """Show a figure of matplotlib; called by the first process."""
    for logger in loggers:
        if isinstance(logger, TensorBoardLogger):
            logger.experiment.add_figure(tag, figure, step)
        elif hasattr(logger, "log_image"):
            logger.log_image(tag, [_picture(figure)], step=step)


def bounds_of(name: str, ci95: tuple[float, float] | None) -> Iterator[tuple[str, float]]:
    """The names and the values of both ends of an interval; nothing where there is none."""
    for side, value in zip(SIDES, ci95 or (), strict=False):
        yield f"{name}/{side}", value


def _picture(figure: Any) -> Any:
    from PIL import Image

    file = io.BytesIO()
    figure.savefig(file, dpi=150, format="png")
    file.seek(0)
    return Image.open(file)
