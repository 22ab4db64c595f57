"""The progress bar at 80 columns."""

import io
import logging
import re
import sys

import pytest
import torch
from pytorch_lightning import Callback, Trainer
from pytorch_lightning.callbacks.progress import rich_progress
from rich import get_console
from rich.console import Console

from benchmarks.bare_runs import fitted
from heedful.callbacks import Accuracy, Attentiveness
from heedful.callbacks.outputs.progress import Progress
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
def test_epochs_count_from_1_and_each_headline_stands_once(tiny_bert, console):
    torch.manual_seed(0)
    seen, evaluations = Seen(), [Accuracy(), Attentiveness(draws=2)]
    data = Planted(n_train=64, n_validation=12, swap=["premise", "hypothesis"])
    model = Encoder(str(tiny_bert), max_length=64, learning_rate=1e-3)
    fitted(model, data, evaluations, [seen], accelerator="cpu", max_epochs=2, enable_progress_bar=True)
    for epoch, (metrics, text) in enumerate(seen.epochs, 1):
        assert text.startswith(f"Epoch {epoch}/2 ")
        assert list(metrics) == ["loss", "accuracy", "attentiveness"]
        lines = [line[line.index(line.strip()[0]) :].rstrip() for line in text.splitlines() if line.strip()]
        assert max(map(len, text.splitlines())) <= 80
        shown = [line for line in lines if "%" in line or "attentiveness" in line]
        patterns = [r"accuracy: [\d.]+%", "attentiveness:", r"premise: [\d.]+%", r"hypothesis: [\d.]+%"]
        assert len(shown) == len(patterns)
        assert all(re.fullmatch(pattern, line) for pattern, line in zip(patterns, shown, strict=True))


@pytest.mark.slow
def test_a_log_file_says_how_far_training_is(tiny_bert, console, caplog, monkeypatch):
    monkeypatch.setattr("heedful.callbacks.engine.pace.EVERY", 0.0)
    model = Encoder(str(tiny_bert), max_length=64, learning_rate=1e-3)
    data = Planted(n_train=96, n_validation=12)
    with caplog.at_level("INFO"):
        fitted(model, data, [Accuracy()], [], accelerator="cpu", max_epochs=2, enable_progress_bar=True)
    told = [record.getMessage() for record in caplog.records if record.getMessage().startswith("Training: ")]
    assert told == [f"Training: {step} of 6 steps after 0 min, about 0 min left." for step in range(1, 6)]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_message_stands_above_the_bar(monkeypatch):
    terminal, console = Terminal(), Console(file=io.StringIO(), width=80, force_terminal=True)
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(rich_progress, "get_console", lambda: console)
    logger, bar = logging.getLogger("pytorch_lightning"), Progress()
    monkeypatch.setattr(logger, "handlers", [logging.StreamHandler(terminal)])
    trainer = Trainer(accelerator="cpu", logger=False, enable_checkpointing=False, callbacks=[bar])
    terminal.truncate(terminal.seek(0))
    bar.on_train_start(trainer, None)
    logger.warning("while it runs")
    bar.teardown(trainer, None, "fit")
    logger.warning("when it is done")
    assert terminal.getvalue() == "when it is done\n"
    assert "while it runs\n" in console.file.getvalue()
    assert logger.handlers[0].stream is terminal
