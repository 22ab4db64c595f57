"""BLIP for questions: answers are scored as one by one, in few passes, and what is saved can be loaded."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import (
    AutoModelForVisualQuestionAnswering,
    AutoTokenizer,
    BlipForQuestionAnswering,
    BlipImageProcessorPil,
)

from benchmarks.bare_runs import fitted
from heedful.callbacks import Accuracy, Attentiveness
from heedful.datamodules import PairedImages
from heedful.lightning_modules import NOT_FINITE, Blip, BlipAnswers
from heedful.records import CLASSIFICATION, SOFT, Example, ModelError, Picture, SettingError, Task
from tests.lightning_modules.vision.test_blip import batch_of

from drawn_pictures import SQUARES
from refusals import refused

PARTS = ("image", "question")
LABELS = ("no", "yes", "red", "red circle", "blue", "not red", "green triangle", "0", "teal", "teal and green", "it")
QUESTIONS = ["is it red ?", "what color is the circle in this picture ?", "", "is there a blue triangle ?"]


def task_of(labels: tuple[str, ...] = LABELS, **settings) -> Task:
    return Task(CLASSIFICATION, PARTS, labels, pictures=("image",), **settings)


@pytest.fixture(scope="module")
def examples(tmp_path_factory) -> list[Example]:
    """Three pictures with each of the questions; each question is followed by a longer one."""
    folder, rng, made = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0), []
    for i in range(3):
        path = folder / f"{i}.png"
        Image.fromarray(rng.integers(0, 256, (30 + i, 40, 3), dtype=np.uint8)).save(path)
        key = hashlib.sha256(path.read_bytes()).hexdigest()
        picture = Picture(key, str(path), 0, path.stat().st_size, f"row {i}")
        for j, question in enumerate(QUESTIONS):
            made.append(
                Example(f"{i}-{j}", {"image": picture, "question": question}, LABELS[(3 * i + j) % len(LABELS)])
            )
    return made


def model_of(folder: Path, task: Task | None = None, **settings) -> BlipAnswers:
    task = task or task_of()
    model = BlipAnswers(str(folder), max_length=64, **settings)
    model.require_parts(task)
    model.prepare(task)
    model.configure_model()
    return model


def scores(model: BlipAnswers, pool: list[Example]) -> np.ndarray:
    model.eval()
    with torch.no_grad():
        return model.logits(batch_of(model, pool)["inputs"]).numpy()


def naive(folder: Path, pool: list[Example], labels: tuple[str, ...] = LABELS) -> np.ndarray:
    """Log-likelihoods, one example and one label at a time, by the loss of the model of transformers."""
    network, tokenizer = BlipForQuestionAnswering.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    reader, found = BlipImageProcessorPil.from_pretrained(folder), np.zeros((len(pool), len(labels)))
    for i, example in enumerate(pool):
        pixels = reader(Image.open(example.parts["image"].path), return_tensors="pt")["pixel_values"]
        question = tokenizer(example.parts["question"], return_tensors="pt")["input_ids"]
        question[0, 0] = len(tokenizer) + 1  # [ENC]
        for k, label in enumerate(labels):
            written = tokenizer(label, return_tensors="pt")["input_ids"]
            written[0, 0] = len(tokenizer)  # [DEC]
            with torch.no_grad():
                loss = network(question, pixels, attention_mask=torch.ones_like(question), labels=written).loss
            found[i, k] = -loss.item() * (written.shape[1] - 1)
    return found


@pytest.fixture(scope="module")
def expected(tiny_blip, examples) -> np.ndarray:
    return naive(tiny_blip, examples)


def softmax(values: np.ndarray) -> np.ndarray:
    found = np.exp(values - values.max(axis=1, keepdims=True))
    return found / found.sum(axis=1, keepdims=True)


# scores


@pytest.mark.slow
def test_labels_are_scored_as_one_by_one(tiny_blip, examples, expected) -> None:
    """In a batch with longer questions, whose padding transformers does not mask from the decoder."""
    model = model_of(tiny_blip)
    found = scores(model, examples)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    with torch.no_grad():
        probs = model.predict(batch_of(model, examples)).probs.numpy()
    np.testing.assert_allclose(probs, softmax(expected), rtol=0, atol=1e-5)
    assert np.array_equal(probs.argmax(axis=1), expected.argmax(axis=1))
    assert np.ptp(expected[::4], axis=0).max() > 0.01  # one question, several pictures
    assert np.ptp(expected[:4], axis=0).max() > 0.01  # one picture, several questions


@pytest.mark.slow
def test_of_many_labels_those_with_the_most_probable_first_token_are_scored(tiny_blip, examples, expected) -> None:
    rank = 4
    model = model_of(tiny_blip, rank=rank)
    found, first = scores(model, examples), first_tokens(tiny_blip, examples)
    for row, before, whole in zip(found, first, expected, strict=True):
        chosen = sorted(range(len(LABELS)), key=lambda k, before=before: (-round(before[k], 5), k))[:rank]
        assert np.flatnonzero(np.isfinite(row)).tolist() == sorted(chosen)
        np.testing.assert_allclose(row[chosen], whole[chosen], rtol=0, atol=1e-5)
    with torch.no_grad():
        probs = model.predict(batch_of(model, examples)).probs.numpy()
    assert ((probs > 0).sum(axis=1) == rank).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-6)


def first_tokens(folder: Path, pool: list[Example]) -> np.ndarray:
    """Log-likelihood of the first token of each label: those of one token less the end, by the model's own decoder."""
    network, tokenizer = BlipForQuestionAnswering.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    reader, found = BlipImageProcessorPil.from_pretrained(folder), []
    ids = [tokenizer(label, add_special_tokens=False)["input_ids"][0] for label in LABELS]
    for example in pool:
        pixels = reader(Image.open(example.parts["image"].path), return_tensors="pt")["pixel_values"]
        question = tokenizer(example.parts["question"], return_tensors="pt")["input_ids"]
        question[0, 0] = len(tokenizer) + 1
        with torch.no_grad():
            out = network(question, pixels, decoder_input_ids=torch.tensor([[len(tokenizer)]]))
            seen = network.text_encoder(question, encoder_hidden_states=out.last_hidden_state).last_hidden_state
            logits = network.text_decoder(torch.tensor([[len(tokenizer)]]), encoder_hidden_states=seen).logits
        found.append(logits[0, 0].log_softmax(dim=-1)[ids].tolist())
    return np.array(found)


