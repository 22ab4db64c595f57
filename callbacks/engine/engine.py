"""Measure the model after each validation epoch of a Trainer, by a callback that passes the numbers to writers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import EarlyStopping
from pytorch_lightning.loggers import TensorBoardLogger

from heedful.callbacks.checkpoints.files import outline
from heedful.callbacks.engine.batch_predictor import Pace, gather_predictions
from heedful.callbacks.engine.evaluation import Plans, Setting
from heedful.callbacks.engine.measure import Measurements, measure
from heedful.callbacks.engine.predictions import Collector, Predictions
from heedful.callbacks.engine.trainer_processes import TrainerProcesses, stop_if_requested
from heedful.datamodules import PairedData
from heedful.datamodules.base.processes import by_first, gather, require_alike
from heedful.lightning_modules.lightning_internals import kept_metrics
from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import Predictor
from heedful.lightning_modules.predictor_module import predictor_of
from heedful.lightning_modules.weights import differing_names, weights_hash
from heedful.metrics.number import Numbers
from heedful.metrics.statistics.draws import is_known
from heedful.records import Composed, HeedfulError, RunError, SettingError
from heedful.stopping import postpone, requested

SIDES = ("low", "high")  # suffixes of the bounds of an interval


class Writer(Protocol):
    """An object that writes measurements, for example to files or as curves; the engine calls it on rank 0."""

    def write(self, measurements: Measurements) -> None:
        """Write the measurements of one validation epoch, in training or in an evaluation."""


class Engine(Callback):
    """Callback that runs the evaluations (:class:`~heedful.callbacks.engine.evaluation.Evaluation`) among the Trainer's
    callbacks.

    The evaluations run at the end of each validation epoch and use its predictions. The order of the callbacks has no
    effect.

    Args:
        exhaustive: Whether every evaluation runs on all examples. If False, evaluations may change fewer examples.
        only: Names of the evaluations to run; None for the evaluations that run by default.
        plans: Plans of the evaluations; by default ``setup`` plans the evaluations among the callbacks.
        writers: Objects that receive the measurements after every epoch, in this order.
        unfinished: Progress of the training that wrote the measured checkpoint; None if that training has finished.
        identity: Returns a description of the model and its training for results.json. The engine adds the prompt.

    Attributes:
        plans: The plans of the evaluations.
        measurements: The measurements of the last epoch; None before the first epoch.
        weights: Hash of the weights that were measured in the last epoch; None for a model without weights.
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
                callback.strict = False  # else Lightning raises an error if the metric is undefined

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        stop_if_requested(trainer)
        data = trainer.datamodule
        self._predicted = Collector(data.task)
        predictor = predictor_of(pl_module)
        predictor.start(Composed(data.pool, data.predicted), TrainerProcesses(trainer))
        ranks = predictor.capabilities.predicting_ranks(trainer.world_size)
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
        if batch_idx == 0:  # not earlier: a callback may exchange weights at the start of validation
            self.weights = weights_hash(pl_module.state_dict())
        self._predicted.add(batch["positions"], outputs)
        self._pace.advance(batch["size"])
        if requested():
            raise StopIteration  # ends the batches of this rank; all ranks stop in on_validation_epoch_end

    def on_exception(self, trainer: Trainer, pl_module: LightningModule, exception: BaseException) -> None:
        if self._predicted is None or not isinstance(exception, HeedfulError):
            return
        capabilities = predictor_of(pl_module).capabilities
        if capabilities.predicting_ranks(trainer.world_size) < trainer.world_size:  # idle ranks wait in ``meet``
            TrainerProcesses(trainer).send_error(exception)

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
        if is_training or self.exhaustive:  # else train.py's final evaluation adds a second point
            self._log(self.measurements.numbers, trainer, pl_module)
        if not is_training and self.writers:
            stop_if_requested(trainer)
            postpone()  # SIGTERM waits for the writers, which are fast
        for writer in self.writers if trainer.is_global_zero else ():
            writer.write(self.measurements)

    def require_measured(self, module: LightningModule, what: str) -> None:
        """Raise RunError on every rank if the weights of ``module`` have changed since validation; ``what`` names them
        in the message.
        """
        if not all(gather(weights_hash(module.state_dict()) == self.weights)):
            raise _changed(f"the measured weights are not {what}")

    def _require_same_weights(self, trainer: Trainer, module: LightningModule) -> None:
        """Check that no callback has changed the weights.

        Raises:
            DataError: The weights that validation measured differ between ranks (processes).
            RunError: The weights of the model have changed since validation; or they differ from the weights in the
                checkpoint, if one was loaded.
        """
        require_alike({"the model": self.weights}, "weights")
        self.require_measured(module, "the weights of one model")
        if trainer.ckpt_path:
            path = Path(trainer.ckpt_path)
            if names := by_first(lambda: differing_names(module.state_dict(), outline(path)["state_dict"])):
                names = f"{len(names)} of its weights differ, such as {min(names)}"
                raise _changed(f"the measured weights are not those in {path.name} ({names})")

    def _log(self, numbers: Numbers, trainer: Trainer, pl_module: LightningModule) -> None:
        planned = [p for p in self.plans.planned.values() if p.plan.pool is trainer.datamodule.pool]
        headlines = {name for p in planned for chart in p.charts if chart.figure for name in chart.curves.values()}
        for name, measurement in numbers.items():
            if not is_known(measurement):  # otherwise a number of few examples may be the best by chance
                kept_metrics(trainer).pop(str(name), None)  # the value of the previous epoch
            elif name.by == ("", ""):  # numbers of slices are not logged
                is_headline = name in headlines
                pl_module.log(str(name), measurement.value, prog_bar=is_headline, sync_dist=True, batch_size=1)
        self._log_intervals(numbers, trainer, pl_module)

    def _log_intervals(self, numbers: Numbers, trainer: Trainer, pl_module: LightningModule) -> None:
        """Log both bounds of the 95 % interval of each metric that is drawn as a curve over training.

        Callbacks can then monitor a bound. Loggers receive the bounds only if one of the loggers is not a TensorBoard
        logger.
        """
        shows_bounds = any(not isinstance(logger, TensorBoardLogger) for logger in trainer.loggers)
        for name in {name: None for chart in self.plans.charts for name in chart.curves.values()}:
            for side in SIDES:
                kept_metrics(trainer).pop(f"{name}/{side}", None)  # the value of the previous epoch
            if name in numbers and is_known(numbers[name]):
                bounds = dict(bounds_of(str(name), numbers[name].ci95))
                pl_module.log_dict(bounds, logger=shows_bounds, sync_dist=True, batch_size=1)

    def _base(self, data: PairedData, processes: TrainerProcesses) -> Predictions:
        # None: all ranks have arrived here, so on_exception needs to send them no error
        predictions, self._predicted = self._predicted.predictions(), None
        base = gather_predictions(predictions, processes)
        if missing := len(np.setxor1d(base.positions, data.predicted)):
            raise RunError(f"{missing} validation examples were not predicted, or should not have been.")
        return base


def bounds_of(name: str, ci95: tuple[float, float] | None) -> Iterator[tuple[str, float]]:
    """Yield the name and value of each bound of an interval, such as ``("accuracy/mnli/low", 0.8)``; nothing without an
    interval.
    """
    for side, value in zip(SIDES, ci95 or (), strict=False):
        yield f"{name}/{side}", value


def _require_data(trainer: Trainer) -> PairedData:
    """Return the data module of a Trainer; raise SettingError unless it is a PairedData."""
    if isinstance(data := getattr(trainer, "datamodule", None), PairedData):
        return data
    name = "none" if data is None else f"a {type(data).__name__}"
    raise SettingError(
        f"Engine needs a datamodule that is a PairedData, such as PairedText; the Trainer has {name}. "
        "Write trainer.fit(model, datamodule=...)."
    )


def _changed(reason: str) -> RunError:
    return RunError(f"A callback changed the weights: {reason}. Remove it from trainer.callbacks.")
