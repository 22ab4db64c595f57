"""The progress bar: Lightning's, with epochs and numbers as figures and tables show them."""

import logging
import math
import sys
import time
from typing import Any

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks.progress.rich_progress import RichProgressBar, RichProgressBarTheme
from rich.file_proxy import FileProxy
from rich.progress import BarColumn

from heedful.callbacks.engine.engine import Engine
from heedful.callbacks.engine.evaluation import LOSS
from heedful.callbacks.engine.pace import Pace

OFTEN = 0.5  # seconds between two looks at the loss, for which a GPU is waited for
LOGGERS = ("pytorch_lightning", "lightning_fabric", "lightning.pytorch", "lightning.fabric")


class Progress(RichProgressBar):
    """Counts epochs from 1, and shows each headline once, under the name that figures give it.

    Each has a line of its own, since two do not fit into 80 columns beside the bar. Of several that a figure calls
    "attentiveness: premise" and so on, the common word stands once above them.
    """

    def __init__(self) -> None:
        super().__init__(theme=RichProgressBarTheme(metrics_text_delimiter="\n"))
        self._loss: float | None = None
        self._looked = 0.0
        self._pace: Pace | None = None

    def _init_progress(self, trainer: Trainer) -> None:
        """Start the bar, and have Lightning's messages written above it.

        Their handlers hold the terminal itself, so that a message would stand behind the bar's last line, and the next
        refresh would leave half of the bar above it.
        """
        super()._init_progress(trainer)
        if isinstance(sys.stderr, FileProxy):  # while the bar is in a terminal
            for handler in _handlers():
                if handler.stream is sys.stderr.rich_proxied_file and handler.stream.isatty():
                    handler.setStream(sys.stderr)

    def _stop_progress(self) -> None:
        super()._stop_progress()
        for handler in _handlers():
            if isinstance(handler.stream, FileProxy):
                handler.setStream(handler.stream.rich_proxied_file)

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        super().on_train_start(trainer, pl_module)
        if math.isfinite(steps := trainer.estimated_stepping_batches):
            self._pace = Pace("Training", int(steps), "steps", trainer.global_step)

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *batch: Any) -> None:
        """As Lightning's; and in a log file, where no bar can be seen, a line a minute."""
        super().on_train_batch_end(trainer, pl_module, *batch)
        if self._pace is not None:
            self._pace.advance(trainer.global_step - self._pace.done)

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, Any]:
        """The loss, and each headline in percent."""
        charts = [
            c for engine in trainer.callbacks if isinstance(engine, Engine) for c in engine.plans.charts if c.figure
        ]
        headlines = {str(name): curve for chart in charts for curve, name in chart.curves.items()}
        shown: dict[str, Any] = {}
        shown |= self._seen_loss(trainer)
        for name, value in super().get_metrics(trainer, pl_module).items():
            heading, _, part = headlines.get(name, name).partition(": ")
            if name in headlines:
                value = f"{100 * value:.1f}%"
            shown[heading] = f"{shown.get(heading, '')}\n {part}: {value}" if part else value
        return shown

    def _seen_loss(self, trainer: Trainer) -> dict[str, float]:
        """The loss of a step of training, of the last half second."""
        if LOSS in trainer.callback_metrics and time.monotonic() - self._looked >= OFTEN:
            self._looked = time.monotonic()
            self._loss = trainer.callback_metrics[LOSS].item()
        return {} if self._loss is None else {"loss": self._loss}

    def configure_columns(self, trainer: Trainer) -> list[Any]:
        """Lightning's, with a short bar, which leaves room for the numbers."""
        columns = super().configure_columns(trainer)
        for column in columns:
            if isinstance(column, BarColumn):
                column.bar_width = 10
        return columns

    def _get_train_description(self, current_epoch: int) -> str:
        of = "" if (self.trainer.max_epochs or -1) < 0 else f"/{self.trainer.max_epochs}"
        return f"Epoch {current_epoch + 1}{of}".ljust(len(self.validation_description))  # else the bars would jump


def _handlers() -> list[logging.StreamHandler]:
    """Those of Lightning's loggers."""
    handlers = [handler for name in LOGGERS for handler in logging.getLogger(name).handlers]
    return [handler for handler in handlers if isinstance(handler, logging.StreamHandler)]