@pytest.mark.parametrize("rank", [3, 128])
def test_pictures_and_questions_are_encoded_once(tiny_blip, examples, rank: int) -> None:
    model, calls = model_of(tiny_blip, rank=rank), {"vision_model": [], "text_encoder": [], "text_decoder": []}
    for name, seen in calls.items():
        getattr(model.network, name).register_forward_hook(
            lambda module, args, out, seen=seen: seen.append(len(next(iter(out.values())))), with_kwargs=False
        )
    scores(model, examples)
    assert calls["vision_model"] == [3]  # each picture once
    assert calls["text_encoder"] == [12]
    assert calls["text_decoder"] == ([12 * 11] if rank > 11 else [12, 12 * rank])


# training


def test_the_loss_is_that_of_the_tokens_of_the_gold_answers(tiny_blip, examples, expected) -> None:
    model = model_of(tiny_blip)
    batch = batch_of(model, examples)
    logged = {}
    model.log = lambda name, value, **settings: logged.update({name: value.item()})
    loss = model.training_step(batch, 0)
    gold = batch["labels"].tolist()
    tokens = [len(AutoTokenizer.from_pretrained(tiny_blip)(LABELS[k])["input_ids"]) - 1 for k in gold]
    assert loss.item() == pytest.approx(-expected[range(12), gold].sum() / sum(tokens), abs=1e-5)
    assert logged == {"loss/train": loss.item()}
    loss.backward()
    assert all(p.grad is not None for p in model.parameters() if p.requires_grad)


def test_soft_labels_that_are_not_ranked_are_no_sign_of_a_broken_model(tiny_blip, examples, expected) -> None:
    task = Task(SOFT, PARTS, LABELS, pictures=("image",))
    model = model_of(tiny_blip, task, rank=4)
    pool = [Example(e.uid, e.parts, json.dumps({e.label: 1.0})) for e in examples]
    best = scores(model, pool).argmax(axis=1)
    with torch.no_grad():
        outputs = model.predict(batch_of(model, pool))
        assert outputs.probs is None
        assert outputs.answers.tolist() == best.tolist()
        model.network.text_encoder.embeddings.LayerNorm.bias.fill_(torch.nan)
        assert set(model.predict(batch_of(model, pool)).answers.tolist()) == {NOT_FINITE}


