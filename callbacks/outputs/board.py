"""Log figures of each epoch, hyperparameters, and a description of TensorBoard's tags, to the loggers of a training."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.loggers import Logger, TensorBoardLogger
from tensorboard.compat.proto.event_pb2 import Event, SessionLog

from heedful.callbacks.engine.callback import bounds_of
from heedful.callbacks.engine.measure import Measurements
from heedful.records import atomic_path, write_json
from heedful.records.storage.results import EPOCHS, History, as_plain, from_plain
from heedful.reports.figures.history import history_figure, is_drawn
from heedful.reports.lines import label_of, lines_of
from heedful.reports.page.about import abouts
from heedful.reports.runs import ATTENTIVENESS
from heedful.reports.terminal.table import meaning

TOGETHER = (ATTENTIVENESS, "accuracy", "exact_match", "f1", "naive_partial")  # families of numbers in one figure


def tensorboard_of(trainer: Trainer) -> Any:
    """Return the TensorBoard writer of a Trainer on rank 0; None on other ranks, and without TensorBoard."""
    for logger in trainer.loggers:
        if trainer.is_global_zero and isinstance(logger, TensorBoardLogger):
            return logger.experiment
    return None


class Board(Callback):
    """Draws the curves of a training after every epoch, and logs figures and hyperparameters to the Trainer's loggers.

    TensorBoard also receives a table with the meaning of each tag (name of a metric). A Board is a callback of the
    Trainer, and also a :class:`~heedful.callbacks.engine.callback.Writer`, which gets the measurements of every epoch.

    Args:
        hyperparameters: Settings to compare between runs, for TensorBoard's HParams tab.
        folder: Returns the folder of the run.

    Attributes:
        history: Maps the name of each figure to its points: pairs of an epoch, and a mapping from curves to
            measurements.
    """

    def __init__(self, hyperparameters: dict[str, Any], folder: Callable[[], Path]) -> None:
        self.hyperparameters = hyperparameters
        self.folder = folder
        self._title = ""
        self._has_tags = False
        self._loggers: list[Logger] = []
        self.history: History = {}
        self._start = 0

    def state_dict(self) -> dict[str, Any]:
        return as_plain(self.history)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.history = from_plain(state_dict)

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        self._start = checkpoint["global_step"]

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        self._loggers = trainer.loggers
        self._title = f"{trainer.datamodule.name}, {trainer.datamodule.regime}"
        for logger in self._loggers:
            if isinstance(logger, TensorBoardLogger):
                logger.log_hyperparams(self.hyperparameters)  # for hparams.yaml; the HParams tab also needs metrics
        if writer := tensorboard_of(trainer):
            # hides the values that a stopped run logged after the step of its checkpoint
            start = SessionLog(status=SessionLog.START)
            writer.file_writer.add_event(Event(step=self._start, session_log=start))

    def write(self, measurements: Measurements) -> None:
        """Add the epoch to the figures, and log them; do nothing outside of training."""
        if measurements.epoch is None:
            return
        self._describe_tags(measurements)
        for name, curves in _figures(measurements).items():
            points = self.history.setdefault(name, [])
            points.append((measurements.epoch + 1, {curve: measurements[tag] for curve, tag in curves.items()}))
            if not is_drawn(points):
                continue
            figure = history_figure(points, self._title)
            with atomic_path(self.folder() / "figures" / f"{name}.png") as temporary:
                figure.savefig(temporary, dpi=150, format="png")
            self._log_figure(f"figures/{name}", figure, measurements.step - 1)  # Lightning logs the epoch at this step
        write_json(self.folder() / EPOCHS, as_plain(self.history))

    def _log_figure(self, tag: str, figure: Any, step: int) -> None:
        for logger in self._loggers:
            if isinstance(logger, TensorBoardLogger):
                logger.experiment.add_figure(tag, figure, step)
            elif hasattr(logger, "log_image"):
                file = io.BytesIO()
                figure.savefig(file, dpi=150, format="png")
                logger.log_image(tag, [Image.open(file)], step=step)

    def _describe_tags(self, measurements: Measurements) -> None:
        """Write a table with the meaning of each tag (name of a metric) to TensorBoard, in the first call only."""
        for logger in () if self._has_tags else self._loggers:
            if isinstance(logger, TensorBoardLogger):
                logger.experiment.add_text("tags", _tags(measurements))
        self._has_tags = True

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Write TensorBoard's buffered values to disk, so that a run that is killed later and resumes from this
        checkpoint keeps them.
        """
        if writer := tensorboard_of(trainer):
            writer.flush()

    def final(self, measurements: Measurements) -> None:
        """Log the hyperparameters together with the metrics of the best checkpoint."""
        tags = [tag for curves in _figures(measurements).values() for tag in curves.values()]
        final = {f"final/{tag}": measurements[tag].value for tag in tags}  # columns of the HParams tab
        final = {name: value for name, value in final.items() if value is not None}
        for logger in self._loggers:
            if isinstance(logger, TensorBoardLogger):
                logger.log_hyperparams(self.hyperparameters, final, step=measurements.step)
                logger.finalize("success")  # stops the thread that writes events
            else:
                bounds = {f"final/{k}": v for tag in tags for k, v in bounds_of(tag, measurements[tag].ci95)}
                logger.log_hyperparams(self.hyperparameters)
                logger.log_metrics({**final, **bounds}, step=measurements.step)
                logger.save()


def _figures(measurements: Measurements) -> dict[str, dict[str, str]]:
    """Map each figure to its curves from all evaluations: a mapping from the label of a curve to the name of its
    metric.
    """
    figures: dict[str, dict[str, str]] = {}
    for name in measurements.plans.curves:
        if name in measurements.numbers:
            figure = ATTENTIVENESS if name.family in TOGETHER else name.family
            figures.setdefault(figure, {})[label_of(name)] = str(name)
    return figures


def _tags(measurements: Measurements) -> str:
    """Return a Markdown table with the tag (name), the label and the meaning of each measured metric."""
    labels = {line.metric: line.label for line in lines_of(measurements.content)}
    families = {family: about for about in abouts().values() for family in about.families}
    rows = []
    for name in measurements.numbers:
        label, about = labels.get(str(name), name.statistic), families.get(name.family)
        meanings = [meaning(label), about.question if about and not name.statistic and not name.slice else ""]
        rows.append((str(name), label, " ".join(filter(None, meanings))))
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join(["| tag | number | meaning |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in cells)])
