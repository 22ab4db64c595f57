"""Tests of checkpoints: they restore the model and the order of its parts, from any source."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch
from families import FAMILIES

from benchmarks.bare_runs import fitted, measured
from heedful.callbacks import Accuracy
from heedful.datamodules import Planted
from heedful.lightning_modules.learned import Learned
from heedful.records import CLASSIFICATION, ModelError, RunError

from refusals import refused
from tiers import first_tier


def pairs(**settings):
    return Planted(n_train=8, n_validation=8, **settings)


def count(model, data, **settings):
    """Number of examples that a model was measured on."""
    return measured(model, data, [Accuracy()], accelerator="cpu", **settings).content["counts"]["examples"]


LEARNED = {  # parts in training, parts given, all parts of the data, fact in the message
    "unknown": (None, ("a", "b"), ("a", "b"), None),
    "the same": (("a", "b"), ("b", "a"), ("a", "b"), None),
    "other names": (("a", "b"), ("x", "y"), ("x", "y"), None),
    "one part of other data": (("a",), ("x",), ("x", "y"), None),
    "another part": (("b",), ("a",), ("a", "b"), "Add partial b."),
    "more parts": (("b",), ("a", "b"), ("a", "b"), "Add partial b."),
    "fewer parts": (("a", "b"), ("a",), ("a", "b"), "partial null"),
    "several of three": (("a", "b"), ("a",), ("a", "b", "c"), "Add partial a+b."),
    "more parts of other data": (("a",), ("x", "y"), ("x", "y"), "partial PART"),
    "fewer parts of other data": (("a", "b"), ("x",), ("x",), "data with 2"),
}


@pytest.mark.parametrize("case", LEARNED)
def test_a_model_is_not_measured_on_other_parts_than_it_was_trained_on(case):
    learned, given, of_data, fact = LEARNED[case]
    with nullcontext() if fact is None else refused(ModelError, " and ".join(learned), " and ".join(given), fact):
        Learned(parts=learned).require_parts(given, of_data)


class Turned(Planted):
    """The same pairs, with the parts named in the other order."""

    def __init__(self, names=("hypothesis", "premise")):
        super().__init__(n_train=8, n_validation=8)
        self.full_task = replace(self.full_task, parts=names)

    def load(self, split):
        return super().load(split).rename_parts(self.full_task.parts[::-1])


@pytest.mark.parametrize("source", first_tier(1, ["backbone", "checkpoint", "bare"]))
def test_parts_are_read_in_the_order_that_was_trained(zoo, source):
    run = zoo.trained("Encoder").folder
    settings = {} if source == "backbone" else {"ckpt_path": str(run / "best.ckpt")}
    folder = None if source == "checkpoint" else run / source
    example, ids = pairs().load("validation")[0], []
    for data in (pairs(), Turned()):
        model = zoo.unbuilt("Encoder", folder)
        assert count(model, data, **settings) == 8
        ids.append(model.processor([example])["input_ids"].tolist())
        assert model.task.parts == ("premise", "hypothesis")
    assert ids[0] == ids[1]
    model = zoo.unbuilt("Encoder")
    count(model, Turned(("hypothesis", "text")), ckpt_path=str(run / "best.ckpt"))
    assert model.task.parts == ("text", "hypothesis")  # "text" has the position of the premise
    model = zoo.unbuilt("Encoder", run / "backbone")
    fitted(model, Turned(), [Accuracy()], accelerator="cpu", max_epochs=1)
    assert model.learned.parts == ("premise", "hypothesis")


BIAS = "network.classifier.bias"
BROKEN = {
    "no task": (lambda c: c.pop("task"), RunError, "checkpoint"),
    "too few": (lambda c: c["state_dict"].pop(BIAS), ModelError, BIAS),
    "too many": (lambda c: c["state_dict"].update(x=torch.ones(1)), ModelError, '"x"'),
    "another shape": (
        lambda c: c["state_dict"].update({BIAS: torch.ones(9)}),
        ModelError,
        f"size mismatch for {BIAS}",
    ),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_checkpoint_of_something_else_is_refused(zoo, tmp_path, fault):
    change, error, fact = BROKEN[fault]
    content, path = torch.load(zoo.trained("Encoder").folder / "best.ckpt", weights_only=True), tmp_path / "best.ckpt"
    change(content)
    torch.save(content, path)
    with refused(error, fact):
        FAMILIES["Encoder"].kind.load_from_checkpoint(path, weights_only=True)


def test_a_checkpoint_says_what_the_task_was(zoo):
    task = torch.load(zoo.trained("Encoder").folder / "best.ckpt", weights_only=True)["task"]
    assert task == pairs().task.as_dict()
    assert task["kind"] == str(CLASSIFICATION)
