"""What TensorBoard shows beside the scalars: figures per epoch, a page of grouped curves, and hyperparameters."""

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.loggers import TensorBoardLogger
from pytorch_lightning.loggers.logger import rank_zero_experiment
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from torch.utils.tensorboard import SummaryWriter

from callbacks.engine.engine import Engine
from callbacks.outputs.run_folder import RunFolder
from lightning_modules.lightning_internals import guard_events, writes_events
from metrics import Measurement
from records import MANY, atomic_path, writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLORS = ("#1f4e79", "#c2571a", "#4b8b3b", "#7b4b94")


def history_figure(history: list[tuple[int, dict[str, Measurement]]], title: str) -> "Figure":
    """Headlines over epochs, with 95 % intervals; readable at thumbnail size.

    Args:
        history: (epoch, name of the curve -> measurement); undefined values leave a gap.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    figure = Figure(figsize=(5, 3.6), layout="constrained")
    axes = figure.add_subplot()
    names = list(dict.fromkeys(name for _, found in history for name in found))
    for i, (name, color) in enumerate(zip(names, COLORS * len(names), strict=False)):
        shift = 0.06 * (i - (len(names) - 1) / 2)  # keeps intervals of equal epochs apart
        points = [(epoch + shift, found[name]) for epoch, found in history if name in found]
        points = [(x, m) for x, m in points if m.value is not None]
        xs, ys = [x for x, _ in points], [100 * m.value for _, m in points]
        bars = [m.ci95 or (m.value, m.value) for _, m in points]
        low = [max(0.0, y - 100 * b[0]) for y, b in zip(ys, bars, strict=True)]
        high = [max(0.0, 100 * b[1] - y) for y, b in zip(ys, bars, strict=True)]
        axes.errorbar(xs, ys, yerr=[low, high], label=name, color=color, marker="o", capsize=4, linewidth=2.5)
    axes.set(ylim=(-4, 104), xlabel="epoch", ylabel="%")
    axes.set_xlim(history[0][0] - 0.4, history[-1][0] + 0.4)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(title, fontsize=13)
    axes.tick_params(labelsize=12)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(loc="best", fontsize=12)
    return figure


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
    """Feeds TensorBoard; stands behind the run folder among the callbacks.

    Args:
        hyperparameters: What the HParams tab compares runs by.
    """

    def __init__(self, hyperparameters: dict[str, Any]) -> None:
        self.hyperparameters = hyperparameters
        self.history: dict[str, list[tuple[int, dict[str, Measurement]]]] = {}  # figure to its points
        self._start = 0

    def state_dict(self) -> dict[str, Any]:
        return {
            figure: [(epoch, {k: m.as_dict() for k, m in found.items()}) for epoch, found in points]
            for figure, points in self.history.items()
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.history = {
            figure: [(epoch, {k: Measurement(**m) for k, m in found.items()}) for epoch, found in points]
            for figure, points in state_dict.items()
        }

    def on_load_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        self._start = checkpoint["global_step"]

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        writer = tensorboard_of(trainer)
        if writer is None:
            return
        # what a stopped run logged after the step that it goes on from is hidden, and comes once more
        start = SessionLog(status=SessionLog.START)
        writer.file_writer.add_event(Event(step=self._start, session_log=start))
        data = trainer.datamodule
        page = {
            " and ".join(dict.fromkeys(curve.split(":")[0] for curve in curves)): ["Multiline", list(curves.values())]
            for curves in self._curves(trainer).values()
        }
        labels = data.task.labels if len(data.task.labels) <= MANY else ()
        for part in data.swap if labels else ():
            tags = [f"attentiveness/{data.name}/{part}/from_{label}" for label in labels]
            page[f"attentiveness to {part} by predicted label"] = ["Multiline", tags]
        if labels and data.task.kind.exclusive:
            page["accuracy by label"] = ["Multiline", [f"accuracy/{data.name}/{label}" for label in labels]]
        page["null control: must stay at 0"] = ["Multiline", [f"null/{data.name}/flips"]]
        exact = {title: [kind, [f"^{re.escape(tag)}$" for tag in tags]] for title, (kind, tags) in page.items()}
        writer.add_custom_scalars({data.name: exact})  # which takes patterns, not names

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking or not trainer.is_global_zero or trainer.state.fn != "fit":
            return
        folder = next(c for c in trainer.callbacks if isinstance(c, RunFolder)).folder
        data, measurements = trainer.datamodule, self._engine(trainer).measurements
        for name, curves in self._curves(trainer).items():
            points = self.history.setdefault(name, [])
            points.append((trainer.current_epoch + 1, {curve: measurements[tag] for curve, tag in curves.items()}))
            figure = history_figure(points, f"{data.name}, {data.regime}")
            path = Path(folder) / "figures" / f"{name}.png"
            with atomic_path(path) as temporary:
                figure.savefig(temporary, dpi=150, format="png")
            if writer := tensorboard_of(trainer):
                writer.add_figure(f"figures/{name}", figure, trainer.global_step - 1)  # as Lightning logs the rest

    def on_save_checkpoint(self, trainer: Trainer, pl_module: LightningModule, checkpoint: dict[str, Any]) -> None:
        """Write out what was logged up to here: from here a killed run goes on."""
        if writer := tensorboard_of(trainer):
            writer.flush()

    def final(self, trainer: Trainer) -> None:
        """Record the hyperparameters with the metrics of the best checkpoint; call after it was evaluated."""
        measurements = self._engine(trainer).measurements
        chosen = [tag for curves in self._curves(trainer).values() for tag in curves.values()]
        final = {f"final/{tag}": measurements[tag].value for tag in chosen}  # the HParams tab shows a column for each
        final = {name: value for name, value in final.items() if value is not None}
        for logger in trainer.loggers:
            if isinstance(logger, TensorBoardLogger):
                logger.log_hyperparams(self.hyperparameters, final, step=trainer.global_step)
                logger.save()
                if trainer.is_global_zero:
                    logger.experiment.flush()
            else:
                logger.log_hyperparams(self.hyperparameters)

    @staticmethod
    def _engine(trainer: Trainer) -> Engine:
        return next(c for c in trainer.callbacks if isinstance(c, Engine))

    def _curves(self, trainer: Trainer) -> dict[str, dict[str, str]]:
        """Figure to its curves: the name of each to the name of the metric, of what a reader looks at first."""
        figures: dict[str, dict[str, str]] = {}
        for evaluation in self._engine(trainer).evaluations(trainer):
            if headlines := evaluation.headlines(trainer.datamodule):
                figures.setdefault(evaluation.figure, {}).update(headlines)
        return figures
