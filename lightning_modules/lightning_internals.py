"""Every private part of Lightning, torch and TensorBoard that Heedful leans on, a function each.

They exist in the versions that ``setup.cfg`` allows; another version may rename or redefine any of them. Each has a
test, and no other file uses one.
"""

import signal

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint, ModelPruning, WeightAveraging
from pytorch_lightning.strategies.launchers import _SubprocessScriptLauncher
from torch import Tensor
from torch.optim import Optimizer


def kept_metrics(trainer: Trainer) -> dict[str, Tensor]:
    """The metrics that callbacks see, to be changed in place; ``trainer.callback_metrics`` would compute them first."""
    return trainer._logger_connector._callback_metrics


def leave_sigterm(trainer: Trainer) -> None:
    """Keep Lightning from answering SIGTERM; call it in ``setup`` of a callback, before its handlers are in place."""
    trainer._signal_connector._sigterm_notifier_fn = lambda *_: None


def end_processes(trainer: Trainer) -> None:
    """Send SIGTERM to the other processes that Lightning has started."""
    if isinstance(trainer.strategy.launcher, _SubprocessScriptLauncher):
        trainer.strategy.launcher.kill(signal.SIGTERM)


def accumulates(trainer: Trainer) -> bool:
    """Whether the batch that was just processed belongs to a step that needs more batches."""
    return trainer.fit_loop.epoch_loop._should_accumulate()


def trains_next(trainer: Trainer) -> bool:
    """Whether another batch of this epoch follows on the one that was just processed, and not a validation."""
    loop = trainer.fit_loop.epoch_loop
    return not loop._is_training_done and not loop._should_check_val_fx(trainer.fit_loop._data_fetcher)


def averaged_model(callback: WeightAveraging) -> LightningModule | None:
    """The copy of the model whose weights are averages; None before a training."""
    return None if callback._average_model is None else callback._average_model.module


def prunes_for_good(callback: ModelPruning) -> bool:
    """Whether weights are pruned at the end of an epoch, after validation, and saved without their masks."""
    return callback._prune_on_train_epoch_end and callback._make_pruning_permanent


def save_after_validation(checkpoint: ModelCheckpoint) -> None:
    """Save at the end of a validation, and not at the end of the epoch, after other callbacks."""
    checkpoint._save_on_train_epoch_end = False


def allow_clipping(optimizer: Optimizer) -> None:
    """Have Lightning clip the gradients of a fused optimizer, which it refuses in mixed precision."""
    optimizer._step_supports_amp_scaling = False
