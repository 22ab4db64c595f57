"""A LightningModule around another model, so that a Trainer can launch its processes and move its network."""

from collections.abc import Sequence
from typing import Any

import pytorch_lightning as pl
from torch import nn

from heedful.lightning_modules.outputs import Outputs
from heedful.lightning_modules.predictor import Predictor
from heedful.lightning_modules.processors.processor import Encoded, Statistics
from heedful.records import Example, ModelError


class PredictorModule(pl.LightningModule):
    """Wraps a function, a server, a causal model or another model that is no LightningModule, so that a Trainer can
    validate it.

    Args:
        predictor: The model. Its ``network``, if it has one, becomes a submodule of that name.

    Attributes:
        predictor: The model.
    """

    def __init__(self, predictor: Predictor) -> None:
        super().__init__()
        self.predictor = predictor
        self._take_network()

    def _take_network(self) -> None:
        network = getattr(self.predictor, "network", None)
        if isinstance(network, nn.Module):
            self.network = network

    def setup(self, stage: str) -> None:
        if getattr(self.predictor, "task", None) is None:
            self.predictor.bind(self.trainer.datamodule.task)

    def configure_model(self) -> None:
        if hasattr(self.predictor, "configure_model"):
            self.predictor.configure_model()
            self._take_network()

    def encode(self, examples: Sequence[Example]) -> Encoded:
        """Return a view of examples that computes what the model reads, such as token counts, on first use."""
        return self.predictor.encode(examples)

    def require_known(self, statistics: Statistics, examples: str) -> None:
        """Raise an error if too many tokens are out of vocabulary; ``examples`` describes the data in the message."""
        self.predictor.require_known(statistics, examples)

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
