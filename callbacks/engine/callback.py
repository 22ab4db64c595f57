"""Measure the model after each validation epoch of a Trainer, by a callback that passes the numbers to writers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any, Protocol

import numpy as np
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import EarlyStopping
from pytorch_lightning.loggers import TensorBoardLogger

from heedful.callbacks.checkpoints.files import outline
from heedful.callbacks.engine.evaluation import Evaluation, Plans, Setting
from heedful.callbacks.engine.measure import Measurements, measure
from heedful.callbacks.engine.predictions import Collector, Pace, Predictions, gather_predictions
from heedful.callbacks.engine.processes import Processes, stop_if_requested
from heedful.callbacks.evaluations import selected
from heedful.datamodules import PairedData
from heedful.datamodules.base.processes import by_first, gather, require_alike, send_error
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
    """An object that writes measurements, for example to files or as curves; the callback calls it on rank 0."""

    def write(self, measurements: Measurements) -> None:
        """Write the measurements of one validation epoch, in training or in an evaluation."""


class EvaluationCallback(Callback):
    """Measures the model by evaluations at the end of every validation epoch, and logs the numbers.

    The evaluations use the predictions of the epoch. The order of the callbacks has no effect.

    Args:
        evaluations: Objects, classes or names, such as ``[Attentiveness(), "accuracy"]``; None for all evaluations that
            run by default.
        exhaustive: Whether every evaluation runs on all examples. If False, evaluations may change fewer examples.
        plans: Plans of the evaluations; by default ``setup`` plans them.
        writers: Objects that receive the measurements after every epoch, in this order.
        unfinished: Progress of the training that wrote the measured checkpoint; None if that training has finished.
        identity: Returns a description of the model and its training for results.json. The callback adds the prompt.

    Attributes:
        plans: The plans of the evaluations.
        measurements: The measurements of the last epoch; None before the first epoch.
        weights: Hash of the weights that were measured in the last epoch; None for a model without weights.
    """

    def __init__(
        self,
        evaluations: Sequence[Evaluation | type[Evaluation] | str] | None = None,
        exhaustive: bool = True,
        plans: Plans | None = None,
        writers: Sequence[Writer] = (),
        unfinished: str | None = None,
        identity: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        self.evaluations = evaluations
        self.exhaustive = exhaustive
        self.plans = plans or Plans({})
        self.writers = list(writers)
        self.unfinished = unfinished
        self.identity = identity
        self.measurements: Measurements | None = None
        self.weights: str | None = None
        self._is_planned = plans is not None
        self._predicted: Collector | None = None
        self._pace: Pace | None = None
        self._warm_up: Thread | None = None

    def setup(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        data = _require_data(trainer)
        if not self._is_planned:
            setting = Setting(data, not self.exhaustive, capabilities=predictor_of(pl_module).capabilities)
            evaluations = selected(self.evaluations, self.exhaustive)
            named = None if self.evaluations is None else [evaluation.name for evaluation in evaluations]
            self.plans = Plans.of(evaluations, setting, named)
            self._is_planned = True
        for callback in trainer.callbacks:
            if isinstance(callback, EarlyStopping) and self.plans.is_known(callback.monitor):
                callback.strict = False  # else Lightning raises an error if the metric is undefined

    def on_validation_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        stop_if_requested(trainer)
        data = trainer.datamodule
        self._predicted = Collector(data.task, trainer.strategy.root_device)
        predictor = predictor_of(pl_module)
        predictor.start(Composed(data.pool, data.predicted), Processes.of(trainer))
        ranks = predictor.capabilities.predicting_ranks(trainer.world_size)
        if trainer.strategy.root_device.type != "cpu":
            self._warm_up = self.plans.warm_up(data.seed)
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
            send_error(exception)

    def on_validation_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if self._warm_up is not None:
            self._warm_up.join()
        if trainer.sanity_checking:
            return
        processes = Processes.of(trainer)
        base = self._base(trainer.datamodule)
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
        """Log the numbers, and both bounds of the intervals of curves, so that callbacks can monitor a bound.

        Loggers receive the bounds only if one of the loggers is not a TensorBoard logger.
        """
        planned = [p for p in self.plans.planned.values() if p.plan.pool is trainer.datamodule.pool]
        in_bar = {name for p in planned for name in p.curves}
        for name, measurement in numbers.items():
            if not is_known(measurement):  # otherwise a number of few examples may be the best by chance
                kept_metrics(trainer).pop(str(name), None)  # the value of the previous epoch
            elif name.by == ("", ""):  # numbers of slices are not logged
                pl_module.log(str(name), measurement.value, prog_bar=name in in_bar, sync_dist=True, batch_size=1)
        shows_bounds = any(not isinstance(logger, TensorBoardLogger) for logger in trainer.loggers)
        for name in dict.fromkeys(self.plans.curves):
            for side in SIDES:
                kept_metrics(trainer).pop(f"{name}/{side}", None)
            if name in numbers and is_known(numbers[name]):
                bounds = dict(bounds_of(str(name), numbers[name].ci95))
                pl_module.log_dict(bounds, logger=shows_bounds, sync_dist=True, batch_size=1)

    def _base(self, data: PairedData) -> Predictions:
        # None: all ranks have arrived here, so on_exception needs to send them no error
        predictions, self._predicted = self._predicted.predictions(), None
        base = gather_predictions(predictions)
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
        f"EvaluationCallback needs a datamodule that is a PairedData, such as PairedText; the Trainer has {name}. "
        "Write trainer.fit(model, datamodule=...)."
    )


def _changed(reason: str) -> RunError:
    return RunError(f"A callback changed the weights: {reason}. Remove it from trainer.callbacks.")