@pytest.mark.slow
def test_it_learns_and_is_measured(write_squares, tiny_blip, tmp_path) -> None:
    folder = write_squares(tmp_path / "squares", 64, 24)
    data = PairedImages(**SQUARES, path=str(folder), batch_size=8, eval_batch_size=7)
    model = BlipAnswers(str(tiny_blip), max_length=32, learning_rate=3e-3)
    data.setup("fit")
    model.prepare(data.task)
    model.configure_model()
    pool = [data.train_examples[i] for i in range(32)]
    before = scores(model, pool)
    engine = fitted(model.train(), data, [Accuracy(), Attentiveness(draws=1)], accelerator="cpu", max_epochs=2)
    after = scores(model, pool)
    gold = [data.task.labels.index(e.label) for e in pool]
    assert after[range(32), gold].mean() > before[range(32), gold].mean() + 2
    measured = engine
    assert measured["null/squares/flips"].value == 0
    assert {"attentiveness/squares/image", "attentiveness/squares/question"} <= set(measured)


# what is saved


@pytest.mark.slow
def test_an_export_answers_as_the_model_did(tiny_blip, tmp_path, examples) -> None:
    task = task_of(("no", "yes"), verbalisers={"yes": "it is red"})
    model = model_of(tiny_blip, task)
    before = scores(model, examples)
    np.testing.assert_allclose(before, naive(tiny_blip, examples, ("no", "it is red")), rtol=0, atol=1e-5)
    model.export(str(tmp_path / "whole"), weights=True)
    model.export(str(tmp_path / "bare"), weights=False)
    assert not list((tmp_path / "bare").glob("*.safetensors"))
    other = task_of(("yes", "no"))  # of other data: the same labels in another order, and no words for them
    again, bare = model_of(tmp_path / "whole", other), model_of(tmp_path / "bare", other)
    again.require_head()
    bare.load_state_dict(model.state_dict())
    np.testing.assert_array_equal(scores(again, examples)[:, ::-1], before)
    np.testing.assert_array_equal(scores(bare, examples)[:, ::-1], before)
    with refused(ModelError, tmp_path / "whole", "no, yes", "red, blue"):
        model_of(tmp_path / "whole", task_of(("red", "blue"))).require_head()
    network = AutoModelForVisualQuestionAnswering.from_pretrained(tmp_path / "whole")
    assert type(network) is BlipForQuestionAnswering
    np.testing.assert_allclose(naive(tmp_path / "whole", examples[:2], ("no", "it is red")), before[:2], atol=1e-5)


@pytest.mark.slow
def test_a_model_that_learned_three_texts_answers_in_two(tiny_blip, tmp_path, examples) -> None:
    """As a T5 does: the probabilities of neutral and contradiction are added up."""
    three = model_of(tiny_blip, task_of(("entailment", "neutral", "contradiction")))
    three.export(str(tmp_path), weights=True)
    two = BlipAnswers(str(tmp_path), max_length=64)
    two.keeps_head = True
    two.prepare(task_of(("entailment", "not_entailment")))
    two.require_head()
    two.configure_model()
    whole, found = (softmax(scores(model, examples)) for model in (three, two))
    np.testing.assert_allclose(found, np.stack([whole[:, 0], whole[:, 1:].sum(axis=1)], axis=1), rtol=0, atol=1e-6)


# mistakes


def test_what_cannot_be_done_is_one_sentence(tiny_blip, tiny_bert, tmp_path) -> None:
    head = Blip(str(tiny_blip), max_length=64)
    head.prepare(task_of())
    head.configure_model()
    head.export(str(tmp_path / "head"), weights=True)
    two = Task(CLASSIFICATION, ("a", "b", "c"), ("x", "y"), pictures=("a", "b"))
    cases = [
        (lambda: model_of(tiny_blip, two), ModelError, ("model BlipAnswers", "one picture", "a, b")),
        (lambda: model_of(tmp_path / "head"), ModelError, ("(text_decoder.",)),
        (lambda: model_of(tiny_bert), ModelError, ("bert",)),
        (lambda: model_of(tiny_blip, task_of(("red " * 200, "no"))), ModelError, (tiny_blip, "201 tokens")),
        (lambda: BlipAnswers(str(tiny_blip), rank=0), SettingError, ("rank 0",)),
    ]
    for make, error, facts in cases:
        with refused(error, *facts):
            make()
