"""Where a run stops after SIGTERM: the processes agree on it, and none leaves the others waiting in a collective."""

from typing import Any

from pytorch_lightning import Trainer

from records.stopping import Stopped, postpone, requested


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
    trainer._signal_connector._sigterm_notifier_fn = lambda *_: None
    if trainer.world_size > 1:
        postpone()


def rewind_validation(loops: dict[str, Any]) -> None:
    """Change the progress of Lightning's loops so that a run that goes on from it validates first, from the beginning.

    Args:
        loops: ``loops`` of a checkpoint written within the validation of a training.
    """
    begun = {"ready": 1, "started": 1, "processed": 0, "completed": 0}  # as Lightning knows an unfinished one
    loops["fit_loop"]["epoch_loop.val_loop.batch_progress"] = {
        "total": dict(begun),
        "current": dict(begun),
        "is_last_batch": False,
    }
