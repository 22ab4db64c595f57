"""A trained model goes on with other data: what comes from the run, what from the command line, what is refused."""

from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from heedful.assembly.folders import model_name
from heedful.cli import command

from commands import prepared_job, run

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

SHORT = ["--trainer.max_epochs", "2", "--attentiveness.draws", "1"]
PAIRS = ["boy child", "dog animal", "rose flower", "boy person", "cat animal", "car vehicle", "oak tree"]
PAIRS = [(*pair.split(), "leq") for pair in PAIRS]
TWO_CLASSES = ["--data.labels", "{entailment: [entailment], non-entailment: [non-entailment]}"]
TWO_CLASSES += ["--data.default_label", "non-entailment"]


def made(monkeypatch, *argv):
    """The run of a command line, ready to train, and no trainer."""
    plan = prepared_job(monkeypatch, argv)
    plan.model.configure_model()
    return plan


@pytest.fixture(scope="module")
def trained(tiny_bert, tmp_path_factory):
    """The folder of a run on the embedded data."""
    folder = tmp_path_factory.mktemp("runs") / "planted" / "tiny" / "plain" / "version_0"
    argv = ["--model.backbone", str(tiny_bert), "--model.max_length", "64", "--model.learning_rate", "0.003"]
    argv += ["--data.n_train", "150", "--data.n_validation", "20", "--output", str(folder)]
    run(command.train, *argv, *SHORT)
    return folder


@pytest.fixture(scope="module")
def nlixy(tmp_path_factory, write_nlixy):
    """Files like those of NLI-XY: --data nlixy with its path."""
    folder = tmp_path_factory.mktemp("nlixy")
    for split in ("train", "dev", "test"):
        contexts = [("A x runs.", "up"), ("No x runs.", "down"), ("The x is red.", "up"), ("No x is red.", "down")]
        write_nlixy(folder / split, contexts, PAIRS)
    return ["--data", "nlixy", "--data.path", str(folder), "--data.batch_size", "8"]


def test_the_model_is_that_of_the_run(monkeypatch, trained, nlixy):
    plan = made(monkeypatch, *nlixy, "--init_from", str(trained))
    weights = load_file(trained / "checkpoints" / "backbone" / "model.safetensors")
    state = plan.model.network.state_dict()
    assert set(weights) <= set(state)
    assert weights["classifier.weight"].shape[0] == 3
    assert all(torch.equal(weights[name], state[name]) for name in weights)
    assert (plan.model.learning_rate, plan.model.max_length) == (0.003, 64)
    assert (plan.data.name, model_name(plan)) == ("nlixy", "tiny")


def test_two_classes_are_a_new_head_on_the_same_body(monkeypatch, trained, nlixy):
    plan = made(monkeypatch, *nlixy, "--init_from", str(trained), *TWO_CLASSES)
    assert plan.data.task.labels == ("entailment", "non-entailment")
    assert plan.model.fit.head != "kept"
    weights, state = (
        load_file(trained / "checkpoints" / "backbone" / "model.safetensors"),
        plan.model.network.state_dict(),
    )
    assert state["classifier.weight"].shape[0] == 2
    assert not state["classifier.bias"].any()
    body = [name for name in weights if name.startswith("bert.")]
    assert body
    assert all(torch.equal(weights[name], state[name]) for name in body)


def test_learning_goes_on_in_a_run_of_its_own(monkeypatch, tmp_path, trained, nlixy):
    monkeypatch.chdir(tmp_path)
    before = load_file(trained / "checkpoints" / "backbone" / "model.safetensors")
    run(
        command.train,
        *nlixy,
        "--init_from",
        str(trained),
        *SHORT,
        "--trainer.max_epochs",
        "4",
        "--trainer.check_val_every_n_epoch",
        "4",
    )
    folder = Path("runs/nlixy/tiny/plain/version_0")
    after = load_file(folder / "checkpoints" / "backbone" / "model.safetensors")
    assert not torch.equal(before["classifier.weight"], after["classifier.weight"])
    losses = []
    for path in folder.glob("events*"):
        events = EventAccumulator(str(path)).Reload()
        losses += [e.value for e in events.Scalars("loss/train")] if "loss/train" in events.Tags()["scalars"] else []
    assert sum(losses[-7:]) < sum(losses[:7])
    config = yaml.safe_load((folder / "config.yaml").read_text())
    assert "init_from" not in config  # what the run is made of stands there, and --config repeats it
    assert config["model"]["init_args"]["backbone"] == str(trained / "checkpoints" / "backbone")
    assert config["data"]["class_path"].endswith("NaturalLogic")
