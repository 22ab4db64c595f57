"""Lightning's progress bar with two additions: the training loss, and the metrics that ``figures/*.png`` also plot."""

import time
from typing import Any

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks.progress.rich_progress import RichProgressBar, RichProgressBarTheme

from heedful.callbacks.engine.engine import Engine
from heedful.callbacks.engine.evaluation import LOSS

INTERVAL = 0.5  # seconds between two reads of the loss, each of which synchronises a GPU


class Progress(RichProgressBar):
    """A RichProgressBar that shows, below the bar, the training loss and the metrics logged for the bar.

    Files ``figures/*.png`` draw some of these metrics as curves over training. The bar shows such a metric under the
    label of the curve in the file, instead of the metric's name.
    """

    def __init__(self) -> None:
        super().__init__(theme=RichProgressBarTheme(metrics_text_delimiter="\n"))
        self._loss: float | None = None
        self._looked = 0.0

    def get_metrics(self, trainer: Trainer, pl_module: LightningModule) -> dict[str, Any]:
        """Return what the bar shows, by label: the training loss, and the metrics that are logged for the bar.

        A metric that is drawn as a curve over training in a file ``figures/*.png`` appears under the label of the
        curve, as a percentage such as "81.2%". All remaining metrics keep their name and value.
        """
        engines = (engine for engine in trainer.callbacks if isinstance(engine, Engine))
        charts = [chart for engine in engines for chart in engine.plans.charts if chart.figure]
        headlines = {str(name): curve for chart in charts for curve, name in chart.curves.items()}
        metrics: dict[str, Any] = self._seen_loss(trainer)
        for name, value in super().get_metrics(trainer, pl_module).items():
            metrics[headlines.get(name, name)] = f"{100 * value:.1f}%" if name in headlines else value
        return metrics

    def _seen_loss(self, trainer: Trainer) -> dict[str, float]:
        """Return a dictionary with the latest training loss under "loss"; the dictionary is empty before the first
        loss. The loss is read from the device at most twice a second.
        """
        if LOSS in trainer.callback_metrics and time.monotonic() - self._looked >= INTERVAL:
            self._looked = time.monotonic()
            self._loss = trainer.callback_metrics[LOSS].item()
        return {} if self._loss is None else {"loss": self._loss}
