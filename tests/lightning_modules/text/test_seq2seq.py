"""Tests of encoder-decoders: scores of labels in one pass, and generated labels."""

import json
import shutil
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from families import assert_alike, batch_of, predicted
from torch.nn import functional as F
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from benchmarks.bare_runs import measured
from heedful.callbacks import Accuracy
from heedful.datamodules import Planted
from heedful.lightning_modules import NO_LABEL_NUMBER, CausalLM
from heedful.records import CLASSIFICATION, Example, ModelError, SettingError, TableForm, Task
from heedful.records.prompts import Prompt, Wording

from causal import save
from refusals import refused
from tiers import first_tier

LABELS = ("entailment", "neutral", "contradiction")
NLI = Planted().task
POOL = list(Planted(n_validation=8).load("validation"))
KINDS = ("Seq2Seq", "Seq2Seq, Switch", "Seq2Seq, untied", "Seq2Seq, BART")
LONGEST = 200


@pytest.fixture
def model_of(zoo):
    return lambda name="Seq2Seq", task=NLI, **settings: zoo.model(name, task=task, **{"max_length": LONGEST} | settings)


def text_of(example):
    return f"planted hypothesis: {example.parts['hypothesis']} premise: {example.parts['premise']}"


@cache
def naive(backbone):
    """Mean log-likelihood per token, by the loss of the model, and the number of tokens of each label."""
    network, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(backbone), AutoTokenizer.from_pretrained(backbone)
    means, sizes = np.zeros((len(POOL), 3)), np.zeros(3)
    for i, example in enumerate(POOL):
        read = tokenizer(text_of(example), return_tensors="pt", truncation=True, max_length=LONGEST)
        for k, label in enumerate(LABELS):
            written = tokenizer(label, return_tensors="pt")["input_ids"]
            with torch.no_grad():
                means[i, k] = -network(**read, labels=written).loss.item()
            sizes[k] = written.shape[1]
    return means, sizes


@pytest.mark.parametrize("kind", first_tier(2, KINDS))
@pytest.mark.parametrize("score", ["sum", "mean"])
def test_labels_are_scored_as_one_by_one(zoo, model_of, kind, score):
    model = model_of(kind, score=score)
    assert max(model.processor.lengths(POOL)) < LONGEST
    with torch.no_grad():
        found = model.logits(batch_of(model, POOL)["inputs"])
    means, sizes = naive(zoo.backbone(kind))
    expected = means if score == "mean" else means * sizes
    assert found.dtype == torch.float32
    assert np.allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)
    probs = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    assert np.allclose(torch.stack(predicted(model, POOL)), probs, atol=1e-5)


@pytest.mark.parametrize("decoding", ["likelihood", "greedy"])
def test_the_encoder_runs_once_and_the_labels_share_one_pass_of_the_decoder(model_of, decoding):
    model, n = model_of(decoding=decoding), len(POOL)
    calls = {"encoder": [], "decoder": []}
    for side, seen in calls.items():
        getattr(model.network, side).register_forward_hook(
            lambda module, args, kwargs, out, seen=seen: seen.append(tuple(out.last_hidden_state.shape)),
            with_kwargs=True,
        )
    predicted(model, POOL)
    assert len(calls["encoder"]) == 1
    assert calls["decoder"][0][:2] == (n * 3, model.task_head.written.shape[1])
    assert len([shape for shape in calls["decoder"] if shape[0] == n * 3]) == 1
    assert (len(calls["decoder"]) == 1) == (decoding == "likelihood")


@pytest.mark.parametrize("kind", first_tier(1, KINDS))
def test_the_loss_is_that_of_the_model_itself(zoo, model_of, kind):
    model = model_of(kind)
    tokenizer = model.processor.tokenizer
    written = tokenizer([e.label for e in POOL], padding=True, return_tensors="pt")
    labels = written["input_ids"].masked_fill(written["attention_mask"] == 0, -100)
    read = tokenizer([text_of(e) for e in POOL], padding=True, return_tensors="pt")
    expected = AutoModelForSeq2SeqLM.from_pretrained(zoo.backbone(kind))(**read, labels=labels).loss
    loss = model.loss(batch_of(model, POOL))
    assert torch.allclose(loss, expected, rtol=1e-5)
    loss.backward()
    assert all(p.grad is not None for p in model.network.get_encoder().parameters())


