"""Encoder-decoders: labels are scored as they should be, in one pass, and what is written is a label or none."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from families import assert_alike, predicted
from torch import nn
from torch.nn import functional as F
from transformers import AutoConfig, AutoModelForSeq2SeqLM, AutoTokenizer, RobertaTokenizer
from transformers.convert_slow_tokenizer import import_protobuf

from benchmarks.bare_runs import fitted, measured
from heedful.callbacks import Accuracy, Attentiveness, TableRows
from heedful.datamodules import PairedData, Planted
from heedful.datamodules.base.collate import Collate
from heedful.lightning_modules import NO_LABEL_NUMBER
from heedful.records import CLASSIFICATION, Example, Examples, ModelError, SettingError, Table, TableForm, Task

from refusals import refused
from tiers import first_tier

LABELS = ("entailment", "neutral", "contradiction")
NLI = Planted().task
POOL = list(Planted(n_validation=8).load("validation"))
KINDS = ("t5", "t5-v1.1", "bart")
LONGEST = 200


@pytest.fixture(scope="session")
def backbones(tiny_t5, tmp_path_factory):
    """Kind to the folder of a model with random weights; T5-v1.1 has an output layer of its own."""
    folder = tmp_path_factory.mktemp("backbones")
    sentences = [text for e in POOL for text in e.parts.values()]
    tokenizer = RobertaTokenizer().train_new_from_iterator(sentences, 400, show_progress=False)
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")}
    ids |= {"decoder_start_token_id": tokenizer.eos_token_id}
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "max_position_embeddings": LONGEST}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_ffn_dim": 64, f"{side}_attention_heads": 2}
    config = AutoConfig.for_model("bart", vocab_size=len(tokenizer), **sizes, **ids, forced_eos_token_id=None)
    for part in (AutoModelForSeq2SeqLM.from_config(config), tokenizer):
        part.save_pretrained(folder / "bart")
    tokenizer = AutoTokenizer.from_pretrained(tiny_t5)
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
    sizes |= {"vocab_size": len(tokenizer), "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    torch.manual_seed(1)
    network = AutoModelForSeq2SeqLM.from_config(AutoConfig.for_model("t5", **sizes))
    network.lm_head.weight = nn.Parameter(torch.randn_like(network.lm_head.weight))
    network.all_tied_weights_keys.pop("lm_head.weight", None)
    for part in (network, tokenizer):
        part.save_pretrained(folder / "v1.1")
    return {"t5": str(tiny_t5), "t5-v1.1": str(folder / "v1.1"), "bart": str(folder / "bart")}


@pytest.fixture
def model_of(zoo):
    return lambda backbone, task=NLI, **settings: zoo.model(
        "Seq2Seq", backbone, task, **{"max_length": LONGEST} | settings
    )


def batch_of(model, pool=POOL):
    return Collate(model.processor, model.task)((range(len(pool)), pool))


def text_of(example):
    return f"planted hypothesis: {example.parts['hypothesis']} premise: {example.parts['premise']}"


@cache
def naive(backbone):
    """Mean log-likelihoods of tokens by the loss of the model itself, and the number of tokens of each label."""
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


@pytest.mark.parametrize("kind", first_tier(1, KINDS))
@pytest.mark.parametrize("score", ["sum", "mean"])
def test_labels_are_scored_as_one_by_one(backbones, model_of, kind, score):
    model = model_of(backbones[kind], score=score)
    assert max(model.processor.lengths(POOL)) < LONGEST
    with torch.no_grad():
        found = model.logits(batch_of(model)["inputs"])
    means, sizes = naive(backbones[kind])
    expected = means if score == "mean" else means * sizes
    assert found.dtype == torch.float32
    assert np.allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)
    probs = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    assert np.allclose(torch.stack(predicted(model, POOL)), probs, atol=1e-5)


@pytest.mark.parametrize("decoding", ["likelihood", "greedy"])
def test_the_encoder_runs_once_and_the_labels_share_one_pass_of_the_decoder(backbones, model_of, decoding):
    model, n = model_of(backbones["t5"], decoding=decoding), len(POOL)
    calls = {"encoder": [], "decoder": []}
    for side, seen in calls.items():
        getattr(model.network, side).register_forward_hook(
            lambda module, args, kwargs, out, seen=seen: seen.append(tuple(out.last_hidden_state.shape)),
            with_kwargs=True,
        )
    predicted(model, POOL)
    assert len(calls["encoder"]) == 1
    assert calls["decoder"][0][:2] == (n * 3, model.scorer.written.shape[1])
    assert len([shape for shape in calls["decoder"] if shape[0] == n * 3]) == 1
    assert (len(calls["decoder"]) == 1) == (decoding == "likelihood")


@pytest.mark.parametrize("kind", first_tier(1, KINDS))
def test_the_loss_is_that_of_the_model_itself(backbones, model_of, kind):
    model = model_of(backbones[kind])
    tokenizer = model.processor.tokenizer
    written = tokenizer([e.label for e in POOL], padding=True, return_tensors="pt")
    labels = written["input_ids"].masked_fill(written["attention_mask"] == 0, -100)
    read = tokenizer([text_of(e) for e in POOL], padding=True, return_tensors="pt")
    expected = AutoModelForSeq2SeqLM.from_pretrained(backbones[kind])(**read, labels=labels).loss
    loss = model.loss(batch_of(model))
    assert torch.allclose(loss, expected, rtol=1e-5)
    loss.backward()
    assert all(p.grad is not None for p in model.network.get_encoder().parameters())


@pytest.mark.parametrize("precision", first_tier(1, ["bf16-mixed", "32-true", "bf16-true"]))
def test_precisions_that_a_t5_bears(zoo, backbones, precision):
    model = zoo.unbuilt("Seq2Seq", backbones["t5-v1.1"])
    settings = {"accelerator": "cpu", "max_epochs": 1, "precision": precision}
    fitted(model, Planted(n_train=16, n_validation=8, batch_size=8), [], **settings)
    assert torch.isfinite(model.trainer.callback_metrics["loss/train"])


def test_float16_is_refused_for_a_t5_alone(zoo, backbones, model_of):
    for precision in ("16", "16-mixed", "16-true"):
        model_of(backbones["bart"]).require_precision(precision)
        with refused(SettingError, f"precision {precision}", backbones["t5"], "bf16-mixed"):
            model_of(backbones["t5"]).require_precision(precision)
    with refused(SettingError, "precision 16-true", backbones["t5"]):  # by any Trainer
        measured(zoo.unbuilt("Seq2Seq"), Planted(n_validation=4), [], precision="16-true", accelerator="cpu")


# what the model writes


@pytest.mark.parametrize("kind", first_tier(1, KINDS))
def test_greedy_answers_are_what_the_model_writes_token_by_token(backbones, model_of, kind):
    """By a loop over argmaxes; a model with random weights writes no label."""
    model = model_of(backbones[kind], decoding="greedy")
    batch, steps = batch_of(model), max(model.scorer.lengths)
    mask, end = batch["inputs"]["attention_mask"], model.processor.tokenizer.eos_token_id
    with torch.no_grad():
        found = model._written(model._encoded(batch["inputs"]), mask)
        for i, text in enumerate(found):
            ids = [model.config.decoder_start_token_id]
            row = {name: values[i : i + 1, : mask[i].sum()] for name, values in batch["inputs"].items()}
            while len(ids) <= steps and (len(ids) == 1 or ids[-1] != end):
                ids.append(model.network(**row, decoder_input_ids=torch.tensor([ids])).logits[0, -1].argmax().item())
            assert model._text(ids[1:]) == text
        outputs = model.predict(batch)
    assert outputs.answers.tolist() == [NO_LABEL_NUMBER] * len(found)
    assert_alike(list(outputs.probs), predicted(model_of(backbones[kind]), POOL))


def test_what_is_written_is_a_label_where_it_is_the_text_of_one(backbones, model_of, monkeypatch):
    model = model_of(backbones["t5"], replace(NLI, verbalisers={"neutral": "not_duplicate"}), decoding="greedy")
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
    engine = measured(model, Planted(n_validation=8), [Accuracy(), Attentiveness(draws=2)], accelerator="cpu")
    counts, metrics = engine.content["counts"], engine.content["metrics"]
    assert (counts["no_label"], counts["accuracy/no_label"], counts["attentiveness/no_label"]) == (8, 8, 16)
    assert metrics["accuracy/planted"]["value"] == 0
    score = metrics["attentiveness/planted/premise"]
    assert (score["value"], score["n"], score["reason"]) == (None, 0, "more than half of the answers are none")
    invalid = metrics["attentiveness/planted/premise/with_invalid"]
    assert (invalid["value"], invalid["n"]) == (None, 8)  # it writes the same nonsense again, which is no attentiveness
    assert metrics["attentiveness/planted/premise/no_answer/base"]["value"] == 1
    assert counts["no_answers"]


# words that belong to the data, and words that the model has learned


class Claims(PairedData):
    """A hypothesis about each row of two tables."""

    def load(self, split):
        tables = {t: Table(t, (("Genre", ("rock", t)), ("Length", ("42",)))) for t in ("Rose", "Hammer")}
        return Examples.of(
            Example(f"d/{t}/{key}", {"premise": table, "hypothesis": key}, "neutral", {}, {"table": t, "category": "x"})
            for t, table in tables.items()
            for key in table.keys
        )


@pytest.mark.parametrize("decoding", ["likelihood", "greedy"])
def test_tables_are_parts_like_others(zoo, decoding):
    """Each of two rows is deleted for each of four hypotheses; a greedy T5 with random weights gives no label."""
    model = zoo.unbuilt("Seq2Seq", decoding=decoding, max_length=256)
    data = Claims("d", NLI.parts, LABELS, default_label="neutral")
    counts = measured(model, data, [Accuracy(), TableRows()], accelerator="cpu").content["counts"]
    assert counts["table_rows/delete"]["without_edit"] == 0
    assert counts["table_rows/delete"]["edited"] == (8 if decoding == "likelihood" else 0)
    assert (counts["table_rows/no_label"] > 8) == (decoding == "greedy")
    ids = model.processor([data.pool[0]])["input_ids"][0].tolist()
    premise = TableForm().text(data.pool[0].parts["premise"])
    assert ids == model.processor.tokenizer(f"d hypothesis: Genre premise: {premise}")["input_ids"]


def test_a_trained_model_keeps_its_words_on_data_that_ask_the_same(backbones, model_of, tmp_path):
    """Parts go by their order, labels by their names; data that ask something else bring their own words."""
    labels = {"yes": "true"}
    task = Task(CLASSIFICATION, ("p", "h"), ("yes", "not_so"), None, TableForm(), "ask h: {h} p: {p}", labels)
    first = model_of(backbones["t5"], task)
    first.require_head()  # one that was never trained here needs none
    assert first.known_labels is None
    first.export(str(tmp_path), weights=True)
    other = Task(CLASSIFICATION, ("a", "b"), ("Not-So", "Yes"), template="b: {b} a: {a} ?")
    model = model_of(str(tmp_path), other)
    assert model.processor.template == "ask h: {b} p: {a}"
    assert model._label_of == {"not_so": "Not-So", "true": "Yes"}
    again = model_of(str(tmp_path), task)
    again.require_head()
    assert (again.processor.template, again.known_labels) == ("ask h: {h} p: {p}", ["yes", "not_so"])
    two = replace(other, labels=("entailment", "not_entailment"))
    asks = model_of(str(tmp_path), two)
    assert asks.processor.template == "b: {b} a: {a} ?"
    with refused(ModelError, tmp_path, "yes, not_so", "entailment, not_entailment"):
        asks.require_head()
    alone = replace(task, parts=("h",), template="x {h}")
    assert model_of(str(tmp_path), alone).processor.template == "x {h}"
    (example,) = [Example("e", {"a": "The dog", "b": "bought", "c": "a hammer"})]
    three = Task(CLASSIFICATION, ("a", "b", "c"), ("yes", "no"))
    assert predicted(model_of(backbones["t5"], three), [example])[0].shape == (2,)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", [True, False], ids=["a run that is done", "a run that was stopped"])
def test_a_checkpoint_needs_what_the_run_exported(zoo, backbones, model_of, kind, weights, tmp_path):
    """A T5-v1.1 that is made from its config alone would have one table for what it reads and what it writes."""
    model = zoo.unbuilt("Seq2Seq", backbones[kind], learning_rate=1e-3)
    fitted(model, Planted(n_train=32, n_validation=8, batch_size=16), [], accelerator="cpu", max_epochs=1)
    model.trainer.save_checkpoint(tmp_path / "last.ckpt")
    model.export(str(tmp_path / "backbone"), weights)
    expected = predicted(model.eval(), POOL)
    again = (
        type(model)
        .load_from_checkpoint(
            tmp_path / "last.ckpt", backbone=str(tmp_path / "backbone"), weights_only=True, map_location="cpu"
        )
        .eval()
    )
    assert_alike(expected, predicted(again, POOL))
    if kind != "bart":
        is_shared = again.network.lm_head.weight is again.network.shared.weight
        assert is_shared == (kind == "t5")
        again.export(str(tmp_path / "again"), weights=True)
        assert_alike(expected, predicted(model_of(str(tmp_path / "again"), max_length=64), POOL))
        assert json.loads((tmp_path / "backbone" / "config.json").read_text())["heedful"] == {
            "template": NLI.wording,
            "parts": list(NLI.parts),
            "targets": list(LABELS),
        }


def test_no_more_tokens_than_positions_where_they_are_counted(backbones, model_of):
    assert model_of(backbones["t5"], max_length=900).processor.budget > 800
    with refused(ModelError, f"{LONGEST} positions", LONGEST + 1):
        model_of(backbones["bart"], max_length=LONGEST + 1)


def test_a_repository_that_holds_only_a_sentencepiece_file_is_read(tiny_t5, model_of, tmp_path):
    """As some published T5 are; the package sentencepiece is needed for it."""
    model = import_protobuf().ModelProto()
    vocabulary = json.loads((tiny_t5 / "tokenizer.json").read_text())["model"]["vocab"]
    for i, (piece, score) in enumerate(vocabulary):
        model.pieces.add(piece=piece, score=score, type={0: 3, 1: 3, 2: 2}.get(i, 1))  # control, control, unknown
    model.trainer_spec.model_type, model.trainer_spec.unk_id = 1, 2
    (tmp_path / "spiece.model").write_bytes(model.SerializeToString())
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "T5Tokenizer", "extra_ids": 0}')
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((tiny_t5 / name).read_bytes())
    assert_alike(predicted(model_of(str(tmp_path)), POOL), predicted(model_of(str(tiny_t5)), POOL))
