"""The progress bar: Lightning's, with the loss and each headline in percent."""

import time
from typing import Any

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks.progress.rich_progress import RichProgressBar, RichProgressBarTheme

from heedful.callbacks.engine.engine import Engine
from heedful.callbacks.engine.evaluation import LOSS

OFTEN = 0.5  # seconds between two looks at the loss, for which a GPU is waited for


class Progress(RichProgressBar):
    """Shows each headline once, on a line of its own, under the name that figures give it."""

    def __init__(self) -> None:
        super().__init__(theme=RichProgressBarTheme(metrics_text_delimiter="\n"))
        self._loss: float | None = None
        self._looked = 0.0

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, Any]:
        """The loss, and each headline in percent."""
        engines = (engine for engine in trainer.callbacks if isinstance(engine, Engine))
        charts = [chart for engine in engines for chart in engine.plans.charts if chart.figure]
        headlines = {str(name): curve for chart in charts for curve, name in chart.curves.items()}
        shown: dict[str, Any] = self._seen_loss(trainer)
        for name, value in super().get_metrics(trainer, pl_module).items():
            shown[headlines.get(name, name)] = f"{100 * value:.1f}%" if name in headlines else value
        return shown

    def _seen_loss(self, trainer: Trainer) -> dict[str, float]:
        """The loss of a step of training, of the last half second."""
        if LOSS in trainer.callback_metrics and time.monotonic() - self._looked >= OFTEN:
            self._looked = time.monotonic()
            self._loss = trainer.callback_metrics[LOSS].item()
        return {} if self._loss is None else {"loss": self._loss}
