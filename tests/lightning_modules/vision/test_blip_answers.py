"""Tests of BLIP for question answering: answers get the scores of transformers, in few passes."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from families import batch_of
from noise import TEXTS, opened
from transformers import AutoTokenizer, BlipForQuestionAnswering, BlipImageProcessorPil

from heedful.lightning_modules import NOT_FINITE
from heedful.records import CLASSIFICATION, SOFT, Example, Task

LABELS = ("no", "yes", "red", "red circle", "blue", "not red", "green triangle", "0", "teal", "teal and green", "it")
TASK = Task(CLASSIFICATION, ("image", "question"), LABELS, pictures=("image",))


@pytest.fixture(scope="module")
def examples(pictures):
    """Three pictures with four questions each, so that questions of a batch have different lengths."""
    return [
        Example(f"{i}-{j}", {"image": picture, "question": question}, LABELS[(3 * i + j) % len(LABELS)])
        for i, picture in enumerate(pictures[:3])
        for j, question in enumerate(TEXTS[:4])
    ]


@torch.no_grad()
def scores(model, pool):
    return model.eval().logits(batch_of(model, pool)["inputs"]).numpy()


def softmax(values):
    found = np.exp(values - values.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)


@torch.no_grad()
def naive(folder, pool, labels=LABELS):
    """Log-likelihoods of labels and of first tokens, by the loss of transformers, one example and label at a time."""
    network, tokenizer = BlipForQuestionAnswering.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    reader, found, first = BlipImageProcessorPil.from_pretrained(folder), np.zeros((len(pool), len(labels))), []
    ids = [tokenizer(label, add_special_tokens=False)["input_ids"][0] for label in labels]
    begin = torch.tensor([[len(tokenizer)]])  # [DEC]
    for i, example in enumerate(pool):
        pixels = reader(opened(example.parts["image"]), return_tensors="pt")["pixel_values"]
        question = tokenizer(example.parts["question"], return_tensors="pt")["input_ids"]
        question[0, 0] = len(tokenizer) + 1  # [ENC]
        for k, label in enumerate(labels):
            written = tokenizer(label, return_tensors="pt")["input_ids"]
            written[0, 0] = len(tokenizer)
            loss = network(question, pixels, attention_mask=torch.ones_like(question), labels=written).loss
            found[i, k] = -loss.item() * (written.shape[1] - 1)
        states = network.vision_model(pixels).last_hidden_state
        seen = network.text_encoder(question, encoder_hidden_states=states).last_hidden_state
        logits = network.text_decoder(begin, encoder_hidden_states=seen).logits
        first.append(logits[0, 0].log_softmax(dim=-1)[ids].tolist())
    return found, np.array(first)


@pytest.fixture(scope="module")
def expected(tiny_blip, examples):
    return naive(tiny_blip, examples)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [4, 128])
def test_labels_are_scored_as_one_by_one(zoo, examples, expected, rank):
    """In a batch with longer questions, whose padding transformers does not mask in the decoder.

    With ranks, only labels with the most probable first tokens are scored.
    """
    model = zoo.model("BlipAnswers", task=TASK, rank=rank)
    found, (whole, first) = scores(model, examples), expected
    assert found.dtype == np.float32
    for row, before, each in zip(found, first, whole, strict=True):
        chosen = sorted(range(len(LABELS)), key=lambda k, before=before: (-round(before[k], 5), k))[:rank]
        assert np.flatnonzero(np.isfinite(row)).tolist() == sorted(chosen)
        np.testing.assert_allclose(row[chosen], each[chosen], rtol=0, atol=1e-5)
    with torch.no_grad():
        probs = model.predict(batch_of(model, examples)).probs.numpy()
    np.testing.assert_allclose(probs, softmax(np.where(np.isfinite(found), whole, -np.inf)), rtol=0, atol=1e-5)
    assert np.ptp(whole[::4], axis=0).max() > 0.01  # one question, several pictures
    assert np.ptp(whole[:4], axis=0).max() > 0.01  # one picture, several questions


@pytest.mark.parametrize("rank", [3, 128])
def test_pictures_and_questions_are_encoded_once(zoo, examples, rank):
    model = zoo.model("BlipAnswers", task=TASK, rank=rank)
    calls = {"vision_model": [], "text_encoder": [], "text_decoder": []}
    for name, seen in calls.items():
        getattr(model.network, name).register_forward_hook(
            lambda module, args, out, seen=seen: seen.append(len(next(iter(out.values())))), with_kwargs=False
        )
    scores(model, examples)
    assert calls["vision_model"] == [3]  # each picture once
    assert calls["text_encoder"] == [12]
    assert calls["text_decoder"] == ([12 * 11] if rank > 11 else [12, 12 * rank])


def test_the_loss_is_that_of_the_tokens_of_the_gold_answers(zoo, tiny_blip, examples, expected):
    model = zoo.model("BlipAnswers", task=TASK)
    batch = batch_of(model, examples)
    loss, gold = model.loss(batch), batch["labels"].tolist()
    tokens = [len(AutoTokenizer.from_pretrained(tiny_blip)(LABELS[k])["input_ids"]) - 1 for k in gold]
    assert loss.item() == pytest.approx(-expected[0][range(12), gold].sum() / sum(tokens), abs=1e-5)
    loss.backward()
    assert all(p.grad is not None for p in model.parameters() if p.requires_grad)


def test_soft_labels_that_are_not_ranked_are_no_sign_of_a_broken_model(zoo, examples):
    model = zoo.model("BlipAnswers", task=replace(TASK, kind=SOFT), rank=4)
    pool = [Example(e.uid, e.parts, json.dumps({e.label: 1.0})) for e in examples]
    best = scores(model, pool).argmax(axis=1)
    with torch.no_grad():
        outputs = model.predict(batch_of(model, pool))
        assert (outputs.probs, outputs.answers.tolist()) == (None, best.tolist())
        model.network.text_encoder.embeddings.LayerNorm.bias.fill_(torch.nan)
        assert set(model.predict(batch_of(model, pool)).answers.tolist()) == {NOT_FINITE}


@pytest.mark.slow
def test_an_export_keeps_the_texts_of_its_labels(zoo, tiny_blip, tmp_path, examples):
    task = replace(TASK, labels=("no", "yes"), verbalisers={"yes": "it is red"})
    model = zoo.model("BlipAnswers", task=task)
    before = scores(model, examples)
    np.testing.assert_allclose(before, naive(tiny_blip, examples, ("no", "it is red"))[0], rtol=0, atol=1e-5)
    model.export(str(tmp_path), weights=True)
    other = replace(TASK, labels=("yes", "no"))  # other data with another order of labels, and without verbalisers
    np.testing.assert_array_equal(scores(zoo.model("BlipAnswers", tmp_path, other), examples)[:, ::-1], before)
