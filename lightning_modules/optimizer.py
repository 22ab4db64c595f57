"""AdamW, with a learning rate that rises linearly from 0 and then falls linearly to 0."""

import math

import torch
from pytorch_lightning import Trainer
from pytorch_lightning.callbacks import GradientAccumulationScheduler
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from heedful.lightning_modules.lightning_internals import allow_clipping
from heedful.records import SettingError


def adamw(
    network: nn.Module, learning_rate: float, weight_decay: float, warmup: float, steps: float
) -> tuple[torch.optim.Optimizer, LambdaLR]:
    """Return AdamW for the trainable parameters of a network, and the schedule of its learning rate.

    Args:
        network: The network.
        learning_rate: Peak learning rate.
        weight_decay: Decoupled weight decay of matrices; biases and normalisation weights have none.
        warmup: Share of the steps over which the learning rate rises.
        steps: Number of optimizer steps, which must be finite.
    """
    if not math.isfinite(steps):
        raise SettingError("The learning rate falls over all steps, and they have no end. Set trainer.max_epochs.")
    trainable = [p for p in network.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trainable if p.ndim > 1], "weight_decay": weight_decay},
        {"params": [p for p in trainable if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=learning_rate, fused=True)
    allow_clipping(optimizer)
    last = max(1, int(steps))
    rising = max(1, round(warmup * last))
    falling = max(1, last - rising)
    return optimizer, Schedule(optimizer, lambda step: min((step + 1) / rising, max(0.0, (last - step) / falling)))


def expected_steps(trainer: Trainer) -> float:
    """Return the number of optimizer steps of a training run; unlike Lightning's estimate, it is right with a
    ``GradientAccumulationScheduler``.
    """
    steps = trainer.estimated_stepping_batches
    scheduler = next((c for c in trainer.callbacks if isinstance(c, GradientAccumulationScheduler)), None)
    if scheduler is None or not math.isfinite(steps) or trainer.max_epochs in (None, -1):
        return steps
    factors = map(scheduler.get_accumulate_grad_batches, range(trainer.max_epochs))
    steps = sum(math.ceil(trainer.num_training_batches / factor) for factor in factors)
    return steps if trainer.max_steps == -1 else min(steps, trainer.max_steps)


class Schedule(LambdaLR):
    """A learning-rate schedule that, unlike ``LambdaLR``, includes parameter groups that a callback adds later."""

    def step(self, epoch: int | None = None) -> None:
        for group in self.optimizer.param_groups[len(self.lr_lambdas) :]:
            if torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1:
                raise SettingError(
                    "A callback unfroze weights, and the processes would not average their gradients. Train with "
                    "trainer.devices 1."
                )
            self.lr_lambdas.append(self.lr_lambdas[0])
            if len(self.base_lrs) < len(self.lr_lambdas):  # a loaded checkpoint has the learning rate already
                self.base_lrs.append(group.setdefault("initial_lr", group["lr"]))
        super().step(epoch)
