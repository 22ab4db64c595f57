"""Training with the engine: checkpoints, monitored metrics, and weights that other callbacks change."""

import pytest
import torch
from pytorch_lightning import Callback

from benchmarks.bare_runs import fitted
from heedful.callbacks import Accuracy, Attentiveness, BestCheckpoint, EvaluationCallback
from heedful.callbacks.checkpoints.files import best_of
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder
from heedful.records import RunError, SettingError

from refusals import refused
from tiers import first_tier


def fit(tiny_bert, folder, epochs=2, monitor=None, callbacks=(), **data):
    """Train the tiny BERT; returns (trainer, module, checkpoint callback)."""
    torch.manual_seed(0)  # the new head
    data = Planted(**{"n_train": 120, "n_validation": 24, **data})
    module = Encoder(str(tiny_bert), max_length=64, learning_rate=1e-3)
    checkpoint = BestCheckpoint(monitor=monitor, dirpath=folder)
    settings = {"accelerator": "cpu", "max_epochs": epochs, "enable_checkpointing": True}
    fitted(module, data, [Accuracy(), Attentiveness(draws=2)], [checkpoint, *callbacks], **settings)
    return module.trainer, module, checkpoint


def engine_of(trainer):
    return next(c for c in trainer.callbacks if isinstance(c, EvaluationCallback))


class AlwaysDefault(Encoder):
    """Predicts the default label for every input from the second epoch on."""

    def logits(self, inputs):
        scores = super().logits(inputs)
        if not self.training and self.current_epoch > 0:
            scores = scores * 0 + torch.tensor([0.0, 1.0, 0.0])
        return scores


def test_best_and_last_checkpoints(tiny_bert, tmp_path):
    """Every number of an epoch may be monitored; of losses the lowest is the best."""
    trainer, module, checkpoint = fit(tiny_bert, tmp_path)
    assert {p.name for p in tmp_path.iterdir()} == {"best.ckpt", "last.ckpt"}
    last = torch.load(tmp_path / "last.ckpt", weights_only=True)
    assert last["global_step"] == trainer.global_step == 8
    assert checkpoint.monitor == "accuracy/planted"
    engine = engine_of(trainer)
    assert len(engine.measurements) > 12
    assert all(map(engine.plans.is_known, engine.measurements))
    for loss in ("loss/train", "loss/planted"):
        BestCheckpoint(loss, mode="min").require_known(engine.plans, trainer.datamodule)
        assert BestCheckpoint(loss).mode == "min"
    measured = engine.measurements["loss/planted"].value
    assert trainer.callback_metrics["loss/planted"].item() == pytest.approx(measured, rel=1e-6)


def test_the_lower_bound_of_an_interval_can_be_monitored_unless_there_are_few_examples(tiny_bert, tmp_path):
    name = "attentiveness/planted/premise"
    trainer, module, checkpoint = fit(tiny_bert, tmp_path / "many", epochs=1, monitor=f"{name}/low", n_train=16)
    assert checkpoint.best_model_score.item() == pytest.approx(engine_of(trainer).measurements[name].ci95[0])
    trainer, *_ = fit(tiny_bert, tmp_path / "few", epochs=1, n_train=16, n_validation=9)
    assert 0 < engine_of(trainer).measurements[name].n < 10
    assert not {name, f"{name}/low", f"{name}/high"} & set(trainer.callback_metrics)


def test_a_misspelled_metric_is_named_with_a_suggestion_after_the_first_epoch(tiny_bert, tmp_path, caplog):
    with caplog.at_level("INFO"):
        fit(tiny_bert, tmp_path, epochs=1, monitor="accuracy/planted/majorty", n_train=8)
    assert "accuracy/planted/majorty" in caplog.text
    assert "accuracy/planted/majority?" in caplog.text


@pytest.mark.slow
def test_an_undefined_metric_is_not_the_best_and_stops_nothing(tiny_bert, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "Encoder", AlwaysDefault)
    monitor = "attentiveness/planted/premise"
    trainer, _, checkpoint = fit(tiny_bert, tmp_path, epochs=3, monitor=monitor)
    assert trainer.current_epoch == 3
    assert torch.load(tmp_path / "last.ckpt", weights_only=True)["epoch"] == 2
    if checkpoint.best_model_path:  # the metric may be defined in the first epoch only
        assert torch.load(checkpoint.best_model_path, weights_only=True)["epoch"] == 0


@pytest.mark.parametrize(
    ("monitor", "meant"),
    [
        ("accuracy/planned", "mean accuracy/planted?"),
        ("attentiveness/planted/premises", "mean attentiveness/planted/premise?"),
        ("perplexity", "accuracy/planted, attentiveness/planted/premise, "),
    ],
)
def test_a_monitor_that_no_evaluation_may_yield_is_refused(tiny_bert, tmp_path, monitor, meant):
    with refused(SettingError, f"monitor {monitor} ", meant):
        fit(tiny_bert, tmp_path, monitor=monitor)
    assert not list(tmp_path.iterdir())


def test_several_best_checkpoints_need_a_field_in_the_file_name():
    with refused(SettingError, "checkpoint.save_top_k", "checkpoint.filename"):
        BestCheckpoint(save_top_k=2)
    assert BestCheckpoint(save_top_k=2, filename="best-{epoch}").save_top_k == 2


def test_the_best_checkpoint_of_a_run(tmp_path):
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


class Exchange(Callback):
    """Replaces the weights between two hooks, as a callback that averages weights does."""

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
def test_no_best_checkpoint_is_written_if_its_weights_were_not_measured(tiny_bert, tmp_path, hooks):
    with refused(RunError, "best.ckpt", "callbacks"):
        fit(tiny_bert, tmp_path, epochs=1, callbacks=[Exchange(*hooks, "fit")])
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
def test_there_are_no_results_if_the_measured_weights_are_not_the_checkpoint(tiny_bert, tmp_path, hooks, what):
    trainer, module, checkpoint = fit(tiny_bert, tmp_path, epochs=1, callbacks=[Exchange(*hooks, "validate")])
    with refused(RunError, what, "callbacks"):
        trainer.validate(module, trainer.datamodule, ckpt_path=checkpoint.best_model_path, verbose=False)
