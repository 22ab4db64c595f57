"""The processes of a Trainer, on its device and in its precision."""

from contextlib import AbstractContextManager
from typing import Any

import torch
from pytorch_lightning import Trainer

from heedful.callbacks.engine.processes import Processes
from heedful.reports.html.table import has_bars


class TrainerProcesses(Processes):
    """The processes that a Trainer has connected.

    Args:
        trainer: The Trainer, whose strategy is set up.
    """

    def __init__(self, trainer: Trainer) -> None:
        super().__init__(trainer.progress_bar_callback is not None and trainer.is_global_zero and has_bars())
        self.trainer = trainer

    @property
    def rank(self) -> int:
        return self.trainer.global_rank

    @property
    def world_size(self) -> int:
        return self.trainer.world_size

    @property
    def device(self) -> torch.device:
        """The device of this process."""
        return self.trainer.strategy.root_device

    def precision(self) -> AbstractContextManager[None]:
        return self.trainer.precision_plugin.val_step_context()

    def to_device(self, batch: dict[str, Any]) -> dict[str, Any]:
        return self.trainer.strategy.batch_to_device(batch)
