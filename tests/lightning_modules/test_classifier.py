"""What a checkpoint holds must be the model, with the parts that it learned, wherever it is asked from."""

from dataclasses import replace

import pytest
import torch
from families import FAMILIES

from benchmarks.bare_runs import fitted, measured
from heedful.callbacks import Accuracy
from heedful.datamodules import Planted
from heedful.records import CLASSIFICATION, ModelError, RunError

from refusals import refused
from tiers import first_tier


def pairs(**settings):
    return Planted(n_train=8, n_validation=8, **settings)


def count(model, data, **settings):
    """On how many examples a model was measured."""
    return measured(model, data, [Accuracy()], accelerator="cpu", **settings).content["counts"]["examples"]


@pytest.fixture(scope="module")
def of_hypotheses(zoo, tmp_path_factory):
    """A folder with the checkpoints and the exports of models that were trained on hypotheses alone."""
    folder = tmp_path_factory.mktemp("of_hypotheses")
    for name in ("Encoder", "Seq2Seq"):
        model = zoo.unbuilt(name)
        fitted(model, pairs(partial="hypothesis"), [Accuracy()], accelerator="cpu", max_epochs=1)
        model.trainer.save_checkpoint(folder / f"{name}.ckpt")
        model.export(str(folder / name), weights=True)
    return folder


class OtherPairs(Planted):
    """One part of other data, whose parts have other names."""

    def __init__(self):
        super().__init__(n_train=8, n_validation=8)
        self.partial, self.swap = "text", []
        self.full_task = replace(self.full_task, parts=("text", "claim"))

    def load(self, split):
        return super().load(split).rename_parts(self.full_task.parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Encoder", "Seq2Seq"])
def test_a_model_of_one_part_is_not_measured_on_another(zoo, of_hypotheses, name):
    exported, checkpoint = of_hypotheses / name, {"ckpt_path": str(of_hypotheses / f"{name}.ckpt")}
    told = "hypothesis", "partial hypothesis"
    for partial, given in (("premise", "give premise."), (None, "give premise and hypothesis.")):
        with refused(ModelError, *told, given):
            count(zoo.unbuilt(name, exported), pairs(partial=partial))
    for folder in (exported, zoo.backbone(name)):  # where the export does not say it, the checkpoint does
        with refused(ModelError, *told, "give premise."):
            count(zoo.unbuilt(name, folder), pairs(partial="premise"), **checkpoint)
    for data in (pairs(partial="hypothesis"), OtherPairs()):
        assert count(zoo.unbuilt(name, exported), data) == count(zoo.unbuilt(name, exported), data, **checkpoint) == 8
    model = zoo.unbuilt(name, exported)  # to be trained on all of them
    fitted(model, pairs(), [Accuracy()], accelerator="cpu", max_epochs=1)
    assert model.provenance.parts == ("premise", "hypothesis")


class Turned(Planted):
    """The same pairs, of which the data name the parts the other way round."""

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
    assert model.task.parts == ("text", "hypothesis")  # which is another name of the premise
    model = zoo.unbuilt("Encoder", run / "backbone")
    fitted(model, Turned(), [Accuracy()], accelerator="cpu", max_epochs=1)
    assert model.provenance.parts == ("premise", "hypothesis")


BIAS = "network.classifier.bias"
BROKEN = {
    "no task": (lambda c: c.pop("task"), RunError, "checkpoint"),
    "too few": (lambda c: c["state_dict"].pop(BIAS), ModelError, f"1 weight ({BIAS})"),
    "too many": (lambda c: c["state_dict"].update(x=torch.ones(1)), ModelError, "1 weight (x)"),
    "another shape": (
        lambda c: c["state_dict"].update({BIAS: torch.ones(9)}),
        ModelError,
        f"1 weight ({BIAS} of 9, not 3)",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", BROKEN)
def test_a_checkpoint_of_something_else_is_one_sentence(zoo, tmp_path, fault):
    change, error, fact = BROKEN[fault]
    content, path = torch.load(zoo.trained("Encoder").folder / "best.ckpt", weights_only=True), tmp_path / "best.ckpt"
    change(content)
    torch.save(content, path)
    settings = {"ckpt_path": str(path), "accelerator": "cpu"}
    for load in (
        lambda: measured(zoo.unbuilt("Encoder"), pairs(), [Accuracy()], **settings),
        lambda: fitted(zoo.unbuilt("Encoder"), pairs(), [Accuracy()], max_epochs=1, **settings),
        lambda: FAMILIES["Encoder"].kind.load_from_checkpoint(path, weights_only=True),
    ):
        with refused(error, fact):
            load()


def test_a_checkpoint_says_what_the_task_was(zoo):
    task = torch.load(zoo.trained("Encoder").folder / "best.ckpt", weights_only=True)["task"]
    assert task == pairs().task.as_dict()
    assert task["kind"] == str(CLASSIFICATION)
