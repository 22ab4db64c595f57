"""The processes of a measurement: their ranks, their communication, and the device and precision of the model."""

import sys
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

from heedful.datamodules.base import processes


class Processes:
    """Provides the rank of this process, the number of processes and the device; gathers values from all processes.

    This class is for a measurement without a Trainer, in one process: the rank is 0, and the device is the CPU. The
    subclass :class:`~heedful.callbacks.engine.trainer_processes.TrainerProcesses` is for the processes of a Trainer.

    Args:
        shows_progress: Whether to show progress bars.

    Attributes:
        device: The device of the model.
    """

    device: Any = SimpleNamespace(type="cpu")  # a torch.device, but torch need not be imported

    gather = staticmethod(processes.gather)
    gather_patiently = staticmethod(processes.gather_patiently)
    send_error = staticmethod(processes.send_error)
    keep_waiting_alive = staticmethod(processes.keep_waiting_alive)
    to_first = staticmethod(processes.to_first)
    by_first = staticmethod(processes.by_first)
    require_alike = staticmethod(processes.require_alike)

    def __init__(self, shows_progress: bool = False) -> None:
        self.shows_progress = shows_progress

    @property
    def rank(self) -> int:
        """Rank of this process."""
        return 0

    @property
    def world_size(self) -> int:
        """Number of processes."""
        return 1

    @property
    def is_first(self) -> bool:
        """Whether this process has rank 0, which makes and writes the rows."""
        return processes.is_first()

    def precision(self) -> AbstractContextManager[None]:
        """Return a context manager in which the model computes without gradients and in the precision of the run."""
        torch = sys.modules.get("torch")  # a function may compute without torch
        return nullcontext() if torch is None else torch.inference_mode()

    def to_device(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Move the tensors of a batch to the device of the model."""
        return batch
