"""The metrics of the progress bar."""

from types import SimpleNamespace

import torch

from heedful.callbacks import Accuracy, Attentiveness, Engine, Setting
from heedful.callbacks.engine.evaluation import LOSS, Plans
from heedful.callbacks.outputs.progress import Progress
from heedful.datamodules import Planted


def test_headlines_are_in_percent_under_the_names_of_figures():
    data = Planted(n_validation=12)
    data.setup("validate")
    engine = Engine(plans=Plans.of([Accuracy(), Attentiveness()], Setting(data)))
    logged = {"accuracy/planted": 0.125, "attentiveness/planted/premise": 1.0, "own": 3.0}
    trainer = SimpleNamespace(
        callbacks=[engine], callback_metrics={LOSS: torch.tensor(0.5)}, progress_bar_metrics=logged, loggers=[]
    )
    expected = {"loss": 0.5, "accuracy": "12.5%", "attentiveness: premise": "100.0%", "own": 3.0}
    bar = Progress()
    assert bar.get_metrics(trainer, None) == expected
    trainer.callback_metrics = {LOSS: torch.tensor(0.25)}
    assert bar.get_metrics(trainer, None) == expected, "the loss is read twice a second"
    assert Progress().get_metrics(trainer, None) == expected | {"loss": 0.25}
