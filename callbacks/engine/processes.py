"""The processes of a measurement: the rank, device and precision of this process, and SIGTERM in all processes."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

from heedful.datamodules.base.processes import keep_waiting_alive
from heedful.records.messages import has_bars
from heedful.stopping import Stopped, requested

if TYPE_CHECKING:
    from pytorch_lightning import Trainer


def _inference() -> AbstractContextManager[None]:
    torch = sys.modules.get("torch")  # a function may compute without torch
    return nullcontext() if torch is None else torch.inference_mode()


class Processes(NamedTuple):
    """The processes of a measurement, as this process sees them; by default a single process without a Trainer.

    Attributes:
        shows_progress: Whether to show progress bars.
        rank: Rank of this process.
        world_size: Number of processes.
        device: The device of the model, a torch.device; an object with its ``type`` if torch is not imported.
        precision: Returns a context manager in which the model computes without gradients, in the run's precision.
        to_device: Moves the tensors of a batch to the device.
        keep_waiting_alive: Prevents a timeout of processes that wait for this one; a slow model calls it often.
    """

    shows_progress: bool = False
    rank: int = 0
    world_size: int = 1
    device: Any = SimpleNamespace(type="cpu")
    precision: Callable[[], AbstractContextManager[None]] = _inference
    to_device: Callable[[dict[str, Any]], dict[str, Any]] = dict
    keep_waiting_alive: Callable[[], None] = keep_waiting_alive

    @classmethod
    def of(cls, trainer: "Trainer") -> "Processes":
        """Return the processes of a Trainer; call it after the setup of the Trainer's strategy."""
        return cls(
            trainer.progress_bar_callback is not None and trainer.is_global_zero and has_bars(),
            trainer.global_rank,
            trainer.world_size,
            trainer.strategy.root_device,
            trainer.precision_plugin.val_step_context,
            trainer.strategy.batch_to_device,
        )


def is_stop_requested(trainer: "Trainer") -> bool:
    """Whether any process has received SIGTERM; must run on all ranks."""
    return trainer.strategy.reduce_boolean_decision(requested(), all=False)


def stop_if_requested(trainer: "Trainer") -> None:
    """Raise Stopped in all processes if any process has received SIGTERM; must run on all ranks."""
    if is_stop_requested(trainer):
        raise Stopped
