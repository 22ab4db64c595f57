"""Loggers beside the scalars: figures per epoch, hyperparameters, and in TensorBoard a page of grouped curves."""

import re
import threading
from pathlib import Path
from typing import Any

from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.loggers import TensorBoardLogger
from pytorch_lightning.loggers.logger import rank_zero_experiment
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from torch.utils.tensorboard import SummaryWriter

from heedful.callbacks.engine.engine import Engine
from heedful.callbacks.engine.loggers import bounds_of, log_figure
from heedful.callbacks.outputs.run_folder import RunFolder
from heedful.lightning_modules.lightning_internals import guard_events, writes_events
from heedful.records import Chart, atomic_path, writing
from heedful.records.storage.epochs import History, as_plain, from_plain, write_epochs
from heedful.reports.figures.history import history_figure


def _quiet_writer(failed: threading.ExceptHookArgs) -> None:
    """Print no traceback where a thread cannot write events: whoever logs next gets the error."""
    if not (isinstance(failed.exc_value, OSError) and writes_events(failed.thread)):
        threading.__excepthook__(failed)


class BoardLogger(TensorBoardLogger):
    """Lightning's logger, which says in one sentence that the disk is full."""

    @property
    @rank_zero_experiment
    def experiment(self) -> SummaryWriter:
        first = self._experiment is None
        with writing(self.log_dir):
            writer = super().experiment
        if first:
            threading.excepthook = _quiet_writer
            guard_events(writer, writing(self.log_dir))
        return writer


def tensorboard_of(trainer: Trainer) -> Any:
    """The TensorBoard writer on rank 0, else None."""
    for logger in trainer.loggers:
        if trainer.is_global_zero and isinstance(logger, TensorBoardLogger):
            return logger.experiment
    return None


class Board(Callback):
    """Feeds the loggers; stands behind the run folder among the callbacks.

    Args:
        hyperparameters: What runs are compared by, as in TensorBoard's HParams tab.
    """

    def __init__(self, hyperparameters: dict[str, Any]) -> None:
        self.hyperparameters = hyperparameters
        self.history: History = {}
        self._start = 0

    def state_dict(self) -> dict[str, Any]:
        return as_plain(self.history)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.history = from_plain(state_dict)

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        self._start = checkpoint["global_step"]

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        writer = tensorboard_of(trainer)
        if writer is None:
            return
        # what a stopped run logged after the step that it goes on from is hidden, and comes once more
        start = SessionLog(status=SessionLog.START)
        writer.file_writer.add_event(Event(step=self._start, session_log=start))
        page: dict[str, list[str]] = {}
        for title, curves in self._figures(trainer).values():
            page[title] = list(curves.values())
        for chart in self._engine(trainer).charts:
            if not chart.figure:
                page[chart.title] = [str(name) for name in chart.curves.values()]
        exact = {title: ["Multiline", [f"^{re.escape(tag)}$" for tag in tags]] for title, tags in page.items()}
        writer.add_custom_scalars({trainer.datamodule.name: exact})  # which takes patterns, not names

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking or not trainer.is_global_zero or trainer.state.fn != "fit":
            return
        folder = next(c for c in trainer.callbacks if isinstance(c, RunFolder)).folder
        data = trainer.datamodule
        measurements = self._engine(trainer).measurements
        for name, (_, curves) in self._figures(trainer).items():
            points = self.history.setdefault(name, [])
            points.append((trainer.current_epoch + 1, {curve: measurements[tag] for curve, tag in curves.items()}))
            figure = history_figure(points, f"{data.name}, {data.regime}")
            path = Path(folder) / "figures" / f"{name}.png"
            with atomic_path(path) as temporary:
                figure.savefig(temporary, dpi=150, format="png")
            log_figure(trainer, f"figures/{name}", figure, trainer.global_step - 1)  # as Lightning logs the rest
        write_epochs(Path(folder), self.history)

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Write out what was logged up to here: from here a killed run goes on."""
        if writer := tensorboard_of(trainer):
            writer.flush()

    def final(self, trainer: Trainer) -> None:
        """Record the hyperparameters with the metrics of the best checkpoint; call after it was evaluated."""
        measurements = self._engine(trainer).measurements
        tags = [tag for _, curves in self._figures(trainer).values() for tag in curves.values()]
        final = {f"final/{tag}": measurements[tag].value for tag in tags}  # the HParams tab shows a column for each
        final = {name: value for name, value in final.items() if value is not None}
        for logger in trainer.loggers:
            if isinstance(logger, TensorBoardLogger):
                logger.log_hyperparams(self.hyperparameters, final, step=trainer.global_step)
                logger.finalize("success")  # which ends its thread
            else:
                bounds = {f"final/{k}": v for tag in tags for k, v in bounds_of(tag, measurements[tag].ci95)}
                logger.log_hyperparams(self.hyperparameters)
                logger.log_metrics({**final, **bounds}, step=trainer.global_step)
                logger.save()

    @staticmethod
    def _engine(trainer: Trainer) -> Engine:
        return next(c for c in trainer.callbacks if isinstance(c, Engine))

    def _figures(self, trainer: Trainer) -> dict[str, tuple[str, dict[str, str]]]:
        """Figure to its title and its curves, those of all evaluations that share it: name of each to its metric."""
        charts: dict[str, list[Chart]] = {}
        for chart in self._engine(trainer).charts:
            if chart.figure:
                charts.setdefault(chart.figure, []).append(chart)
        return {
            figure: (
                " and ".join(dict.fromkeys(chart.title for chart in several)),
                {curve: str(name) for chart in several for curve, name in chart.curves.items()},
            )
            for figure, several in charts.items()
        }
