"""The progress bar at 80 columns."""

import io
import re

import pytest
import torch
from pytorch_lightning import Callback
from rich import get_console
from rich.console import Console

from benchmarks.bare_runs import fitted
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules import Planted
from heedful.lightning_modules import Encoder


class Seen(Callback):
    """Keeps what the bar shows when an epoch has been evaluated."""

    def __init__(self):
        self.epochs = []

    def on_train_epoch_end(self, trainer, pl_module):
        bar, file = trainer.progress_bar_callback, io.StringIO()
        bar._update_metrics(trainer, pl_module)
        console = Console(file=file, width=80, force_terminal=False)
        console.print(bar.progress.get_renderable())
        self.epochs.append((bar.get_metrics(trainer, pl_module), file.getvalue()))


@pytest.fixture
def console(monkeypatch):
    monkeypatch.setattr(get_console(), "file", io.StringIO())


@pytest.mark.slow
def test_each_headline_stands_once(tiny_bert, console):
    torch.manual_seed(0)
    seen, evaluations = Seen(), [Accuracy(), Attentiveness(draws=2)]
    data = Planted(n_train=64, n_validation=12, swap=["premise", "hypothesis"])
    model = Encoder(str(tiny_bert), max_length=64, learning_rate=1e-3)
    fitted(model, data, evaluations, [seen], accelerator="cpu", max_epochs=2, enable_progress_bar=True)
    names = ["accuracy", "attentiveness: premise", "attentiveness: hypothesis"]
    for metrics, text in seen.epochs:
        assert list(metrics) == ["loss", *names]
        assert max(map(len, text.splitlines())) <= 80
        shown = " ".join(text.split())
        assert all(len(re.findall(rf"{name}: [\d.]+%", shown)) == 1 for name in names), text
