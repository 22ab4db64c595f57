"""Tests of integrated gradients: they equal those of captum, and are complete in the limit."""

import numpy as np
import pytest
import torch

from heedful.lightning_modules.gradients import integrated_gradients, label_probability
from heedful.lightning_modules.processors.hiding import HiddenWords
from heedful.records import CLASSIFICATION, Example, ModelError, Task

from refusals import refused

PARTS = ("premise", "hypothesis")
TASK = Task(CLASSIFICATION, PARTS, ("entailment", "neutral", "contradiction"), "neutral")
TEXTS = [("the man buys a car .", "the woman buys a car ."), ("the man", "a car ."), ("car", "man")]
EXAMPLES = [Example(f"t/{i}", dict(zip(PARTS, two, strict=True)), "entailment") for i, two in enumerate(TEXTS)]


@pytest.fixture(params=["Encoder", "Seq2Seq"])
def model(zoo, request):
    model = zoo.model(request.param, task=TASK, max_length=32)
    for parameter in model.parameters():  # small random weights are nearly linear
        parameter.data *= 4.0 if request.param == "Encoder" else 1.0
    return model


def ends(model):
    """The inputs of the model, and the ids with all words hidden."""
    words, every = HiddenWords(model.processor, EXAMPLES), np.arange(len(EXAMPLES))
    hidden = np.ones((len(EXAMPLES), words.features.max()), dtype=bool)
    (inputs,), (baseline,) = (words.inputs(every, which, [every]) for which in (~hidden, hidden))
    return inputs, baseline["input_ids"]


LABELS = torch.tensor([0, 1, 2])


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_as_captum(model, scale):
    captum = pytest.importorskip("captum.attr", reason="captum is not installed: pip install captum")
    inputs, baseline = ends(model)
    beside = {name: values for name, values in inputs.items() if name != "input_ids"}

    def forward(embeds):
        times = len(embeds) // len(LABELS)
        given = {name: values.repeat(times, 1) for name, values in beside.items()}
        return label_probability(model.logits({"inputs_embeds": embeds, **given}), LABELS.repeat(times), scale)

    embedded = [model.embeddings(ids).detach() for ids in (inputs["input_ids"], baseline)]
    theirs = captum.IntegratedGradients(forward).attribute(embedded[0], embedded[1], n_steps=7).sum(dim=-1)
    ours = integrated_gradients(model, inputs, baseline, LABELS, 7, at_once=6, scale=scale)
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), atol=1e-5)


def test_what_is_missing_falls_with_the_steps(model):
    inputs, baseline = ends(model)
    with torch.no_grad():
        full, nothing = (
            label_probability(model.logits({**inputs, "input_ids": ids}), LABELS, "probability")
            for ids in (inputs["input_ids"], baseline)
        )
    missing = [
        (integrated_gradients(model, inputs, baseline, LABELS, steps, 64).sum(dim=1) - (full - nothing)).abs().max()
        for steps in (1, 4, 64)
    ]
    assert missing[0] > 10 * missing[2]
    assert missing[2] < 0.02


def test_modes_pieces_and_places(model):
    """Inference mode and the size of batches change nothing; special tokens at the start and padding get 0."""
    inputs, baseline = ends(model)
    phi = integrated_gradients(model, inputs, baseline, LABELS, 8, 64)
    with torch.inference_mode():
        given = {name: values.clone() for name, values in inputs.items()}
        assert torch.equal(integrated_gradients(model, given, baseline.clone(), LABELS, 8, 64), phi)
    assert all(p.requires_grad and p.grad is None for p in model.network.parameters())
    torch.testing.assert_close(integrated_gradients(model, inputs, baseline, LABELS, 8, 3), phi, atol=1e-6, rtol=1e-5)
    assert (phi[:, 0] == 0).all()
    assert (phi[inputs["attention_mask"] == 0] == 0).all()
    assert phi[inputs["attention_mask"] == 1].count_nonzero() > 10


def test_a_model_without_embeddings(model, monkeypatch):
    def refuse(inputs):
        raise NotImplementedError("Passing input embeddings is not supported.")

    monkeypatch.setattr(model, "logits", refuse)
    inputs, baseline = ends(model)
    with refused(ModelError, "gradients", model.description):
        integrated_gradients(model, inputs, baseline, LABELS, 3, 64)
