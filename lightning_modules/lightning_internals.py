"""Private APIs of Lightning, torch and transformers, one tested function each; no other file uses private APIs."""

from pytorch_lightning import LightningModule, Trainer
from pytorch_lightning.callbacks import WeightAveraging
from torch import Tensor
from torch.optim import Optimizer
from transformers import PreTrainedModel


def kept_metrics(trainer: Trainer) -> dict[str, Tensor]:
    """Return the dictionary behind ``trainer.callback_metrics``, which may be changed; it computes no metrics."""
    return trainer._logger_connector._callback_metrics


def leave_sigterm(trainer: Trainer) -> None:
    """Prevent Lightning from handling SIGTERM; call it in ``setup`` of a callback, before handlers are installed."""
    trainer._signal_connector._sigterm_notifier_fn = lambda *_: None


def resume_by_epochs(trainer: Trainer) -> None:
    """Resume after a finished epoch with the next epoch; with ``max_steps``, Lightning would count the epoch twice."""
    trainer.fit_loop._iteration_based_training = lambda: False  # type: ignore[method-assign]


def accumulates(trainer: Trainer) -> bool:
    """Whether the current batch only accumulates gradients, without an optimizer step."""
    return trainer.fit_loop.epoch_loop._should_accumulate()


def trains_next(trainer: Trainer) -> bool:
    """Whether training continues with another batch of this epoch, before the next validation."""
    loop = trainer.fit_loop.epoch_loop
    return not loop._is_training_done and not loop._should_check_val_fx(trainer.fit_loop._data_fetcher)


def averaged_model(callback: WeightAveraging) -> LightningModule | None:
    """Return the copy of the model in which a callback averages weights; None before training."""
    return None if callback._average_model is None else callback._average_model.module


def allow_clipping(optimizer: Optimizer) -> None:
    """Let Lightning clip the gradients of a fused optimizer in mixed precision; Lightning refuses this by default."""
    optimizer._step_supports_amp_scaling = False


def uses_sdpa(network: PreTrainedModel) -> bool:
    """Whether a network of transformers computes attention by "sdpa", and can compute it by another function."""
    return network.config._attn_implementation == "sdpa" and network._can_set_attn_implementation()
