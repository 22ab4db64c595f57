"""Encoder-decoders: labels are scored as they should be, in one pass, and what is saved can be loaded."""

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    BartConfig,
    RobertaTokenizer,
    T5Config,
)
from transformers.convert_slow_tokenizer import import_protobuf

from benchmarks.bare_runs import fitted, measured
from heedful.callbacks import Accuracy, Attentiveness, TableRows
from heedful.datamodules import PairedData, Planted
from heedful.datamodules.base.collate import Collate
from heedful.lightning_modules import NO_LABEL_NUMBER, Encoder, Seq2Seq
from heedful.lightning_modules.pretrained.linear import faster_on_cpu
from heedful.records import CLASSIFICATION, Example, Examples, ModelError, SettingError, Table, TableForm, Task

from refusals import refused
from tiers import first_tier

LABELS = ("entailment", "neutral", "contradiction")
PAIRS = Planted(n_validation=12)
NLI = PAIRS.task
KINDS = ("t5", "t5-v1.1", "bart")
LONGEST = 200


@pytest.fixture(scope="session")
def backbones(tiny_t5: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Kind to the folder of a model with random weights; T5-v1.1 has an output layer of its own."""
    folder = tmp_path_factory.mktemp("backbones")
    tokenizer = AutoTokenizer.from_pretrained(tiny_t5)
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2, "decoder_start_token_id": 0}
    gated = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    torch.manual_seed(1)
    network = AutoModelForSeq2SeqLM.from_config(T5Config(vocab_size=len(tokenizer), **sizes, **gated))
    network.lm_head.weight = nn.Parameter(torch.randn_like(network.lm_head.weight))
    network.all_tied_weights_keys.pop("lm_head.weight")
    network.save_pretrained(folder / "v1.1")
    tokenizer.save_pretrained(folder / "v1.1")
    sentences = [text for e in PAIRS.load("validation") for text in e.parts.values()]
    tokenizer = RobertaTokenizer().train_new_from_iterator(sentences, 400, show_progress=False)
    tokens = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")}
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "max_position_embeddings": LONGEST}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_ffn_dim": 64, f"{side}_attention_heads": 2}
    config = BartConfig(vocab_size=len(tokenizer), **sizes, **tokens, decoder_start_token_id=tokens["eos_token_id"])
    config.forced_eos_token_id = None
    AutoModelForSeq2SeqLM.from_config(config).save_pretrained(folder / "bart")
    tokenizer.save_pretrained(folder / "bart")
    return {"t5": str(tiny_t5), "t5-v1.1": str(folder / "v1.1"), "bart": str(folder / "bart")}


def model_of(backbone: str, task: Task = NLI, **settings: object) -> Seq2Seq:
    model = Seq2Seq(backbone, **{"max_length": LONGEST} | settings)
    model.prepare(task)
    model.configure_model()
    return model


def examples(parts: tuple[str, ...] = NLI.parts) -> list[Example]:
    return [Example(e.uid, {p: e.parts[p] for p in parts}, e.label) for e in PAIRS.load("validation")]


def batch_of(model: Seq2Seq, pool: list[Example] | None = None) -> dict:
    pool = examples(model.task.parts) if pool is None else pool
    return Collate(model.processor, model.task)((range(len(pool)), pool))


def probabilities(model: Seq2Seq, pool: list[Example] | None = None) -> np.ndarray:
    """Probabilities [examples, labels] of a model in eval mode."""
    model.eval()
    with torch.no_grad():
        return model.predict(batch_of(model, pool)).probs.numpy()


def text_of(example: Example) -> str:
    return f"planted hypothesis: {example.parts['hypothesis']} premise: {example.parts['premise']}"


@cache
def naive(backbone: str) -> tuple[np.ndarray, np.ndarray]:
    """Mean log-likelihoods of tokens, one example and one label at a time, by the loss of the model itself.

    And how many tokens each label has.
    """
    network, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(backbone), AutoTokenizer.from_pretrained(backbone)
    means = np.zeros((12, 3))
    sizes = np.zeros(3)
    for i, example in enumerate(examples()):
        read = tokenizer(text_of(example), return_tensors="pt", truncation=True, max_length=LONGEST)
        for k, label in enumerate(LABELS):
            written = tokenizer(label, return_tensors="pt")["input_ids"]
            with torch.no_grad():
                loss = network(**read, labels=written).loss.item()
            means[i, k] = -loss
            sizes[k] = written.shape[1]
    return means, sizes


# scores


@pytest.mark.parametrize("kind", first_tier(1, KINDS))
@pytest.mark.parametrize("score", ["sum", "mean"])
def test_labels_are_scored_as_one_by_one(backbones: dict[str, str], kind: str, score: str) -> None:
    model = model_of(backbones[kind], score=score)
    assert max(model.processor.lengths(examples())) < LONGEST
    model.eval()
    with torch.no_grad():
        found = model.logits(batch_of(model)["inputs"])
    means, sizes = naive(backbones[kind])
    expected = means if score == "mean" else means * sizes
    assert found.dtype == torch.float32
    assert np.allclose(found.numpy(), expected, rtol=1e-5, atol=1e-5)
    probs = np.exp(expected) / np.exp(expected).sum(axis=1, keepdims=True)
    assert np.allclose(probabilities(model), probs, atol=1e-5)
    assert np.array_equal(probabilities(model).argmax(axis=1), expected.argmax(axis=1))


@pytest.mark.parametrize("decoding", ["likelihood", "greedy"])
def test_the_encoder_runs_once_and_the_labels_share_one_pass_of_the_decoder(
    backbones: dict[str, str], decoding: str
) -> None:
    model = model_of(backbones["t5"], decoding=decoding)
    calls = {"encoder": [], "decoder": []}
    for side, seen in calls.items():
        getattr(model.network, side).register_forward_hook(
            lambda module, args, kwargs, out, seen=seen: seen.append(tuple(out.last_hidden_state.shape)),
            with_kwargs=True,
        )
    probabilities(model)
    assert len(calls["encoder"]) == 1
    assert calls["decoder"][0][:2] == (12 * 3, model.scorer.written.shape[1])
    assert len([shape for shape in calls["decoder"] if shape[0] == 12 * 3]) == 1
    assert (len(calls["decoder"]) == 1) == (decoding == "likelihood")


def test_one_part_three_parts_and_no_example(backbones: dict[str, str]) -> None:
    alone = model_of(backbones["t5"], Task(CLASSIFICATION, ("hypothesis",), LABELS, template=NLI.template))
    assert probabilities(alone).shape == (12, 3)
    three = Task(CLASSIFICATION, ("a", "b", "c"), ("yes", "no"))
    pool = [Example("e", {"a": "The dog", "b": "bought", "c": "a hammer"})]
    assert probabilities(model_of(backbones["t5"], three), pool).shape == (1, 2)
    assert alone.predict(batch_of(alone, [])) is None


# training


@pytest.mark.parametrize("kind", first_tier(1, KINDS))
def test_the_loss_is_that_of_the_model_itself(backbones: dict[str, str], kind: str, monkeypatch) -> None:
    model = model_of(backbones[kind])
    model.eval()
    monkeypatch.setattr(model, "log", lambda *args, **kwargs: None)
    tokenizer = model.processor.tokenizer
    gold = [e.label for e in examples()]
    written = tokenizer(gold, padding=True, return_tensors="pt")
    labels = written["input_ids"].masked_fill(written["attention_mask"] == 0, -100)
    read = tokenizer([text_of(e) for e in examples()], padding=True, return_tensors="pt")
    network = AutoModelForSeq2SeqLM.from_pretrained(backbones[kind])
    expected = network(**read, labels=labels).loss
    loss = model.training_step(batch_of(model), 0)
    assert torch.allclose(loss, expected, rtol=1e-5)
    loss.backward()
    assert all(p.grad is not None for p in model.network.get_encoder().parameters())


@pytest.mark.parametrize("kind", first_tier(1, KINDS))
def test_training_starts_with_dropout_and_in_float32(backbones: dict[str, str], kind: str, tmp_path: Path) -> None:
    network = AutoModelForSeq2SeqLM.from_pretrained(backbones[kind], dtype=torch.bfloat16)
    network.save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(backbones[kind]).save_pretrained(tmp_path)
    model = model_of(str(tmp_path))
    assert all(module.training for module in model.network.modules())
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    inputs = batch_of(model)["inputs"]
    with torch.no_grad():
        torch.manual_seed(0)
        first = model.logits(inputs)
        assert not torch.equal(first, model.logits(inputs))
        model.eval()
        assert torch.equal(model.logits(inputs), model.logits(inputs))


ONCE = {"accelerator": "cpu", "max_epochs": 1}


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed", "bf16-true"])
def test_precisions_that_a_t5_bears(backbones: dict[str, str], precision: str) -> None:
    model = Seq2Seq(backbones["t5-v1.1"], max_length=LONGEST)
    fitted(model, Planted(n_train=16, n_validation=8, batch_size=8), [], precision=precision, **ONCE)
    assert torch.isfinite(model.trainer.callback_metrics["loss/train"])


@pytest.mark.parametrize("precision", ["16", "16-mixed", "16-true"])
def test_float16_is_refused_for_a_t5_alone(backbones: dict[str, str], precision: str, monkeypatch) -> None:
    model_of(backbones["bart"]).require_precision(precision)
    with refused(SettingError, f"precision {precision}", backbones["t5"], "bf16-mixed"):
        model_of(backbones["t5"]).require_precision(precision)


def test_float16_is_refused_by_any_trainer(backbones: dict[str, str]) -> None:
    model = Seq2Seq(backbones["t5"], max_length=LONGEST)
    with refused(SettingError, "precision 16-true", backbones["t5"]):
        measured(model, Planted(n_validation=4), [], precision="16-true", accelerator="cpu")


# what the model writes


@pytest.mark.parametrize("kind", first_tier(1, KINDS))
def test_greedy_answers_are_what_the_model_writes_token_by_token(backbones: dict[str, str], kind: str) -> None:
    """By a loop over argmaxes; a model with random weights writes no label."""
    model = model_of(backbones[kind], decoding="greedy")
    model.eval()
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
    likely = model_of(backbones[kind])
    assert np.array_equal(outputs.probs.numpy(), probabilities(likely))


def test_what_is_written_is_a_label_where_it_is_the_text_of_one(backbones: dict[str, str], monkeypatch) -> None:
    task = Task(CLASSIFICATION, NLI.parts, LABELS, "neutral", verbalisers={"neutral": "not_duplicate"})
    model = model_of(backbones["t5"], task, decoding="greedy")
    tokenizer = model.processor.tokenizer
    said = ["entailment", "not_duplicate", "neutral", "not", "contradiction contradiction", "", "contradiction"]
    ids = tokenizer([f" {text}" for text in said], padding=True, return_tensors="pt")["input_ids"]
    monkeypatch.setattr(model.network, "generate", lambda **kwargs: F.pad(ids, (1, 0), value=0))
    model.eval()
    with torch.no_grad():
        answers = model.predict(batch_of(model, examples()[: len(said)])).answers
    assert answers.dtype == torch.int64
    numbers = [LABELS.index(label) for label in ("entailment", "neutral", "contradiction")]
    assert answers.tolist() == [*numbers[:2], *[NO_LABEL_NUMBER] * 4, numbers[2]]


def test_answers_that_are_no_label_are_counted_and_wrong(backbones: dict[str, str]) -> None:
    model = Seq2Seq(backbones["t5"], max_length=LONGEST, decoding="greedy")
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

    def load(self, split: str) -> Examples:
        tables = {t: Table(t, (("Genre", ("rock", t)), ("Length", ("42",)))) for t in ("Rose", "Hammer")}
        return Examples.of(
            Example(f"d/{t}/{key}", {"premise": table, "hypothesis": key}, "neutral", {}, {"table": t, "category": "x"})
            for t, table in tables.items()
            for key in table.keys
        )


@pytest.mark.parametrize("decoding", ["likelihood", "greedy"])
def test_tables_are_parts_like_others(backbones: dict[str, str], decoding: str) -> None:
    """Each of two rows is deleted for each of four hypotheses; a greedy T5 with random weights gives no label."""
    model = Seq2Seq(backbones["t5"], decoding=decoding)
    engine = measured(
        model, Claims("d", NLI.parts, LABELS, default_label="neutral"), [Accuracy(), TableRows()], accelerator="cpu"
    )
    data = model.trainer.datamodule
    counts = engine.content["counts"]
    assert counts["table_rows/delete"]["without_edit"] == 0
    assert counts["table_rows/delete"]["edited"] == (8 if decoding == "likelihood" else 0)
    assert (counts["table_rows/no_label"] > 8) == (decoding == "greedy")
    ids = model.processor([data.pool[0]])["input_ids"][0].tolist()
    premise = TableForm().text(data.pool[0].parts["premise"])
    assert ids == model.processor.tokenizer(f"d hypothesis: Genre premise: {premise}")["input_ids"]


@pytest.mark.parametrize("kind", first_tier(1, KINDS))
def test_an_export_loads_without_heedful_and_gives_the_same_bits(
    backbones: dict[str, str], kind: str, tmp_path: Path
) -> None:
    model = model_of(backbones[kind])
    found = probabilities(model)
    model.export(str(tmp_path), weights=True)
    assert (tmp_path / "model.safetensors").is_file()
    network, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    assert network.config.id2label == dict(enumerate(LABELS))
    inputs = model.processor(examples())
    whole = tokenizer([text_of(e) for e in examples()], padding=True, return_tensors="pt")
    assert all(torch.equal(inputs[name], values) for name, values in whole.items())
    read = model.scorer.read[:1].repeat(12, 1)
    with torch.no_grad():
        faster_on_cpu(network)
        assert torch.equal(
            network(**inputs, decoder_input_ids=read).logits, model.network(**inputs, decoder_input_ids=read).logits
        )
    again = model_of(str(tmp_path))
    again.require_head()
    assert again.known_labels == list(LABELS)
    assert np.array_equal(probabilities(again), found)


def test_a_trained_model_keeps_its_words_on_data_that_ask_the_same(backbones: dict[str, str], tmp_path: Path) -> None:
    """Parts go by their order, labels by their names."""
    task = Task(CLASSIFICATION, ("p", "h"), ("yes", "not_so"), None, TableForm(), "ask h: {h} p: {p}", {"yes": "true"})
    model_of(backbones["t5"], task).export(str(tmp_path), weights=True)
    other = Task(CLASSIFICATION, ("a", "b"), ("Not-So", "Yes"), template="b: {b} a: {a} ?")
    model = model_of(str(tmp_path), other)
    assert model.processor.template == "ask h: {b} p: {a}"
    assert model._label_of == {"not_so": "Not-So", "true": "Yes"}
    again = model_of(str(tmp_path), task)
    assert again.processor.template == "ask h: {h} p: {p}"


def test_data_that_ask_something_else_bring_their_own_words(backbones: dict[str, str], tmp_path: Path) -> None:
    model_of(backbones["t5"]).export(str(tmp_path), weights=True)
    two = Task(CLASSIFICATION, NLI.parts, ("entailment", "not_entailment"), template="rte {hypothesis} {premise}")
    model = model_of(str(tmp_path), two)
    assert model.processor.template == "rte {hypothesis} {premise}"
    with refused(ModelError, tmp_path, ", ".join(LABELS), "entailment, not_entailment"):
        model.require_head()
    alone = Task(CLASSIFICATION, ("hypothesis",), LABELS, template="x hypothesis: {hypothesis}")
    assert model_of(str(tmp_path), alone).processor.template == "x hypothesis: {hypothesis}"


def test_a_model_that_was_never_trained_here_needs_no_head(backbones: dict[str, str]) -> None:
    model = model_of(backbones["t5"])
    model.require_head()
    assert model.known_labels is None


# checkpoints


@pytest.mark.parametrize("kind", first_tier(1, KINDS))
@pytest.mark.parametrize("weights", [True, False], ids=["a run that is done", "a run that was stopped"])
def test_a_checkpoint_needs_what_the_run_exported(
    backbones: dict[str, str], kind: str, weights: bool, tmp_path: Path
) -> None:
    """A T5-v1.1 that is made from its config alone would have one table for what it reads and what it writes."""
    model = Seq2Seq(backbones[kind], max_length=LONGEST, learning_rate=1e-3)
    fitted(model, Planted(n_train=32, n_validation=8, batch_size=16), [], **ONCE)
    model.trainer.save_checkpoint(tmp_path / "last.ckpt")
    model.export(str(tmp_path / "backbone"), weights)
    found = probabilities(model)
    again = Seq2Seq.load_from_checkpoint(
        tmp_path / "last.ckpt", backbone=str(tmp_path / "backbone"), weights_only=True, map_location="cpu"
    )
    assert again.task == NLI
    assert np.array_equal(probabilities(again), found)
    if kind == "t5-v1.1":
        assert again.network.lm_head.weight is not again.network.shared.weight
        again.export(str(tmp_path / "again"), weights=True)
        assert np.array_equal(probabilities(model_of(str(tmp_path / "again"))), found)
    if kind == "t5":
        assert again.network.lm_head.weight is again.network.shared.weight
        assert json.loads((tmp_path / "backbone" / "config.json").read_text())["heedful"] == {
            "template": NLI.wording,
            "parts": list(NLI.parts),
            "targets": list(LABELS),
        }


# what is refused


def test_an_encoder_is_no_encoder_decoder(tiny_bert: Path, backbones: dict[str, str]) -> None:
    with refused(ModelError, tiny_bert, "bert", "model Encoder"):
        model_of(str(tiny_bert))
    model = Encoder(backbones["t5"], max_length=64)
    model.prepare(NLI)
    with refused(ModelError, backbones["t5"], "model Seq2Seq"):
        model.require_head()


def test_no_more_tokens_than_positions_where_they_are_counted(backbones: dict[str, str]) -> None:
    assert model_of(backbones["t5"], max_length=900).processor.budget > 800
    with refused(ModelError, f"{LONGEST} positions", LONGEST + 1):
        model_of(backbones["bart"], max_length=LONGEST + 1)


def test_texts_that_the_tokenizer_cannot_tell_apart_are_refused(backbones: dict[str, str]) -> None:
    task = Task(CLASSIFICATION, NLI.parts, ("狗", "猫"))
    with refused(ModelError, backbones["t5"], "狗, 猫"):
        model_of(backbones["t5"], task)


def test_a_repository_that_holds_only_a_sentencepiece_file_is_read(tiny_t5: Path, tmp_path: Path) -> None:
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
    assert np.array_equal(probabilities(model_of(str(tmp_path))), probabilities(model_of(str(tiny_t5))))
