"""Support for callbacks of Lightning that read weights in ``setup``, and for callbacks that average weights."""

from typing import Any

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import BaseFinetuning, StochasticWeightAveraging, WeightAveraging
from pytorch_lightning.strategies import Strategy
from pytorch_lightning.utilities.model_helpers import is_overridden

from heedful.lightning_modules.lightning_internals import averaged_model
from heedful.records import SettingError

NEED_WEIGHTS = (BaseFinetuning, StochasticWeightAveraging, WeightAveraging)  # their setup reads weights


def build_early(trainer: Trainer, module: Any) -> None:
    """Build the network of a model before callbacks are set up, since some of them read its weights.

    It gets the device and the precision that Lightning would use. With a sharding strategy, Lightning builds it later.

    Raises:
        SettingError: A callback needs the weights, and the model does not know its task yet.
    """
    if is_overridden("model_sharded_context", trainer.strategy, parent=Strategy):
        return
    readers = [type(callback).__name__ for callback in trainer.callbacks if isinstance(callback, NEED_WEIGHTS)]
    if readers and module.task is None and trainer.state.fn == "fit":
        raise SettingError(
            f"{readers[0]} needs the weights before Trainer.fit sets up the data. Call data.setup('fit') and "
            "model.bind(data.task, trains=True) before it."
        )
    with trainer.init_module(), trainer.precision_plugin.module_init_context():
        module.configure_model()


def model_to_save(trainer: Trainer) -> LightningModule:
    """Return the model to measure and save: the trained model, or its average if a callback averages weights."""
    averaged = (averaged_model(callback) for callback in trainer.callbacks if isinstance(callback, WeightAveraging))
    return next(averaged, None) or trainer.lightning_module


def end_averaging(trainer: Trainer) -> None:
    """Remove the callbacks that average weights from a Trainer that will evaluate weights that are averages already."""
    trainer.callbacks = [callback for callback in trainer.callbacks if not isinstance(callback, WeightAveraging)]
