"""Tests of the two families in docs/new_model.md: they are trained and measured, and the registry knows the first."""

import importlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from families import CASES, Family, assert_alike, predicted
from safetensors.torch import load_file

import heedful
from benchmarks.bare_runs import fitted, measured
from heedful.assembly.config import assemble
from heedful.assembly.loading import section_of
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules import Planted
from heedful.lightning_modules import Classifier
from heedful.lightning_modules.registry import TABLE
from heedful.records import ModelError, RunError

from refusals import refused

FORM = {"parts": {"premise": "premise", "hypothesis": "hypothesis"}, "label": "label", "default_label": "neutral"}
PAGE = Path(__file__).parents[2] / "docs" / "new_model.md"


@pytest.fixture
def modules(tmp_path, monkeypatch):
    """The modules in the page."""
    before = list(TABLE)
    codes = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for name, code in zip(("choice", "bag"), codes, strict=True):
        assert len(code.splitlines()) <= 50
        (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module
    for name in ("choice", "bag"):
        monkeypatch.delitem(importlib.sys.modules, name, raising=False)
    TABLE[:] = before


def test_four_files_lead_to_a_family():
    (names,) = re.findall(r"^To write a family, read four files: (.*?)\. ", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    files = [PAGE.parents[1] / name for name in re.findall(r"`([^`]+)`", names)]
    assert len(files) == 4
    assert sum(len(file.read_text().splitlines()) for file in files) <= 900


@pytest.fixture
def choice(modules):
    """The module with the family that has a backbone."""
    return modules("choice")


def test_a_network_without_a_backbone_is_trained_and_evaluated(modules, tmp_path):
    quiet = {"enable_progress_bar": False, "max_epochs": 1, "accelerator": "cpu", "log_every_n_steps": 1}
    data = Planted(n_train=64, n_validation=24)
    run = heedful.train(modules("bag").Bag(dim=8), data, trainer=quiet, output=tmp_path / "run", seed=1)
    again = heedful.evaluate(checkpoint=run.folder, allow_package="bag", trainer=quiet, output=tmp_path / "again")
    for name in ("accuracy", ("attentiveness", "premise", "eligible")):
        assert again[name].value == run[name].value


def test_outputs_of_a_network_without_a_backbone_are_matched_with_labels_by_name(modules, tmp_path):
    """Whatever the order of the labels in the data; other labels are an error."""
    quiet = {"enable_progress_bar": False, "max_epochs": 2, "accelerator": "cpu", "log_every_n_steps": 1}
    planted = Planted(n_train=1000, n_validation=60)
    bag = modules("bag").Bag(dim=8, learning_rate=3e-2)
    run = heedful.train(bag, planted, trainer=quiet, output=tmp_path / "run", seed=1)
    assert run["accuracy"].value > 0.6
    rows = [{**e.parts, "label": e.label, "id": e.uid} for e in planted.load("validation")]
    labels = sorted(planted.task.labels)
    assert labels != list(planted.task.labels)
    how = {"parts": planted.task.parts, "default_label": "neutral", "uid": "id", "draws": 1, "allow_package": "bag"}
    how |= {"trainer": {"accelerator": "cpu", "enable_progress_bar": False}}
    for given in (None, labels, labels[::-1]):
        again = heedful.measure(run.folder, rows, labels=given, **how)
        assert again["accuracy"].value == run["accuracy"].value
        assert again["attentiveness", "premise"].n == run["attentiveness", "premise"].n
    some = [row for row in rows if row["label"] != "contradiction"]
    assert heedful.measure(run.folder, some, **how)["accuracy"].n == len(some)
    unlabelled = [{name: row[name] for name in (*planted.task.parts, "id")} for row in rows]
    found = heedful.measure(run.folder, unlabelled, **how)
    assert found["attentiveness", "premise"].n == run["attentiveness", "premise"].n
    other = [row | {"label": row["label"].replace("neutral", "open")} for row in rows]
    with refused(ModelError, "neutral", "open"):
        heedful.measure(run.folder, other, **how | {"default_label": "open"})


def test_a_network_whose_logits_would_not_be_matched_with_labels_is_refused(modules):
    with refused(ModelError, "Former", "scores"):
        type("Former", (Classifier,), {"logits": lambda self, inputs: inputs})().bind(Planted().task)


def test_checkpoints_with_several_orders_of_labels_are_loaded_in_turn(modules):
    model, data = modules("bag").Bag(dim=8), Planted(n_train=8, n_validation=8)
    model.bind(data.task)
    names = data.task.labels
    for learned in (names[::-1], names[::-1], names[1:] + names[:1], names):
        model.on_load_checkpoint({"task": replace(data.task, labels=learned).as_dict()})
        scores = torch.tensor([[float(names.index(label)) for label in learned]])
        model.scores = lambda inputs, scores=scores: scores
        assert model.logits({}).tolist() == [[0, 1, 2]]


def test_a_network_without_a_backbone_is_trained_further(modules, tmp_path, monkeypatch):
    quiet = {"enable_progress_bar": False, "max_epochs": 1, "accelerator": "cpu", "log_every_n_steps": 1}
    how = {"allow_package": "bag", "trainer": quiet}
    data = Planted(n_train=64, n_validation=24)
    bag = modules("bag").Bag
    run = heedful.train(bag(dim=8, learning_rate=1e-9), data, trainer=quiet, output=tmp_path / "run", seed=1)
    further = heedful.train(data=data, init_from=run.folder, output=tmp_path / "further", seed=2, **how)
    before, after = (load_file(r.folder / "checkpoints" / "backbone" / "model.safetensors") for r in (run, further))
    assert all(torch.allclose(before[name], after[name], atol=1e-6) for name in before)
    loaded = bag.load_from_checkpoint(run.folder / "checkpoints" / "best.ckpt", weights_only=True)
    assert all(torch.equal(loaded.network.state_dict()[name], before[name]) for name in before)
    labels = {label: [] for label in reversed(data.task.labels)}
    rows = [{**e.parts, "label": e.label} for e in data.load("validation")]
    turned = heedful.load_data(
        {"train": rows, "validation": rows}, name="turned", **FORM, labels=labels, validate_on_train=True
    )
    again = heedful.train(data=turned, init_from=run.folder, output=tmp_path / "turned", **how)
    assert again["accuracy"].value == further["accuracy"].value
    config = run.folder / "config.yaml"
    config.write_text("".join(line for line in config.read_text().splitlines(True) if "backbone" not in line))
    with refused(RunError, "backbone"):
        heedful.train(data=data, init_from=run.folder, output=tmp_path / "refused", **how)


def test_it_is_trained_exported_and_measured(choice, tiny_bert, tmp_path):
    data = Planted(n_train=16, n_validation=12)
    model = choice.Choice(str(tiny_bert), max_length=64)
    during = fitted(model, data, [Accuracy()], accelerator="cpu", max_epochs=1)
    folder = tmp_path / "exported"
    model.export(str(folder), weights=True)
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["BertForMultipleChoice"]
    section = section_of("model", folder)
    assert section == {"class_path": "choice.Choice", "init_args": {"backbone": str(folder)}}
    again = choice.Choice(str(folder), max_length=64)
    after = measured(again, data, [Accuracy(), Attentiveness(draws=2)], accelerator="cpu")
    assert {name: value for name, value in after.numbers.items() if name in during.numbers} == during.numbers
    assert {name.family for name in after.numbers.keys() - during.numbers.keys()} == {"attentiveness"}


def test_a_backbone_without_the_head_is_not_measured(choice, tiny_bert):
    with refused(ModelError, tiny_bert):
        measured(choice.Choice(str(tiny_bert), max_length=64), Planted(n_validation=8), [Accuracy()], accelerator="cpu")


def test_predictions_do_not_depend_on_the_batch(zoo, choice, monkeypatch):
    monkeypatch.setitem(CASES, "Choice", Family(choice.Choice, "tiny_bert", "pairs"))
    model, pool = zoo.model("Choice"), zoo.pool("Choice")
    together = predicted(model, pool)
    assert_alike(together, predicted(model, pool, [[2, 0], [5], [1, 4], [3]]), 1e-5)
    assert len({tuple(p.tolist()) for p in together}) == len(set(model.encode(pool).fingerprints.tolist())) == 5


def test_the_command_line_takes_its_class(choice, tiny_bert):
    model = assemble("fit", {"model": "choice.Choice"}, words=["--model.backbone", str(tiny_bert)]).model
    assert type(model) is choice.Choice
    assert model.backbone == str(tiny_bert)
