"""Tests of soft labels: the loss, predictions without probabilities, and exported heads."""

import json
import math
from dataclasses import replace

import pytest
import torch
from families import batch_of

from heedful.lightning_modules import NOT_FINITE
from heedful.records import CLASSIFICATION, SOFT, Example, Task

LABELS = ("hot dog", "hotdog", "yes", "no")
TASK = Task(SOFT, ("question",), LABELS, "no")
GOLDS = ({"yes": 1.0, "no": 0.3}, {"hotdog": 0.6, "cake": 0.9}, {"cake": 1.0})
POOL = [Example(f"u{i}", {"question": f"is it {i} ?"}, json.dumps(gold)) for i, gold in enumerate(GOLDS)]


def test_the_loss_is_the_binary_one_summed_over_labels(zoo):
    model = zoo.model("Encoder", task=TASK)
    batch, expected = batch_of(model, POOL), 0.0
    for row, gold in zip(model.logits(batch["inputs"]).double().tolist(), GOLDS, strict=True):
        for score, label in zip(row, LABELS, strict=True):
            p, worth = 1 / (1 + math.exp(-score)), gold.get(label, 0.0)
            expected -= worth * math.log(p) + (1 - worth) * math.log(1 - p)
    assert model.loss(batch).item() == pytest.approx(expected / 3, rel=1e-5)
    one = zoo.model("Encoder", task=replace(TASK, kind=CLASSIFICATION))
    pool = [replace(e, label=label) for e, label in zip(POOL, LABELS, strict=False)]
    batch = batch_of(one, pool)
    assert torch.equal(
        one.loss(batch), torch.nn.functional.cross_entropy(one.logits(batch["inputs"]), torch.tensor([0, 1, 2]))
    )


def test_predictions_have_no_probabilities_and_show_a_model_that_broke_down(zoo):
    model = zoo.model("Encoder", task=TASK)
    batch = batch_of(model, POOL)
    outputs = model.predict(batch)
    assert outputs.probs is None
    assert torch.equal(outputs.answers, model.logits(batch["inputs"]).argmax(dim=-1))
    with torch.no_grad():
        model.network.classifier.bias[2] = math.nan
    assert model.predict(batch).answers.tolist() == [NOT_FINITE] * 3


def test_an_exported_head_is_known_again_though_names_differ_in_a_blank_alone(zoo, tmp_path):
    model = zoo.model("Encoder", task=TASK)
    model.export(str(tmp_path), weights=True)
    again = zoo.model("Encoder", tmp_path, replace(TASK, labels=("no", "hotdog", "yes", "hot dog")))
    assert again.fit.head == "kept"
    inputs = batch_of(model, POOL)["inputs"]
    assert torch.equal(again.logits(inputs), model.logits(inputs)[:, [3, 1, 2, 0]])
    checkpoint = {"state_dict": {}}
    model.on_save_checkpoint(checkpoint)
    fresh = zoo.unbuilt("Encoder")
    fresh.on_load_checkpoint(checkpoint)
    assert fresh.task == TASK
