"""Lightning's progress bar with the training loss and the metrics that ``figures/*.png`` also plot; lines in a log."""

import time
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks.progress.rich_progress import RichProgressBar, RichProgressBarTheme

from heedful.callbacks.engine.callback import EvaluationCallback
from heedful.callbacks.engine.evaluation import LOSS
from heedful.callbacks.engine.predictions import Pace
from heedful.reports.lines import label_of

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
        engines = (engine for engine in trainer.callbacks if isinstance(engine, EvaluationCallback))
        headlines = {str(name): label_of(name) for engine in engines for name in engine.plans.curves}
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


class TrainingPace(Callback):
    """Logs the finished and the remaining steps of a training once a minute, if there is no terminal."""

    def __init__(self) -> None:
        self._pace: Pace | None = None
        self._step = 0

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._step = trainer.global_step
        steps = trainer.estimated_stepping_batches
        is_known = trainer.is_global_zero and steps != float("inf")
        self._pace = Pace("Training", int(steps) - self._step, "steps") if is_known else None

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *of_batch: Any) -> None:
        if self._pace is not None:
            self._pace.advance(trainer.global_step - self._step)
            self._step = trainer.global_step
