"""Readers of every kind: a head that is there stays, a few questions are learned, and what is saved can be loaded."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
from transformers import (
    AutoModelForQuestionAnswering,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    DebertaV2Config,
    DebertaV2Tokenizer,
    ElectraConfig,
    RobertaConfig,
    RobertaTokenizer,
)

from benchmarks.bare_runs import fitted
from heedful.datamodules import Reading
from heedful.datamodules.base.collate import Collate
from heedful.lightning_modules import Encoder, Reader
from heedful.lightning_modules.text import reader as reader_module
from heedful.records import CLASSIFICATION, SPAN, Example, ModelError, SettingError, Task

from refusals import refused

SQUAD = Task(SPAN, ("context", "question"), (), "")
NLI = Task(CLASSIFICATION, ("premise", "hypothesis"), ("entailment", "neutral", "contradiction"), "neutral")
SHORT = {"max_length": 24, "overlap": 6, "longest_answer": 4}
SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


@pytest.fixture(scope="module")
def squad(tmp_path_factory: pytest.TempPathFactory, write_squad: Callable[[Path, int], Path]) -> Reading:
    """Thirty questions to learn, and the same to predict."""
    folder = tmp_path_factory.mktemp("squad")
    for split in ("train", "dev"):
        write_squad(folder / f"{split}-v2.0.json", 3)
    parts = {"context": "context", "question": "question"}
    data = Reading("squad2", parts, path=str(folder), uid="id", groups=["title"], batch_size=10, validate_on_train=True)
    data.setup("fit")
    return data


def ready(backbone: str | Path, **settings: Any) -> Reader:
    reader = Reader(str(backbone), **SHORT | settings)
    reader.prepare(SQUAD)
    reader.configure_model()
    return reader


def batch(reader: Reader, examples: Any) -> dict[str, Any]:
    return Collate(reader.processor, reader.task)((range(len(examples)), examples))


def answers(reader: Reader, examples: Any) -> list[str]:
    with torch.no_grad():
        outputs = reader.eval().predict(batch(reader, examples))
    assert outputs.probs is None
    return outputs.answers


@pytest.fixture(scope="module")
def learned(squad: Reading, tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Reader, Path]:
    """A reader that was trained on thirty questions, and its checkpoint."""
    pl.seed_everything(0)
    reader = Reader(str(tiny_bert), learning_rate=0.003, warmup=0.05, **SHORT)
    fitted(reader, squad, [], accelerator="cpu", max_epochs=80, limit_val_batches=0)
    file = tmp_path_factory.mktemp("reader") / "best.ckpt"
    reader.trainer.save_checkpoint(file, weights_only=True)
    reader.export(str(file.parent / "backbone"), weights=True)
    return reader, file


@pytest.mark.slow
def test_a_handful_of_questions_is_learned(learned: tuple[Reader, Path], squad: Reading) -> None:
    """With texts of two windows, those with no answer among them."""
    said, golds = answers(learned[0], squad.pool), [json.loads(gold) for gold in squad.pool.column("label")]
    assert learned[0].processor(list(squad.pool))["windows"][:, 1].any()
    right = [answer in (gold or [""]) for answer, gold in zip(said, golds, strict=True)]
    assert np.mean(right) > 0.9, list(zip(said, golds, strict=True))
    assert {bool(gold) for gold in golds} == {True, False}


@pytest.mark.slow
def test_what_is_saved_answers_as_before(learned: tuple[Reader, Path], squad: Reading) -> None:
    reader, file = learned
    loaded = Reader.load_from_checkpoint(file, backbone=str(file.parent / "backbone"), weights_only=True)
    exported = Reader(str(file.parent / "backbone"), **SHORT)
    exported.prepare(SQUAD)
    exported.require_head()
    exported.configure_model()
    own = AutoModelForQuestionAnswering.from_pretrained(file.parent / "backbone")
    assert type(own).__name__ == "BertForQuestionAnswering"
    expected = answers(reader, squad.pool)
    assert answers(loaded, squad.pool) == answers(exported, squad.pool) == expected
    assert (loaded.overlap, loaded.task) == (6, squad.task)


@pytest.mark.slow
def test_the_threshold_says_how_often_nothing_is_answered(learned: tuple[Reader, Path], squad: Reading) -> None:
    reader = learned[0]
    shares = []
    for threshold in (-1e6, -2.0, 0.0, 2.0, 1e6):
        reader.threshold = threshold
        shares.append(np.mean([answer != "" for answer in answers(reader, squad.pool)]))
    reader.threshold = 0.0
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)


def test_windows_are_read_some_at_a_time(
    learned: tuple[Reader, Path], squad: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a forward pass holds is bounded, however long the texts are, and nothing changes."""
    reader = learned[0].eval()
    inputs, sizes, network = batch(reader, squad.pool)["inputs"], [], reader.network.forward

    def forward(**rows: torch.Tensor) -> Any:
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


