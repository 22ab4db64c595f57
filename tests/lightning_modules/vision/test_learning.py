"""Tests that picture families learn from random weights a task that needs picture and question."""

import pytest
import pytorch_lightning as pl
from families import FAMILIES, SQUARES

from benchmarks.bare_runs import fitted
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules import PairedImages

pytestmark = pytest.mark.slow  # trains models until they learn
LEARNING = {  # learning rate, epochs
    "LateFusion": (0.002, 12),
    "Vilt": (0.006, 14),
    "Blip": (0.003, 5),
    "BlipAnswers": (0.003, 10),
}


@pytest.fixture(scope="module")
def squares(write_squares, tmp_path_factory):
    return write_squares(tmp_path_factory.mktemp("squares"), 320, 48)


@pytest.mark.parametrize("name", LEARNING)
def test_it_learns_what_takes_both_parts(zoo, squares, name):
    rate, epochs = LEARNING[name]
    pl.seed_everything(0)
    data = PairedImages(**SQUARES, path=str(squares), batch_size=16, eval_batch_size=7)
    model = zoo.unbuilt(name, learning_rate=rate, max_length=FAMILIES[name].settings.get("max_length", 32))
    settings = {"accelerator": "cpu", "max_epochs": epochs, "check_val_every_n_epoch": epochs}
    found = fitted(model, data, [Accuracy(), Attentiveness(draws=2)], **settings)
    assert found["accuracy/squares"].value > 0.85
    assert min(found[f"attentiveness/squares/{part}"].value for part in ("image", "question")) > 0.3
    assert found["null/squares/flips"].value == 0


@pytest.mark.parametrize("partial", ["image", "question"])
def test_one_part_alone_cannot_learn_it(zoo, squares, partial):
    data = PairedImages(**SQUARES, path=str(squares), batch_size=16, partial=partial)
    model = zoo.unbuilt("LateFusion", learning_rate=0.002)
    found = fitted(model, data, [Accuracy()], accelerator="cpu", max_epochs=3, check_val_every_n_epoch=3)
    assert found["accuracy/squares"].value == pytest.approx(0.75, abs=0.08)  # share of the majority label
