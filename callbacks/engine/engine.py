"""The engine as a callback: measures at the end of each validation epoch, and hands the measurements to writers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import EarlyStopping

from heedful.callbacks.checkpoints.files import outline
from heedful.callbacks.engine.batch_predictor import gather_predictions
from heedful.callbacks.engine.evaluation import Plans, Setting
from heedful.callbacks.engine.loggers import SIDES, bounds_of, others
from heedful.callbacks.engine.measure import Measurements, measure
from heedful.callbacks.engine.pace import Pace
from heedful.callbacks.engine.predictions import Collector, Predictions
from heedful.callbacks.engine.stop import stop_if_asked
from heedful.callbacks.engine.trainer_processes import TrainerProcesses
from heedful.datamodules import PairedData
from heedful.datamodules.base.processes import by_first, gather, require_alike
from heedful.lightning_modules.lightning_internals import kept_metrics
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import Predictor
from heedful.lightning_modules.predictor_module import predictor_of
from heedful.lightning_modules.pretrained.weights import different, weights_hash
from heedful.metrics.number import Numbers
from heedful.metrics.statistics.draws import FEW_EXAMPLES
from heedful.records import Composed, HeedfulError, Measurement, RunError, SettingError, stopping


class Writer(Protocol):
    """Writes measurements; the engine calls it on rank 0."""

    def write(self, measurements: Measurements) -> None:
        """Write the measurements of an epoch of training, or of an evaluation."""


class Engine(Callback):
    """Runs every :class:`~heedful.callbacks.engine.evaluation.Evaluation` among the trainer's callbacks.

    It does so at the end of each validation epoch, with the predictions of that epoch, wherever evaluations and engine
    stand in the list.

    Args:
        exhaustive: Whether every evaluation runs on all examples; otherwise it may bound its cost.
        only: Names of the evaluations to run; None for all that run by default.
        plans: Plans that were made before; by default they are made in ``setup``.
        writers: Get the measurements of each epoch, in this order.
        unfinished: Progress of the run whose checkpoint is measured, where the run has not ended.
        identity: Describes the model that is measured and its training, for results.json; the prompt is added.

    Attributes:
        plans: The plans of the evaluations.
        measurements: The measurements of the last epoch; None before the first.
        weights: The hash of the weights that the last epoch measured; None of a model without any.
    """

    def __init__(
        self,
        exhaustive: bool = True,
        only: Sequence[str] | None = None,
        plans: Plans | None = None,
        writers: Sequence[Writer] = (),
        unfinished: str | None = None,
        identity: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.exhaustive = exhaustive
        self.only = only
        self.plans = plans or Plans({}, only=only)
        self.writers = list(writers)
        self.unfinished = unfinished
        self.identity = identity
        self.measurements: Measurements | None = None
        self.weights: str | None = None
        self._is_planned = plans is not None
        self._predicted: Collector | None = None
        self._pace: Pace | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        data = _require_data(trainer)
        if not self._is_planned:
            setting = Setting(data, not self.exhaustive, capabilities=predictor_of(pl_module).capabilities)
            self.plans = Plans.of(trainer.callbacks, setting, self.only)
            self._is_planned = True
        for callback in trainer.callbacks:
            if isinstance(callback, EarlyStopping) and self.plans.is_known(callback.monitor):
                callback.strict = False  # an undefined score is not a missing one

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        stop_if_asked(trainer)
        data = trainer.datamodule
        self._predicted = Collector(data.task)
        predictor = predictor_of(pl_module)
        predictor.start(Composed(data.pool, data.predicted), TrainerProcesses(trainer))
        ranks = predictor.capabilities.ranks or trainer.world_size
        self._pace = Pace(f"{data.name}: predictions of this process", -(-len(data.predicted) // ranks))

    def on_validation_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: Outputs | None,
        batch: dict[str, Any],
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        if batch_idx == 0:  # with the batches and not before: a callback may exchange weights where validation starts
            self.weights = weights_hash(pl_module.state_dict())
        self._predicted.add(batch["positions"], outputs)
        self._pace.advance(batch["size"])
        if stopping.requested():
            raise StopIteration  # ends the batches of this process, not the evaluation: the processes meet below

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        if self._predicted is None or not isinstance(exception, HeedfulError):
            return
        ranks = predictor_of(pl_module).capabilities.ranks or trainer.world_size
        if ranks < trainer.world_size:  # else the others may be anywhere
            TrainerProcesses(trainer).tell(exception)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if trainer.sanity_checking:
            return
        processes = TrainerProcesses(trainer)
        base = self._base(trainer.datamodule, processes)
        about = {"weights": self.weights, "unfinished": self.unfinished, "identity": dict(self.identity())}
        predictor: Predictor = predictor_of(pl_module)
        is_training = trainer.state.fn == "fit"
        epoch = trainer.current_epoch if is_training else None
        measurements = measure(predictor, trainer.datamodule, self.plans, processes, base, about)
        self.measurements = replace(measurements, epoch=epoch, step=trainer.global_step)
        if not is_training:
            self._require_same_weights(trainer, pl_module)
        if is_training or self.exhaustive:  # what train.py measures last would be a second last point
            self._log(self.measurements.numbers, trainer, pl_module)
        if not is_training and self.writers:
            stop_if_asked(trainer)
            stopping.postpone()  # what follows is short, and ends in a table
        for writer in self.writers if trainer.is_global_zero else ():
            writer.write(self.measurements)

    def require_measured(self, module: LightningModule, what: str) -> None:
        """Refuse weights that are not those of the last measurement, as where another callback exchanges them.

        Args:
            module: The model as it is now.
            what: What becomes of these weights, for the message.

        Raises:
            HeedfulError: They are others, on any process. Every process raises it.
        """
        if not all(gather(weights_hash(module.state_dict()) == self.weights)):
            raise _changed(f"what was measured is not {what}")

    def _require_same_weights(self, trainer: Trainer, module: LightningModule) -> None:
        """Refuse to have measured several models, or another one than that of the checkpoint.

        Raises:
            HeedfulError: Weights differ between processes, between predictions, or from those of the file.
        """
        require_alike({"the model": self.weights}, "weights")
        self.require_measured(module, "one and the same model")
        if trainer.ckpt_path:
            path = Path(trainer.ckpt_path)
            others = by_first(lambda: different(module.state_dict(), outline(path)["state_dict"]))
            if others:
                names = f"{len(others)} of its weights differ, such as {min(others)}"
                raise _changed(f"what was measured is not what {path.name} holds ({names})")

    def _log(self, numbers: Numbers, trainer: Trainer, pl_module: LightningModule) -> None:
        on_data = [p for p in self.plans.planned.values() if p.plan.pool is trainer.datamodule.pool]
        first = {name for p in on_data for chart in p.charts if chart.figure for name in chart.curves.values()}
        for name, measurement in numbers.items():
            if is_undefined(measurement):  # neither 0 nor NaN, nor what it was an epoch ago
                kept_metrics(trainer).pop(str(name), None)
            elif name.by == ("", ""):  # not one slice of many
                shown = name in first
                pl_module.log(str(name), measurement.value, prog_bar=shown, sync_dist=True, batch_size=1)
        self._log_intervals(numbers, trainer, pl_module)

    def _log_intervals(self, numbers: Numbers, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log both ends of the interval of each curve: a callback may monitor them, and tables of loggers show them."""
        for name in {name: None for chart in self.plans.charts for name in chart.curves.values()}:
            for side in SIDES:
                kept_metrics(trainer).pop(f"{name}/{side}", None)  # not what it was an epoch ago
            if name in numbers and not is_undefined(numbers[name]):
                bounds = dict(bounds_of(str(name), numbers[name].ci95))
                pl_module.log_dict(bounds, logger=bool(others(trainer)), sync_dist=True, batch_size=1)

    def _base(self, data: PairedData, processes: TrainerProcesses) -> Predictions:
        """The base predictions of all processes."""
        mine = self._predicted.predictions()
        self._predicted = None
        base = gather_predictions(mine, processes)
        if missing := len(np.setxor1d(base.positions, data.predicted)):
            raise RunError(f"{missing} validation examples were not predicted, or should not have been.")
        return base


def is_undefined(measurement: Measurement) -> bool:
    """Whether nothing is logged for a number: it is undefined, or fewer than ten examples count, and it may be the best
    by chance.
    """
    return measurement.value is None or FEW_EXAMPLES in measurement.flags


def _require_data(trainer: Trainer) -> PairedData:
    """The data of a Trainer.

    Raises:
        SettingError: The data module is of another kind, or there is none.
    """
    if isinstance(data := getattr(trainer, "datamodule", None), PairedData):
        return data
    name = "none" if data is None else f"a {type(data).__name__}"
    raise SettingError(
        f"Engine needs a datamodule that is a PairedData, such as PairedText; the Trainer has {name}. "
        "Write trainer.fit(model, datamodule=...)."
    )


def _changed(so: str) -> HeedfulError:
    """The error of numbers about other weights than those of the model."""
    return RunError(f"A callback changed the weights: {so}. Leave it out of trainer.callbacks.")