@pytest.mark.parametrize("kind", ["bert", "roberta", "deberta", "electra"])
def test_readers_of_every_kind(kind: str, tiny_bert: Path, squad: Reading, tmp_path: Path) -> None:
    """A new head takes a step; answers are pieces of the text; dropout is on where it trains."""
    sentences = [text for e in squad.pool for text in e.parts.values()]
    blank = {"roberta": RobertaTokenizer, "deberta": DebertaV2Tokenizer}.get(kind)
    tokenizer = blank().train_new_from_iterator(sentences, 400) if blank else AutoTokenizer.from_pretrained(tiny_bert)
    tokenizer.save_pretrained(tmp_path)
    config = {"bert": BertConfig, "roberta": RobertaConfig, "deberta": DebertaV2Config, "electra": ElectraConfig}[kind]
    sizes = SIZES | {"vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id}
    made = AutoModelForQuestionAnswering.from_config(config(**sizes, max_position_embeddings=66))
    made.save_pretrained(tmp_path)
    reader = ready(tmp_path)
    assert torch.equal(reader.network.qa_outputs.weight, made.qa_outputs.weight)  # a head that is there stays
    assert reader.network.training
    reader.log = lambda *args, **kwargs: None
    loss = reader.training_step(batch(reader, squad.train_examples), 0)
    loss.backward()
    assert all(p.grad is not None for p in reader.network.qa_outputs.parameters())
    for answer, e in zip(answers(reader, squad.pool), squad.pool, strict=True):
        assert answer in e.parts["context"]


def test_the_loss_is_that_of_transformers(tiny_bert: Path, squad: Reading) -> None:
    reader = ready(tiny_bert).eval()
    reader.log = lambda *args, **kwargs: None
    made = batch(reader, squad.train_examples)
    starts, ends = made["inputs"]["targets"].T
    own = reader.network(**made["inputs"]["encoder"], start_positions=starts, end_positions=ends).loss
    assert reader.training_step(made, 0).item() == pytest.approx(own.item(), rel=1e-5)


def test_a_body_of_another_task_gets_a_new_head(tiny_bert: Path, tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_bert)
    tokenizer.save_pretrained(tmp_path)
    sizes = SIZES | {"vocab_size": len(tokenizer)}
    config = BertConfig(**sizes, num_labels=3, architectures=["BertForSequenceClassification"])
    BertForSequenceClassification(config).save_pretrained(tmp_path)
    reader = ready(tmp_path)
    assert reader.network.qa_outputs.out_features == 2
    with refused(ModelError, tmp_path, "checkpoint"):
        reader.require_head()


def test_models_and_data_of_different_kinds_are_refused(tiny_bert: Path) -> None:
    with refused(ModelError, "model Encoder", "classification or soft", "span", "model Reader"):
        Encoder(str(tiny_bert)).prepare(SQUAD)
    with refused(ModelError, "model Reader", "span", "classification"):
        Reader(str(tiny_bert)).prepare(NLI)


def test_a_third_part_is_refused(tiny_bert: Path) -> None:
    with refused(ModelError, "model Reader", "distractor", "model t5"):
        Reader(str(tiny_bert)).prepare(Task(SPAN, (*SQUAD.parts, "distractor"), (), ""))


@pytest.mark.parametrize("longest", [0, 9])
def test_answers_that_windows_could_lose_are_refused(longest: int) -> None:
    with refused(SettingError, f"longest_answer {longest}", "overlap 8"):
        Reader("unused", overlap=8, longest_answer=longest)


def test_answers_from_scores_that_are_not_finite_are_marked(tiny_bert: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine refuses them on all processes; one that raised here would leave the others waiting."""
    reader, texts = ready(tiny_bert).eval(), ("a b c " * 20, "a b c")
    examples = [Example(text, {"context": text, "question": "what?"}) for text in texts]
    inputs = batch(reader, examples)["inputs"]
    with torch.no_grad():
        logits = reader.logits(inputs)
    monkeypatch.setattr(reader, "logits", lambda _: logits)
    whole = reader.answer(inputs).answers
    assert None not in whole
    assert (inputs["windows"][:, 0] == 0).sum() > 1
    logits[0, 1, -1] = torch.nan  # of one window of the first text
    assert reader.answer(inputs).answers == [None, whole[1]]


def test_a_batch_of_no_example_gives_no_prediction(tiny_bert: Path) -> None:
    reader = ready(tiny_bert)
    assert reader.predict(batch(reader, [])) is None