@pytest.mark.parametrize("decoding", ["likelihood", "greedy"])
def test_a_t5_without_a_start_of_the_decoder_begins_with_padding(zoo, model_of, decoding, tmp_path):
    folder = shutil.copytree(zoo.backbone("Seq2Seq"), tmp_path / "t5")
    for file in ("generation_config.json", "config.json"):
        config = json.loads((folder / file).read_text())
        del config["decoder_start_token_id"]
        (folder / file).write_text(json.dumps(config))
    expected = model_of(decoding=decoding)
    model = model_of(folder=folder, decoding=decoding)
    assert_alike(predicted(model, POOL), predicted(expected, POOL))
    if decoding == "greedy":
        texts = []
        for each in (model, expected):
            inputs = batch_of(each, POOL)["inputs"]
            with torch.no_grad():
                texts.append(each.task_head.generated(each, inputs, each.encoded(inputs)))
        assert texts[0] == texts[1]
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "mbart"}))
    with refused(ModelError, folder, "decoder_start_token_id"):
        model_of(folder=folder)


def test_float16_is_refused_for_a_t5_alone(zoo, model_of):
    for precision in ("16", "16-mixed", "16-true"):
        model_of("Seq2Seq, BART").require_precision(precision)
        with refused(SettingError, f"precision {precision}", zoo.backbone("Seq2Seq"), "bf16-mixed"):
            model_of().require_precision(precision)
    with refused(SettingError, "precision 16-true", zoo.backbone("Seq2Seq")):  # in setup with any Trainer
        measured(zoo.unbuilt("Seq2Seq"), Planted(n_validation=4), [], precision="16-true", accelerator="cpu")


# what the model writes


@pytest.mark.parametrize("kind", first_tier(1, KINDS))
def test_greedy_answers_are_what_the_model_writes_token_by_token(model_of, kind):
    """Compared with a loop over argmaxes; a model with random weights generates no label."""
    model = model_of(kind, decoding="greedy")
    batch, steps = batch_of(model, POOL), model.task_head.longest
    mask, end = batch["inputs"]["attention_mask"], model.processor.tokenizer.eos_token_id
    with torch.no_grad():
        found = model.task_head.generated(model, batch["inputs"], model.encoded(batch["inputs"]))
        for i, text in enumerate(found):
            ids = [model.config.decoder_start_token_id]
            row = {name: values[i : i + 1, : mask[i].sum()] for name, values in batch["inputs"].items()}
            while len(ids) <= steps and (len(ids) == 1 or ids[-1] != end):
                ids.append(model.network(**row, decoder_input_ids=torch.tensor([ids])).logits[0, -1].argmax().item())
            assert model.task_head.text(ids[1:]) == text
        outputs = model.predict(batch)
    assert outputs.answers.tolist() == [NO_LABEL_NUMBER] * len(found)
    assert_alike(list(outputs.probs), predicted(model_of(kind), POOL))


def test_what_is_written_is_a_label_where_it_is_the_text_of_one(model_of, monkeypatch):
    model = model_of("Seq2Seq", replace(NLI, verbalisers={"neutral": "not_duplicate"}), decoding="greedy")
    said = ["entailment", "not_duplicate", "neutral", "not", "contradiction contradiction", "", "contradiction"]
    written = [f" {text}" for text in said]
    ids = model.processor.tokenizer(written, padding=True, return_tensors="pt")["input_ids"]
    monkeypatch.setattr(model.network, "generate", lambda **kwargs: F.pad(ids, (1, 0), value=0))
    with torch.no_grad():
        answers = model.predict(batch_of(model, POOL[: len(said)])).answers
    assert answers.dtype == torch.int64
    assert answers.tolist() == [0, 1, *[NO_LABEL_NUMBER] * 4, 2]


def test_answers_that_are_no_label_are_counted_and_wrong(zoo):
    model = zoo.unbuilt("Seq2Seq", decoding="greedy")
    engine = measured(model, Planted(n_validation=8), [Accuracy()], accelerator="cpu")
    assert engine["accuracy/planted"].value == 0
    assert engine.content["counts"]["no_label"] == 8
    assert engine.content["counts"]["no_answers"]


# settings with which a published model may be saved, such as those of bart-large-cnn
GENERATION = {
    "min_length": 9,
    "min_new_tokens": 5,
    "max_new_tokens": 2,
    "max_length": 3,
    "num_beams": 3,
    "do_sample": True,
    "forced_bos_token_id": 9,
    "forced_eos_token_id": 8,
    "no_repeat_ngram_size": 1,
    "length_penalty": 3.0,
    "encoder_no_repeat_ngram_size": 1,
    "repetition_penalty": 5.0,
    "encoder_repetition_penalty": 5.0,
    "temperature": 0.1,
    "top_k": 3,
    "top_p": 0.5,
    "typical_p": 0.5,
    "bad_words_ids": [[9], [11]],
    "early_stopping": True,
    "sequence_bias": [[[12], 9.0]],
    "suppress_tokens": [13, 14],
    "begin_suppress_tokens": [15, 16],
    "exponential_decay_length_penalty": [1, 2.0],
    "num_return_sequences": 2,
    "guidance_scale": 2.0,
    "epsilon_cutoff": 0.1,
    "eta_cutoff": 0.1,
    "renormalize_logits": True,
    "return_dict_in_generate": True,
    "output_scores": True,
    "stop_strings": ["a"],
    "use_cache": False,
}


