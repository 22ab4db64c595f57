"""Tests that private APIs of Lightning, torch and transformers exist and behave as Heedful expects."""

import copy
import inspect
import os
import signal

import pytest
import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from pytorch_lightning.callbacks import ModelCheckpoint, WeightAveraging
from transformers import AutoModelForSequenceClassification, BertConfig, XLNetConfig

from heedful.callbacks import BestCheckpoint
from heedful.lightning_modules import lightning_internals as internals
from heedful.lightning_modules.text.attention import avoid_checks

from tiers import posix


class Small(LightningModule):
    def __init__(self, optimizer=torch.optim.SGD, **settings):
        super().__init__()
        self.layer, self.optimizer, self.settings = torch.nn.Linear(2, 1), optimizer, settings

    def training_step(self, batch, batch_idx):
        self.log("loss", loss := self.layer(batch).sum() * 1000)
        return loss

    def validation_step(self, batch, batch_idx):
        self.log("score", 1.0)

    def configure_optimizers(self):
        return self.optimizer(self.parameters(), lr=0.1, **self.settings)


def fitted(*callbacks, module=None, batches=5, epochs=1, ckpt_path=None, **settings):
    quiet = dict.fromkeys(("logger", "enable_progress_bar", "enable_model_summary", "enable_checkpointing"), False)
    settings = {"max_epochs": epochs, "num_sanity_val_steps": 0, "accelerator": "cpu", **quiet, **settings}
    trainer = Trainer(callbacks=list(callbacks), **settings)
    data = torch.utils.data.DataLoader(torch.ones(batches, 2), batch_size=1)
    trainer.fit(module or Small(), data, torch.utils.data.DataLoader(torch.ones(1, 2)), ckpt_path=ckpt_path)
    return trainer


class Watch(Callback):
    """Calls a function with the trainer after each batch, and records its results."""

    def __init__(self, function):
        self.function, self.seen = function, []

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.seen.append(self.function(trainer))


def test_kept_metrics_can_be_added_and_taken_away():
    trainer = fitted()
    kept = internals.kept_metrics(trainer)
    assert kept.keys() == trainer.callback_metrics.keys() == {"loss", "score"}
    del kept["score"]
    kept["added"] = torch.tensor(2.0)
    assert trainer.callback_metrics.keys() == {"loss", "added"}


@posix
@pytest.mark.parametrize("left", [True, False])
def test_leave_sigterm_keeps_lightning_from_ending_the_run(left):
    """By default, Lightning ends the run at the next batch."""

    class Leave(Callback):
        def setup(self, trainer, pl_module, stage):
            if left:
                internals.leave_sigterm(trainer)

    noted = []
    before = signal.signal(signal.SIGTERM, lambda *_: noted.append(1))
    watch = Watch(lambda trainer: trainer.global_step == 2 and os.kill(os.getpid(), signal.SIGTERM))
    try:
        if left:
            assert not fitted(Leave(), watch).received_sigterm
        else:
            with pytest.raises(SystemExit):
                fitted(Leave(), watch)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert noted == [1]
    assert len(watch.seen) == (5 if left else 2)


@pytest.mark.filterwarnings("ignore:The dirpath has changed")
def test_resume_by_epochs_counts_an_epoch_once(tmp_path):
    """By default, the resumed epoch has number 2, whose data have another order."""

    class Resume(Watch):
        def setup(self, trainer, pl_module, stage):
            internals.resume_by_epochs(trainer)

    settings = {"epochs": -1, "enable_checkpointing": True}
    fitted(saving := ModelCheckpoint(tmp_path, save_last=True), max_steps=5, **settings)
    watch = Resume(lambda trainer: trainer.fit_loop.epoch_progress.current.processed)
    fitted(watch, ckpt_path=saving.last_model_path, max_steps=8, **settings, default_root_dir=tmp_path)
    assert watch.seen == [1, 1, 1]


def test_averaged_model_is_what_a_training_ends_with():
    averaging = WeightAveraging()
    assert internals.averaged_model(averaging) is None
    trainer = fitted(averaging)
    averaged, left = internals.averaged_model(averaging), trainer.lightning_module
    assert averaged is not left
    assert torch.equal(averaged.layer.weight, left.layer.weight)


def test_accumulates_until_a_step_is_made():
    watch = Watch(internals.accumulates)
    fitted(watch, accumulate_grad_batches=2)
    assert watch.seen == [True, False, True, False, False]  # Lightning steps at the end of an epoch


@pytest.mark.parametrize(
    ("settings", "seen"),
    [
        ({}, [True] * 4 + [False]),
        ({"val_check_interval": 2}, [True, False, True, False, False]),
        ({"max_steps": 3}, [True, True, False]),
        ({"epochs": 2, "check_val_every_n_epoch": 2}, ([True] * 4 + [False]) * 2),
    ],
)
def test_trains_next_unless_a_validation_or_the_end_comes(settings, seen):
    watch = Watch(internals.trains_next)
    fitted(watch, **settings)
    assert watch.seen == seen


def test_allow_clipping_of_a_fused_optimizer():
    """By default, Lightning refuses it in mixed precision. The gradients are 1,000."""

    class Allowed(Small):
        def configure_optimizers(self):
            optimizer = super().configure_optimizers()
            internals.allow_clipping(optimizer)
            return optimizer

    class Norm(Callback):
        def on_before_zero_grad(self, trainer, pl_module, optimizer):
            norms.extend(p.grad.norm().item() for p in pl_module.parameters() if p.grad is not None)

    norms, settings = [], {"precision": "bf16-mixed", "gradient_clip_val": 0.5}
    with pytest.raises(RuntimeError, match="does not allow for gradient clipping"):
        fitted(module=Small(torch.optim.AdamW, fused=True), **settings)
    fitted(Norm(), module=Allowed(torch.optim.AdamW, fused=True), **settings)
    assert norms
    assert max(norms) < 0.51


def test_what_subclasses_take_from_their_bases():
    """BestCheckpoint overrides these methods, which Lightning calls with the same arguments."""
    for name in ("_save_topk_checkpoint", "_save_last_checkpoint", "_save_checkpoint"):
        own, base = (inspect.signature(getattr(kind, name)).parameters for kind in (BestCheckpoint, ModelCheckpoint))
        assert list(own) == list(base)
    assert ModelCheckpoint()._last_global_step_saved == 0


@pytest.mark.parametrize(
    ("config", "implementation", "expected"),
    [
        (BertConfig, "sdpa", True),
        (BertConfig, "eager", False),
        (XLNetConfig, None, False),
    ],
)
def test_networks_with_sdpa_attention_are_known(config, implementation, expected):
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    settings = {} if implementation is None else {"attn_implementation": implementation}
    sizes |= {"d_head": 4} if config is XLNetConfig else {}
    network = AutoModelForSequenceClassification.from_config(config(**sizes, vocab_size=9), **settings)
    assert internals.uses_sdpa(network) == expected
    avoid_checks(network)
    ids, mask = torch.tensor([[1, 2, 3], [4, 5, 0]]), torch.tensor([[1, 1, 1], [1, 1, 0]])
    again = copy.deepcopy(network.eval())
    if expected:
        again.set_attn_implementation("sdpa")
    with torch.no_grad():
        for rows in (slice(0, 1), slice(0, 2)):  # without padding, and with padding
            pair = [each(input_ids=ids[rows], attention_mask=mask[rows]).logits for each in (network, again)]
            assert torch.equal(*pair)
