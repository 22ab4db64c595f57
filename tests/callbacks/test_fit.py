"""Training with the callbacks in place: checkpoints, undefined metrics, resuming, figures, folders."""

import pytest
import torch
from pytorch_lightning import Callback

from benchmarks.bare_runs import fitted
from heedful.callbacks import Accuracy, Attentiveness, BestCheckpoint, Engine
from heedful.callbacks.checkpoints.files import best_of
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder
from heedful.records import RunError, SettingError

from refusals import refused
from tiers import first_tier


def fit(tiny_bert, folder, epochs=2, monitor=None, ckpt_path=None, stop_after=None, precision=None, **data):
    """Train the tiny BERT; returns (trainer, module, checkpoint callback)."""
    torch.manual_seed(0)  # the new head
    data = Planted(**{"n_train": 120, "n_validation": 24, **data})
    module = Encoder(str(tiny_bert), max_length=64, learning_rate=1e-3)
    checkpoint = BestCheckpoint(monitor=monitor, dirpath=folder)
    evaluations = [Accuracy(), Attentiveness(draws=2)]
    outputs = [checkpoint, *(stop_after or [])]
    settings = {"accelerator": "cpu", "max_epochs": epochs, "precision": precision, "enable_checkpointing": True}
    fitted(module, data, evaluations, outputs, ckpt_path=ckpt_path, **settings)
    return module.trainer, module, checkpoint


class AlwaysDefault(Encoder):
    """Predicts the default label from the second epoch on, whatever it is given."""

    def logits(self, inputs):
        scores = super().logits(inputs)
        if not self.training and self.current_epoch > 0:
            scores = scores * 0 + torch.tensor([0.0, 1.0, 0.0])
        return scores


def test_best_and_last_checkpoints(tiny_bert, tmp_path):
    trainer, module, checkpoint = fit(tiny_bert, tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"best.ckpt", "last.ckpt"}
    last = torch.load(tmp_path / "last.ckpt", weights_only=True)
    assert last["global_step"] == trainer.global_step == 8
    assert checkpoint.monitor == "accuracy/planted"


def test_the_lower_end_of_an_interval_can_be_monitored_and_few_examples_cannot(tiny_bert, tmp_path):
    name = "attentiveness/planted/premise"
    trainer, module, checkpoint = fit(tiny_bert, tmp_path / "many", epochs=1, monitor=f"{name}/low", n_train=16)
    measured = next(c for c in trainer.callbacks if isinstance(c, Engine)).measurements
    assert checkpoint.best_model_score.item() == pytest.approx(measured[name].ci95[0])
    trainer, *_ = fit(tiny_bert, tmp_path / "few", epochs=1, n_train=16, n_validation=9)
    measured = next(c for c in trainer.callbacks if isinstance(c, Engine)).measurements
    assert 0 < measured[name].n < 10
    assert not {name, f"{name}/low", f"{name}/high"} & set(trainer.callback_metrics)


@pytest.mark.slow
def test_the_best_loss_is_the_lowest(tiny_bert, tmp_path):
    _, module, _ = fit(tiny_bert, tmp_path, epochs=1)
    engine, data = next(c for c in module.trainer.callbacks if isinstance(c, Engine)), module.trainer.datamodule
    for loss in ("loss/train", "loss/planted"):
        BestCheckpoint(loss, mode="min").require_known(engine.plans, data)
        assert BestCheckpoint(loss).mode == "min"
    measured = engine.measurements["loss/planted"].value
    assert module.trainer.callback_metrics["loss/planted"].item() == pytest.approx(measured, rel=1e-6)
    (chart,) = [chart for chart in engine.plans.charts if chart.title == "loss"]
    assert [str(name) for name in chart.curves.values()] == ["loss/train", "loss/planted"]


@pytest.mark.slow
def test_an_undefined_metric_is_not_the_best_and_stops_nothing(tiny_bert, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "Encoder", AlwaysDefault)
    monitor = "attentiveness/planted/premise"
    trainer, _, checkpoint = fit(tiny_bert, tmp_path, epochs=3, monitor=monitor)
    assert trainer.current_epoch == 3
    assert torch.load(tmp_path / "last.ckpt", weights_only=True)["epoch"] == 2
    if checkpoint.best_model_path:  # the first epoch may be defined; the later ones are not
        assert torch.load(checkpoint.best_model_path, weights_only=True)["epoch"] == 0


