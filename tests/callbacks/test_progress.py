"""The metrics of the progress bar, and the lines of a training without a terminal."""

from types import SimpleNamespace

import torch

from heedful.callbacks import Accuracy, Attentiveness, EvaluationCallback, Setting
from heedful.callbacks.engine.evaluation import LOSS, Plans
from heedful.callbacks.outputs.progress import Progress, TrainingPace
from heedful.datamodules import Planted


def test_curves_are_in_percent_under_the_labels_of_tables():
    data = Planted(n_validation=12)
    data.setup("validate")
    engine = EvaluationCallback(plans=Plans.of([Accuracy(), Attentiveness()], Setting(data)))
    logged = {"accuracy/planted": 0.125, "attentiveness/planted/premise": 1.0, "own": 3.0}
    trainer = SimpleNamespace(
        callbacks=[engine], callback_metrics={LOSS: torch.tensor(0.5)}, progress_bar_metrics=logged, loggers=[]
    )
    expected = {"loss": 0.5, "accuracy": "12.5%", "attentiveness premise": "100.0%", "own": 3.0}
    bar = Progress()
    assert bar.get_metrics(trainer, None) == expected
    trainer.callback_metrics = {LOSS: torch.tensor(0.25)}
    assert bar.get_metrics(trainer, None) == expected, "the loss is read twice a second"
    assert Progress().get_metrics(trainer, None) == expected | {"loss": 0.25}


def test_a_training_without_a_terminal_logs_its_steps(monkeypatch, caplog):
    monkeypatch.setattr("heedful.callbacks.engine.predictions.EVERY", 0.0)
    trainer = SimpleNamespace(global_step=2, estimated_stepping_batches=6, is_global_zero=True)
    pace = TrainingPace()
    pace.on_train_start(trainer, None)
    for trainer.global_step in (2, 3, 4):  # a batch whose gradients are accumulated, then two steps
        pace.on_train_batch_end(trainer, None, None, None, 0)
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [f"Training: {n} of 4 steps after 0 min, about 0 min left." for n in (1, 2)]