@pytest.mark.parametrize("prompts", [False, True])
@pytest.mark.parametrize("family", ["Seq2Seq, BART", "CausalLM"])
@pytest.mark.parametrize("files", [["config.json"], ["config.json", "generation_config.json"]])
def test_generation_settings_of_a_published_model_change_no_answer(zoo, family, files, prompts, tmp_path):
    plain = tmp_path / "plain"
    if family == "CausalLM":
        save(plain)
    else:
        shutil.copytree(zoo.backbone(family), plain)
        network = AutoModelForSeq2SeqLM.from_pretrained(plain)
        network.load_state_dict({name: 10 * value for name, value in network.state_dict().items()})
        network.final_logits_bias[0, network.config.eos_token_id] = -1e4  # it would write nothing
        network.save_pretrained(plain)
    folder = shutil.copytree(plain, tmp_path / "set")
    settings = {name: json.loads((folder / name).read_text()) | GENERATION for name in files}
    (folder / "generation_config.json").unlink()
    for name, values in settings.items():
        (folder / name).write_text(json.dumps(values))
    found = []
    for place in (plain, folder):
        if family == "CausalLM":
            model = CausalLM(str(place), share_prefix=prompts)
            model.bind(NLI)
            model.configure_model()
        else:
            model = zoo.model(family, place, NLI, max_length=LONGEST, decoding="greedy")
        if prompts or family == "CausalLM":
            model.prompt_with(Prompt(Wording("{premise} {hypothesis} Answer:", "Say."), NLI))
        inputs = model.processor(POOL)
        with torch.no_grad():
            scores, reused = model.task_head.text_scores(model, inputs)
            found.append((scores, model.task_head.generated(model, inputs, reused), model.answer(inputs).probs))
    (scores, texts, probs), (scores_set, texts_set, probs_set) = found
    assert texts == texts_set
    assert any(texts)
    assert torch.equal(scores, scores_set)
    assert torch.equal(probs, probs_set)


# words that belong to the data, and words that the model has learned


def test_a_trained_model_keeps_its_words_on_data_that_ask_the_same(zoo, tmp_path):
    """Parts are matched by position, labels by name; data with other labels bring their own template."""
    labels = {"yes": "true"}
    task = Task(CLASSIFICATION, ("p", "h"), ("yes", "not_so"), None, TableForm(), "ask h: {h} p: {p}", labels)
    first = zoo.model("Seq2Seq", task=task)
    first.require_head()  # not required without training by Heedful
    assert first.learned.labels is None
    first.export(str(tmp_path), weights=True)
    other = Task(CLASSIFICATION, ("a", "b"), ("Not-So", "Yes"), template="b: {b} a: {a} ?")
    model = zoo.model("Seq2Seq", tmp_path, other)
    assert model.processor.template == "ask h: {b} p: {a}"
    assert model.fit.task.targets == ("not_so", "true")
    again = zoo.model("Seq2Seq", tmp_path, task)
    again.require_head()
    assert (again.processor.template, again.learned.labels) == ("ask h: {h} p: {p}", ("yes", "not_so"))
    two = replace(other, labels=("entailment", "not_entailment"))
    asks = zoo.model("Seq2Seq", tmp_path, two)
    assert asks.processor.template == "b: {b} a: {a} ?"
    with refused(ModelError, tmp_path, "yes, not_so", "entailment, not_entailment"):
        asks.require_head()
    alone = replace(task, parts=("h",), template="x {h}")
    assert zoo.model("Seq2Seq", tmp_path, alone).processor.template == "x {h}"
    (example,) = [Example("e", {"a": "The dog", "b": "bought", "c": "a hammer"})]
    three = Task(CLASSIFICATION, ("a", "b", "c"), ("yes", "no"))
    assert predicted(zoo.model("Seq2Seq", task=three), [example])[0].shape == (2,)


def test_the_token_that_begins_a_text_is_no_part_of_an_answer(zoo):
    """BART writes <s> first, and may end with </s>."""
    model = zoo.model("Seq2Seq, BART")
    ids = model.tokenizer("entailment")["input_ids"]
    assert (ids[0], ids[-1]) == (model.tokenizer.bos_token_id, model.tokenizer.eos_token_id)
    assert model.task_head.text(ids) == model.task_head.text(ids[:-1]) == "entailment"
