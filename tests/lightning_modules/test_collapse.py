"""Tests of models with three classes on data with two: several outputs of the head mean one label."""

import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from heedful.records import CLASSIFICATION, SOFT, Example, ModelError, Task

from refusals import refused

HEAD = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
PARTS = ("sentence1", "sentence2")
TWO = Task(CLASSIFICATION, PARTS, ("entailment", "not_entailment"), "not_entailment")
THREE = Task(CLASSIFICATION, PARTS, ("entailment", "neutral", "contradiction"), "neutral")
TEXTS = [("the man buys a car .", "the woman buys a car ."), ("the man", "a car ."), ("car", "man")]
EXAMPLES = [Example(f"t/{i}", dict(zip(PARTS, two, strict=True)), "entailment") for i, two in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def head(tiny_bert, tmp_path_factory):
    """A classifier of three classes, whose outputs are in another order than the labels."""
    folder = tmp_path_factory.mktemp("head")
    torch.manual_seed(1)
    names = dict(enumerate(HEAD))
    config = BertConfig.from_pretrained(tiny_bert, id2label=names, label2id={v: k for k, v in names.items()})
    network = BertForSequenceClassification(config)
    torch.nn.init.normal_(network.classifier.weight, std=2.0)
    network.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(folder)
    return folder


@pytest.fixture
def measured(zoo, head):
    """Makes a model that is measured without training."""

    def make(task=TWO, **settings):
        model = zoo.model("Encoder", head, task, trains=False, max_length=32, **settings)
        model.require_head()
        return model

    return make


def test_probabilities_add_up(measured):
    three, two = measured(THREE), measured()
    inputs = two.processor(EXAMPLES)
    whole, probs = three.answer(inputs).probs, two.answer(inputs).probs
    assert probs.shape == (3, 2)
    torch.testing.assert_close(probs, torch.stack([whole[:, 0], whole[:, 1] + whole[:, 2]], dim=1))
    assert two.answer(inputs).answers is None, "the label with the larger sum"


def test_by_argmax_the_most_probable_of_three_answers(measured):
    """The rules differ where entailment is the most probable class with less than a half."""
    two, logits = measured(collapse="argmax"), torch.tensor([[0.0, 0.1, 0.3], [2.0, 0.0, 1.0], [0.0, 0.0, 9.0]])
    two.scores = lambda inputs: logits
    found = two.answer({})
    assert found.answers.tolist() == [0, 1, 0]
    assert found.probs.argmax(dim=1).tolist() == [1, 1, 0]
    logits[1, 0] = torch.nan
    assert two.answer({}).answers.tolist() == [0, -2, 0], "a score that is not finite is seen"
    assert not two.answer({}).probs[1].isfinite().any()


def test_soft_labels_are_answered_as_well(measured):
    soft = Task(SOFT, PARTS, ("entailment", "not_entailment"), "not_entailment")
    inputs = measured().processor(EXAMPLES)
    best = measured().answer(inputs).probs.argmax(dim=1)
    assert torch.equal(measured(soft).answer(inputs).answers, best)
    assert measured(soft, collapse="argmax").answer(inputs).probs is None


def test_names_that_contradict_the_config_are_logged(measured, caplog):
    with caplog.at_level("INFO"):
        measured(THREE, labels=["contradiction", "neutral", "entailment"])
        assert not caplog.messages
        measured(THREE, labels=["contradiction", "entailment", "neutral"])
    assert "entailment for NEUTRAL, neutral for ENTAILMENT." in caplog.text


def test_training_begins_with_a_new_head_of_two_unless_a_rule_is_named(zoo, head):
    new, kept = zoo.model("Encoder", head, TWO), zoo.model("Encoder", head, TWO, collapse="sum")
    assert (new.fit.head, new.network.config.num_labels) == ("replaced", 2)
    assert (kept.fit.head, kept.network.config.num_labels) == ("merged", 3)
    with refused(ModelError, head):
        new.require_head()
    inputs, gold = kept.processor(EXAMPLES), torch.tensor([0, 1, 1])
    loss, probs = kept.loss({"inputs": inputs, "labels": gold}), kept.answer(inputs).probs
    torch.testing.assert_close(loss, -probs[torch.arange(3), gold].log().mean())


def test_a_checkpoint_says_what_all_outputs_mean(measured):
    two = measured()
    saved = {"state_dict": two.state_dict()}
    two.on_save_checkpoint(saved)
    assert saved["outputs"] == list(HEAD)
    measured(THREE).on_load_checkpoint(saved)
    two.on_load_checkpoint(saved | {"outputs": list(HEAD)[::-1]})  # the weights of the checkpoint come with its names
    assert two.fit.label_map.column == (0, 1, 1)
    with refused(ModelError, "x, y, z", ", ".join(TWO.labels)):
        two.on_load_checkpoint(saved | {"outputs": ["x", "y", "z"]})


@pytest.mark.parametrize("name", ["Seq2Seq", "Seq2Seq, greedy", "BlipAnswers"])
def test_a_model_that_writes_three_texts_answers_in_two(zoo, tmp_path, name):
    parts, pictures = zoo.task(name).parts, zoo.task(name).pictures
    tasks = [Task(CLASSIFICATION, parts, task.labels, pictures=pictures) for task in (THREE, TWO)]
    zoo.model(name, task=tasks[0]).export(str(tmp_path), weights=True)
    three, two = (zoo.model(name, tmp_path, task, trains=False) for task in tasks)
    two.task_head.generated = lambda *_: ["contradiction", "entailment", *["something"] * 4]
    with torch.no_grad():
        outputs, found = (model.answer(model.processor(list(zoo.pool(name)))) for model in (three, two))
    whole = outputs.probs
    torch.testing.assert_close(found.probs, torch.stack([whole[:, 0], whole[:, 1] + whole[:, 2]], dim=1))
    if "greedy" in name:
        assert found.answers.tolist() == [1, 0, -1, -1, -1, -1]
