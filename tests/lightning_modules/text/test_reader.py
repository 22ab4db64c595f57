"""Tests of extractive readers: heads, losses, windows, and training on a few questions."""

import json

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from families import WINDOWS, batch_of, predicted
from transformers import (
    AutoConfig,
    AutoModelForQuestionAnswering,
    AutoTokenizer,
    BertForSequenceClassification,
    DebertaV2Tokenizer,
    RobertaTokenizer,
)

from benchmarks.bare_runs import fitted
from heedful.datamodules import Reading
from heedful.lightning_modules.text import reader as reader_module
from heedful.records import Example, ModelError

from refusals import refused

SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


@pytest.fixture(scope="module")
def squad(tmp_path_factory, write_squad):
    """Thirty questions for training, which are also predicted."""
    folder = tmp_path_factory.mktemp("squad")
    for split in ("train", "dev"):
        write_squad(folder / f"{split}-v2.0.json", 3)
    parts = {"context": "context", "question": "question"}
    data = Reading("squad2", parts, path=str(folder), uid="id", groups=["title"], batch_size=10, validate_on_train=True)
    data.setup("fit")
    return data


@pytest.mark.slow
def test_a_handful_of_questions_is_learned_and_the_threshold_says_how_often_nothing_is_answered(zoo, squad):
    """Texts have two windows, and some questions have no answer."""
    pl.seed_everything(0)
    reader = zoo.unbuilt("Reader", learning_rate=0.003, warmup=0.05)
    fitted(reader, squad, [], accelerator="cpu", max_epochs=80, limit_val_batches=0)
    said = predicted(reader.eval(), squad.pool)
    golds = [json.loads(gold) for gold in squad.pool.column("label")]
    assert reader.processor(list(squad.pool))["windows"][:, 1].any()
    right = [answer in (gold or [""]) for answer, gold in zip(said, golds, strict=True)]
    assert np.mean(right) > 0.9, list(zip(said, golds, strict=True))
    assert {bool(gold) for gold in golds} == {True, False}
    shares = []
    for reader.task_head.threshold in (-1e6, -2.0, 0.0, 2.0, 1e6):
        shares.append(np.mean([answer != "" for answer in predicted(reader, squad.pool)]))
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)


def test_windows_are_read_some_at_a_time(zoo, squad, monkeypatch):
    """The size of a forward pass is bounded, and does not change the scores."""
    reader = zoo.model("Reader")
    inputs, sizes, network = batch_of(reader, squad.pool)["inputs"], [], reader.network.forward

    def forward(**rows):
        sizes.append(len(rows["input_ids"]))
        return network(**rows)

    monkeypatch.setattr(reader.network, "forward", forward)
    with torch.no_grad():
        whole = reader.logits(inputs)
        monkeypatch.setattr(reader_module, "WINDOWS", 7)
        pieces = reader.logits(inputs)
    assert sizes[0] == sum(sizes[1:]) == len(inputs["windows"]) > 30
    assert max(sizes[1:]) == 7
    assert torch.allclose(whole, pieces, atol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "roberta", "deberta-v2", "electra"])
def test_readers_of_every_kind(zoo, kind, tiny_bert, squad, tmp_path):
    """A pretrained head is kept, the loss equals that of transformers, and answers are spans of the text."""
    sentences = [text for e in squad.pool for text in e.parts.values()]
    blank = {"roberta": RobertaTokenizer, "deberta-v2": DebertaV2Tokenizer}.get(kind)
    tokenizer = blank().train_new_from_iterator(sentences, 400) if blank else AutoTokenizer.from_pretrained(tiny_bert)
    sizes = SIZES | {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    config = AutoConfig.for_model(kind, **sizes, max_position_embeddings=66)
    made = AutoModelForQuestionAnswering.from_config(config)
    for part in (made, tokenizer):
        part.save_pretrained(tmp_path)
    reader = zoo.model("Reader", tmp_path)
    assert torch.equal(reader.network.qa_outputs.weight, made.qa_outputs.weight)
    asked = batch_of(reader, squad.train_examples)
    starts, ends = asked["inputs"]["targets"].T
    own = reader.network(**asked["inputs"]["encoder"], start_positions=starts, end_positions=ends).loss
    loss = reader.loss(asked)
    assert loss.item() == pytest.approx(own.item(), rel=1e-5)
    loss.backward()
    assert all(p.grad is not None for p in reader.network.qa_outputs.parameters())
    for answer, e in zip(predicted(reader, squad.pool), squad.pool, strict=True):
        assert answer in e.parts["context"]


def test_a_body_of_another_task_gets_a_new_head(zoo, tiny_bert, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    config = AutoConfig.for_model("bert", **SIZES, vocab_size=len(tokenizer), num_labels=3)
    for part in (BertForSequenceClassification(config), tokenizer):
        part.save_pretrained(tmp_path)
    reader = zoo.model("Reader", tmp_path)
    assert reader.network.qa_outputs.out_features == 2
    with refused(ModelError, tmp_path, "checkpoint"):
        reader.require_head()


def test_answers_from_scores_that_are_not_finite_are_marked(zoo, monkeypatch):
    """The engine refuses them in all processes; an exception here would leave the other processes waiting."""
    reader, texts = zoo.model("Reader"), ("a b c " * 20, "a b c")
    examples = [Example(text, {"context": text, "question": "what?"}) for text in texts]
    inputs = batch_of(reader, examples)["inputs"]
    with torch.no_grad():
        logits = reader.logits(inputs)
    monkeypatch.setattr(reader, "logits", lambda _: logits)
    whole = reader.answer(inputs).answers
    assert None not in whole
    assert (inputs["windows"][:, 0] == 0).sum() > WINDOWS["overlap"] // 6
    logits[0, 1, -1] = torch.nan  # in one window of the first text
    assert reader.answer(inputs).answers == [None, whole[1]]
