"""Describe the processes of a Trainer, and stop them all at the same step after SIGTERM, so that none waits for
another.
"""

from contextlib import AbstractContextManager
from typing import Any

import torch
from pytorch_lightning import Trainer

from heedful.callbacks.engine.processes import Processes
from heedful.lightning_modules.lightning_internals import leave_sigterm
from heedful.records.messages import has_bars
from heedful.stopping import Stopped, postpone, requested


class TrainerProcesses(Processes):
    """The processes of a Trainer, on its device and in its precision.

    Args:
        trainer: The Trainer, after the setup of its strategy.
    """

    def __init__(self, trainer: Trainer) -> None:
        super().__init__(trainer.progress_bar_callback is not None and trainer.is_global_zero and has_bars())
        self.trainer = trainer
        self.device: torch.device = trainer.strategy.root_device

    @property
    def rank(self) -> int:
        return self.trainer.global_rank

    @property
    def world_size(self) -> int:
        return self.trainer.world_size

    def precision(self) -> AbstractContextManager[None]:
        return self.trainer.precision_plugin.val_step_context()

    def to_device(self, batch: dict[str, Any]) -> dict[str, Any]:
        return self.trainer.strategy.batch_to_device(batch)


def is_stop_requested(trainer: Trainer) -> bool:
    """Whether any process has received SIGTERM; must run on all ranks."""
    return trainer.strategy.reduce_boolean_decision(requested(), all=False)


def stop_if_requested(trainer: Trainer) -> None:
    """Raise Stopped in all processes if any process has received SIGTERM; must run on all ranks."""
    if is_stop_requested(trainer):
        raise Stopped


def replace_sigterm_handler(trainer: Trainer) -> None:
    """Disable Lightning's handler of SIGTERM, which exits with status 0 and may stop processes at different steps."""
    leave_sigterm(trainer)
    if trainer.world_size > 1:
        postpone()
