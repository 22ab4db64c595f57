"""Lightning's callbacks: the measured weights are the saved weights, or the callback is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from live_runs import QUIET, Fall, pairs, small, written
from pytorch_lightning import Callback, Trainer
from pytorch_lightning import callbacks as lightning
from safetensors.torch import load_file

import heedful
from heedful.callbacks import Accuracy, EvaluationCallback
from heedful.datamodules import Planted
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.optimizer import Schedule
from heedful.lightning_modules.weights import weights_hash
from heedful.records import SettingError

from commands import results_of
from refusals import refused
from tiers import first_tier

EPOCHS = 2


class Freeze(lightning.BaseFinetuning):
    """Freezes all weights except the head, and unfreezes them at an epoch."""

    def __init__(self, until: int = EPOCHS) -> None:
        super().__init__()
        self.until = until

    def freeze_before_training(self, module: Any) -> None:
        self.freeze(module.network.base_model)

    def finetune_function(self, module: Any, epoch: int, optimizer: torch.optim.Optimizer) -> None:
        if epoch >= self.until:
            self.unfreeze_and_add_param_group(module.network.base_model, optimizer, lr=1e-3)


WORK: dict[str, Callable[[], Callback]] = {
    "EMAWeightAveraging": lambda: lightning.EMAWeightAveraging(decay=0.5),
    "BaseFinetuning": Freeze,
    "WeightAveraging": lightning.WeightAveraging,
    "GradientAccumulationScheduler": lambda: lightning.GradientAccumulationScheduler({0: 2, 1: 1}),
    "DeviceStatsMonitor": lightning.DeviceStatsMonitor,
    "RichProgressBar": lightning.RichProgressBar,
}
REFUSED: dict[str, tuple[Callable[[], Callback], str]] = {
    "BackboneFinetuning": (lightning.BackboneFinetuning, "BaseFinetuning"),
    "StochasticWeightAveraging": (
        lambda: lightning.StochasticWeightAveraging(1e-3),
        "Use WeightAveraging.",
    ),
    "LearningRateFinder": (lambda: lightning.LearningRateFinder(num_training_steps=20), "Set model.learning_rate."),
    "BatchSizeFinder": (lightning.BatchSizeFinder, "Set data.batch_size."),
    "ModelPruning": (lambda: lightning.ModelPruning("l1_unstructured"), "Prune a trained model"),
}


def train(tiny_bert: Path, folder: Path, *callbacks: Callback, batch_size: int = 16, **more: Any) -> heedful.Run:
    """Train for two epochs on 64 examples, and keep all checkpoints."""
    settings = QUIET | {"max_epochs": EPOCHS, "callbacks": list(callbacks), **more}
    every = {"filename": "best-{epoch}", "save_top_k": -1, "auto_insert_metric_name": False}
    model = small(tiny_bert, learning_rate=1e-3)
    data = pairs(n_train=64, batch_size=batch_size)
    return heedful.train(model, data, trainer=settings, checkpoint=every, evaluations=["accuracy"], output=folder)


def checkpoints(folder: Path) -> list[dict[str, Any]]:
    """The checkpoints of each epoch."""
    return [torch.load(path, weights_only=True) for path in sorted(folder.glob("checkpoints/best-*.ckpt"))]


@pytest.mark.parametrize("name", first_tier(2, WORK))
def test_what_is_measured_with_a_callback_is_what_is_saved(name: str, tiny_bert: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = train(tiny_bert, folder, WORK[name](), enable_progress_bar=name == "RichProgressBar")
    best = torch.load(run.checkpoint, weights_only=True)["state_dict"]
    assert results_of(folder)["identity"]["weights"] == weights_hash(best)
    exported = load_file(folder / "checkpoints" / "backbone" / "model.safetensors")
    assert {f"network.{name}" for name in exported} == best.keys()
    assert all(torch.equal(value, best[f"network.{name}"]) for name, value in exported.items())
    again = heedful.evaluate(checkpoint=run.checkpoint, evaluations=["accuracy"], trainer=QUIET, output=tmp_path / "b")
    assert again.content["metrics"] == run.content["metrics"]


@pytest.mark.parametrize(
    ("callback", "facts"),
    [
        (lambda: lightning.EMAWeightAveraging(update_starting_at_epoch=7), ["EMAWeightAveraging", "after steps"]),
        *((callback, [name, what]) for name, (callback, what) in REFUSED.items()),
    ],
)
def test_a_callback_that_does_not_fit_is_refused(
    callback: Callable[[], Callback], facts: list[str], tiny_bert: Path, tmp_path: Path
) -> None:
    with refused(SettingError, *facts):
        train(tiny_bert, tmp_path / "run", callback(), batch_size=4)  # enough steps for a finder


@pytest.mark.slow
@pytest.mark.parametrize("callback", [lambda: Freeze(1), lambda: lightning.EMAWeightAveraging(decay=0.5)])
def test_a_resumed_run_with_a_callback_ends_in_the_same_weights(
    callback: Callable[[], Callback], tiny_bert: Path, tmp_path: Path
) -> None:
    train(tiny_bert, tmp_path / "whole", callback(), Fall(), max_epochs=3)
    with pytest.raises(ZeroDivisionError):
        train(tiny_bert, tmp_path / "cut", callback(), Fall(10), max_epochs=3)
    heedful.train(
        resume=tmp_path / "cut", data=pairs(n_train=64, batch_size=16), trainer={"callbacks": [callback(), Fall()]}
    )
    whole, cut = (checkpoints(tmp_path / name) for name in ("whole", "cut"))
    assert [weights_hash(c["state_dict"]) for c in whole] == [weights_hash(c["state_dict"]) for c in cut]
    assert written(tmp_path / "whole") == written(tmp_path / "cut")


def bound(model: Classifier, data: Planted) -> None:
    data.setup("fit")
    model.bind(data.task, trains=True)


@pytest.mark.parametrize("is_bound", [True, False])
def test_a_trainer_of_ones_own_has_weights_for_callbacks_once_the_model_is_bound(
    is_bound: bool, tiny_bert: Path
) -> None:
    model, data, freeze = small(tiny_bert), pairs(), Freeze()
    settings = {"accelerator": "cpu", "max_epochs": 1, "logger": False, "enable_checkpointing": False}
    trainer = Trainer(callbacks=[freeze, EvaluationCallback([Accuracy()])], enable_progress_bar=False, **settings)
    if is_bound:
        bound(model, data)
        trainer.fit(model, data)
        trained = {name for name, value in model.network.named_parameters() if value.requires_grad}
        assert trained == {"classifier.weight", "classifier.bias"}
    else:
        with refused(SettingError, "Freeze", "model.bind(data.task, trains=True)"):
            trainer.fit(model, data)


def test_weights_that_are_unfrozen_later_have_the_schedule_and_need_a_single_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Several processes would not average the gradients of these weights."""
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    schedule = Schedule(optimizer, lambda step: 0.5**step)
    for lr in (2.0, 4.0):
        optimizer.add_param_group({"params": [torch.ones(1, requires_grad=True)], "lr": lr})
        optimizer.step()
        if lr == 4.0:
            monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
            monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
            with refused(SettingError, "trainer.devices 1"):
                schedule.step()
        else:
            schedule.step()
            assert [group["lr"] for group in optimizer.param_groups] == [0.5, 1.0]
