"""A LightningModule around another model, so that a Trainer can launch its processes and move its network."""

from typing import Any

import pytorch_lightning as pl

from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import Predictor
from heedful.records import ModelError


class PredictorModule(pl.LightningModule):
    """Wraps a model that is no LightningModule, such as a function or a server; its ``network`` becomes a submodule."""

    def __init__(self, predictor: Predictor) -> None:
        super().__init__()
        self.predictor, self.network = predictor, getattr(predictor, "network", None)

    def setup(self, stage: str) -> None:
        if self.predictor.task is None:
            self.predictor.bind(self.trainer.datamodule.task)

    def configure_model(self) -> None:
        self.predictor.configure_model()
        self.network = getattr(self.predictor, "network", None)

    def validation_step(self, batch: dict[str, Any], batch_idx: int) -> Outputs | None:
        return self.predictor.predict(batch)

    def configure_optimizers(self) -> None:
        raise ModelError(f"{self.predictor.description} is asked and never trained. Measure it with evaluate.py.")


def module_of(predictor: Predictor) -> pl.LightningModule:
    """Return a LightningModule for a model: the model itself if it is one, or else a wrapper."""
    return predictor if isinstance(predictor, pl.LightningModule) else PredictorModule(predictor)


def predictor_of(module: pl.LightningModule) -> Predictor:
    """Return the model that a Trainer validates: the attribute ``predictor`` of its module, or the module itself."""
    return getattr(module, "predictor", module)
