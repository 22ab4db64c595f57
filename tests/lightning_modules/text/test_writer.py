"""Models that write the answer to a question: what is taught, what is learned, and what is saved."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from transformers import AutoTokenizer, T5ForConditionalGeneration

from heedful.callbacks.engine.predictions import Collector
from heedful.datamodules import Reading
from heedful.datamodules.base.collate import Collate
from heedful.lightning_modules import Writer
from heedful.lightning_modules.outputs import Outputs
from heedful.records import CLASSIFICATION, SPAN, Example, ModelError, Task

from refusals import refused

TASK = Task(SPAN, ("context", "question"), (), "", template="question: {question} context: {context}")
PLACES = ("kitchen", "garden", "market")
QUESTIONS = [
    Example(f"q/{i}", {"context": f"The dog sat in the {place}.", "question": q}, json.dumps(golds), {})
    for i, place in enumerate(PLACES)
    for q, golds in (("The dog sat in", [place, "a place"]), ("The child ran", []))
]
QUESTIONS = [Example(f"{e.uid}.{k}", e.parts, e.label, {}) for k, e in enumerate(QUESTIONS)]


def ready(backbone: Path, **settings: Any) -> Writer:
    writer = Writer(str(backbone), max_length=64, longest_answer=6, **settings)
    writer.prepare(TASK)
    writer.configure_model()
    return writer


def batch(writer: Writer, examples: list[Example]) -> dict[str, Any]:
    return Collate(writer.processor, writer.task)((range(len(examples)), examples))


def loss_of(writer: Writer, examples: list[Example]) -> torch.Tensor:
    writer.log = lambda *a, **k: None
    return writer.training_step(batch(writer, examples), 0)


def test_the_loss_is_that_of_the_network_on_the_first_gold_answer(tiny_t5):
    writer = ready(tiny_t5)
    writer.eval()
    tokenizer, network = AutoTokenizer.from_pretrained(tiny_t5), T5ForConditionalGeneration.from_pretrained(tiny_t5)
    texts = [f"question: {e.parts['question']} context: {e.parts['context']}" for e in QUESTIONS]
    answers = [(json.loads(e.label) or ["unanswerable"])[0] for e in QUESTIONS]
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    labels = tokenizer(text_target=answers, padding=True, return_tensors="pt")["input_ids"]
    labels[labels == tokenizer.pad_token_id] = -100
    with torch.no_grad():
        expected = network.eval()(**inputs, labels=labels).loss
        assert torch.allclose(loss_of(writer, QUESTIONS), expected, atol=1e-5)


@pytest.fixture(scope="module")
def learned(tiny_t5):
    torch.manual_seed(0)
    writer = ready(tiny_t5)
    optimizer = torch.optim.AdamW(writer.parameters(), lr=3e-3)
    for _ in range(120):
        optimizer.zero_grad()
        loss_of(writer, QUESTIONS).backward()
        optimizer.step()
    return writer.eval()


@pytest.mark.slow
def test_a_few_questions_are_learned_and_no_answer_is_one_of_the_answers(learned):
    outputs = learned.predict(batch(learned, QUESTIONS))
    assert outputs.answers == [(json.loads(e.label) or [""])[0] for e in QUESTIONS]
    assert outputs.probs is None
    assert learned.predict(batch(learned, [])) is None


@pytest.mark.slow
def test_the_export_knows_what_no_answer_is_called(learned, tmp_path, caplog):
    learned.export(str(tmp_path), weights=True)
    caplog.set_level("INFO")
    again = ready(tmp_path, no_answer="another text")
    assert again.no_answer == "unanswerable"
    assert "was trained to write 'unanswerable' where there is no answer: kept" in caplog.text
    again.eval()
    assert again.predict(batch(again, QUESTIONS)) == learned.predict(batch(learned, QUESTIONS))


@pytest.mark.parametrize("text", ["dog  sat", " dog", "dog ∅"])
def test_a_text_of_no_answer_that_the_tokenizer_changes_is_known_again(tiny_t5, monkeypatch, text):
    writer = ready(tiny_t5, no_answer=text)
    ids = writer.processor.tokenizer(text_target=[text, f"{text} cat"], padding=True, return_tensors="pt")["input_ids"]
    monkeypatch.setattr(writer.network, "generate", lambda **kwargs: F.pad(ids, (1, 0), value=0))
    nothing, other = writer.predict(batch(writer, QUESTIONS[:2])).answers
    assert (nothing, other.startswith("dog ")) == ("", True)


@pytest.mark.slow
def test_examples_without_a_gold_answer_can_be_predicted(learned):
    changed = [Example(e.uid, e.parts, None, {}) for e in QUESTIONS]
    assert learned.predict(batch(learned, changed)) == learned.predict(batch(learned, QUESTIONS))


@pytest.mark.slow
@pytest.mark.parametrize("broken_step", [0, 2])
def test_scores_that_are_not_finite_are_no_answer_at_all(learned, monkeypatch, broken_step: int):
    """Of the first token, as with broken weights, or of a later one; texts beside it are what they were."""
    asked, whole = batch(learned, QUESTIONS), learned.predict(batch(learned, QUESTIONS)).answers
    steps, forward = iter(range(99)), learned.network.lm_head.forward

    def scores(states: torch.Tensor) -> torch.Tensor:
        given, is_broken = forward(states), next(steps) == broken_step
        return given.index_fill(0, torch.tensor([1]), torch.nan) if is_broken else given

    monkeypatch.setattr(learned.network.lm_head, "forward", scores)
    answers = learned.predict(asked).answers
    assert answers == [None if i == 1 else text for i, text in enumerate(whole)]
    collector = Collector(TASK)
    collector.add(np.arange(len(answers)), Outputs(answers=answers))
    assert collector.predictions().broken.tolist() == [i == 1 for i in range(len(answers))]


def test_it_is_for_questions_only(tiny_t5):
    with refused(ModelError, "model Writer", "span", "classification", "model Encoder"):
        Writer(str(tiny_t5)).prepare(Task(CLASSIFICATION, ("a", "b"), ("yes", "no")))


def test_the_data_say_what_stands_around_the_parts():
    parts = {"context": "context", "question": "question"}
    data = Reading("squad2", parts, template="question: {question} context: {context}")
    assert (data.task.wording, data.task.kind) == (TASK.wording, SPAN)
