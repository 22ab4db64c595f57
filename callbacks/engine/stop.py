"""Where a run stops after SIGTERM: the processes agree on it, and none leaves the others waiting in a collective."""

from pytorch_lightning import Trainer

from heedful.lightning_modules.lightning_internals import leave_sigterm
from heedful.records.stopping import Stopped, postpone, requested


def is_asked(trainer: Trainer) -> bool:
    """Whether SIGTERM came to any process; a collective, which all processes call at the same place."""
    return trainer.strategy.reduce_boolean_decision(requested(), all=False)


def stop_if_asked(trainer: Trainer) -> None:
    """End all processes here if SIGTERM came to one; a collective.

    Raises:
        Stopped: It came.
    """
    if is_asked(trainer):
        raise Stopped


def take_over(trainer: Trainer) -> None:
    """Keep Lightning from answering SIGTERM: its processes do not agree on a step, and the exit status is 0.

    Several processes, once they are connected, only note the signal until they meet.
    """
    leave_sigterm(trainer)
    if trainer.world_size > 1:
        postpone()