@pytest.mark.parametrize(
    ("monitor", "meant"),
    [
        ("accuracy/planted/nonsense", "mean accuracy/planted?"),
        ("attentiveness/planted/premise/entailed", "mean attentiveness/planted/premise?"),
        ("perplexity", "accuracy/planted, attentiveness/planted/premise, "),
    ],
)
def test_a_monitor_that_no_evaluation_may_yield_is_refused(tiny_bert, tmp_path, monitor, meant):
    with refused(SettingError, f"monitor {monitor} ", meant):
        fit(tiny_bert, tmp_path, monitor=monitor)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_every_number_of_an_epoch_but_noise_may_be_monitored(tiny_bert, tmp_path):
    _, module, _ = fit(tiny_bert, tmp_path, epochs=1)
    engine = next(c for c in module.trainer.callbacks if isinstance(c, Engine))
    assert len(engine.measurements) > 12
    assert [name for name in engine.measurements if not engine.plans.is_known(name)] == ["null/planted/max_change"]


def test_several_best_checkpoints_need_names_of_their_own():
    with refused(SettingError, "checkpoint.save_top_k", "checkpoint.filename"):
        BestCheckpoint(save_top_k=2)
    assert BestCheckpoint(save_top_k=2, filename="best-{epoch}").save_top_k == 2


def test_the_best_checkpoint_of_a_run_or_what_to_do_without(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    best, last, other = (tmp_path / "checkpoints" / name for name in ("best.ckpt", "last.ckpt", "best-2.ckpt"))
    with refused(RunError, "checkpoint x", best, "none", f"resume {tmp_path}"):
        best_of(tmp_path, "--checkpoint x", finished=True)
    other.touch()
    with refused(RunError, "checkpoint x", best, other, f"resume {tmp_path}"):
        best_of(tmp_path, "--checkpoint x", finished=False)
    last.touch()
    assert best_of(tmp_path, "--checkpoint x", finished=True) == last
    best.touch()
    assert best_of(tmp_path, "--checkpoint x", finished=False) == best


@pytest.mark.slow
def test_a_resumed_run_ends_in_the_same_weights(tiny_bert, tmp_path):
    _, whole, _ = fit(tiny_bert, tmp_path / "whole", epochs=3, augment="counterfactual")

    class Stop(Callback):
        def on_train_epoch_start(self, trainer, pl_module):
            if trainer.current_epoch == 2:
                raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        fit(tiny_bert, tmp_path / "cut", epochs=3, augment="counterfactual", stop_after=[Stop()])
    last = str(tmp_path / "cut" / "last.ckpt")
    _, resumed, _ = fit(tiny_bert, tmp_path / "cut", epochs=3, augment="counterfactual", ckpt_path=last)
    for (name, a), b in zip(whole.state_dict().items(), resumed.state_dict().values(), strict=True):
        assert torch.equal(a, b), name


class Exchange(Callback):
    """Has other weights between two hooks, as a callback that averages them has."""

    def __init__(self, first, last, stage):
        self.kept, self.stage = None, stage
        setattr(self, last, self.back)
        setattr(self, first, self.forth)

    def forth(self, trainer, module, *_):
        if trainer.state.fn == self.stage and self.kept is None:
            self.kept = module.network.classifier.bias.detach().clone()
            module.network.classifier.bias.data += 1

    def back(self, trainer, module, *_):
        if self.kept is not None:
            module.network.classifier.bias.data.copy_(self.kept)
            self.kept = None


EPOCH = ("on_validation_epoch_start", "on_validation_epoch_end")


@pytest.mark.slow
@pytest.mark.parametrize("hooks", [EPOCH, ("on_train_epoch_end", "on_train_epoch_start")])
def test_a_best_checkpoint_of_other_weights_than_were_measured_is_not_written(tiny_bert, tmp_path, hooks):
    with refused(RunError, "best.ckpt", "callbacks"):
        fit(tiny_bert, tmp_path, epochs=1, stop_after=[Exchange(*hooks, "fit")])
    assert not (tmp_path / "best.ckpt").exists()


@pytest.mark.parametrize(
    ("hooks", "what"),
    first_tier(
        1,
        [
            (EPOCH, "best.ckpt (1 of its weights differ, such as network.classifier.bias)"),
            (("on_validation_start", "on_validation_end"), "best.ckpt"),
            (("on_validation_batch_start", "on_validation_batch_end"), "one model"),
            (("on_validation_batch_end", "on_validation_end"), "one model"),
        ],
    ),
)
def test_other_weights_than_those_of_the_checkpoint_make_no_results(tiny_bert, tmp_path, hooks, what):
    trainer, module, checkpoint = fit(tiny_bert, tmp_path, epochs=1, stop_after=[Exchange(*hooks, "validate")])
    with refused(RunError, what, "callbacks"):
        trainer.validate(module, trainer.datamodule, ckpt_path=checkpoint.best_model_path, verbose=False)
