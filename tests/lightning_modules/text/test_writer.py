"""Tests of models that generate answers to questions: loss, training and export."""

import json

import numpy as np
import pytest
import torch
from families import batch_of, predicted
from torch.nn import functional as F
from transformers import AutoTokenizer, T5ForConditionalGeneration

from heedful.callbacks.engine.predictions import Collector
from heedful.lightning_modules.outputs import Outputs
from heedful.records import SPAN, Example, Task

TASK = Task(SPAN, ("context", "question"), (), "", template="question: {question} context: {context}")
QUESTIONS = [
    Example(f"q/{place}.{len(golds)}", {"context": f"The dog sat in the {place}.", "question": q}, json.dumps(golds))
    for place in ("kitchen", "garden", "market")
    for q, golds in (("The dog sat in", [place, "a place"]), ("The child ran", []))
]
SETTINGS = {"task": TASK, "longest_answer": 6}


def test_the_loss_is_that_of_the_network_on_the_first_gold_answer(zoo, tiny_t5):
    writer = zoo.model("Writer", **SETTINGS)
    tokenizer, network = AutoTokenizer.from_pretrained(tiny_t5), T5ForConditionalGeneration.from_pretrained(tiny_t5)
    texts = [f"question: {e.parts['question']} context: {e.parts['context']}" for e in QUESTIONS]
    answers = [(json.loads(e.label) or ["unanswerable"])[0] for e in QUESTIONS]
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    labels = tokenizer(text_target=answers, padding=True, return_tensors="pt")["input_ids"]
    labels[labels == tokenizer.pad_token_id] = -100
    with torch.no_grad():
        expected = network.eval()(**inputs, labels=labels).loss
        assert torch.allclose(writer.loss(batch_of(writer, QUESTIONS)), expected, atol=1e-5)


@pytest.fixture(scope="module")
def learned(zoo):
    writer = zoo.model("Writer", **SETTINGS).train()
    optimizer = torch.optim.AdamW(writer.parameters(), lr=3e-3)
    for _ in range(240):
        optimizer.zero_grad()
        writer.loss(batch_of(writer, QUESTIONS)).backward()
        optimizer.step()
    return writer.eval()


@pytest.mark.slow
def test_a_few_questions_are_learned_and_no_answer_is_one_of_the_answers(zoo, learned, tmp_path, caplog):
    """With and without gold answers; the export contains the text of no answer."""
    expected = [(json.loads(e.label) or [""])[0] for e in QUESTIONS]
    assert predicted(learned, QUESTIONS) == expected
    assert predicted(learned, [Example(e.uid, e.parts, None) for e in QUESTIONS]) == expected
    learned.export(str(tmp_path), weights=True)
    caplog.set_level("INFO")
    again = zoo.model("Writer", tmp_path, no_answer="another text", **SETTINGS)
    assert again.task_head.texts == ("unanswerable",)
    assert "was trained to write 'unanswerable' where there is no answer: kept" in caplog.text
    assert predicted(again, QUESTIONS) == expected


@pytest.mark.parametrize("text", ["dog  sat", " dog", "dog ∅"])
def test_a_text_of_no_answer_that_the_tokenizer_changes_is_known_again(zoo, monkeypatch, text):
    writer = zoo.model("Writer", no_answer=text, **SETTINGS)
    ids = writer.processor.tokenizer(text_target=[text, f"{text} cat"], padding=True, return_tensors="pt")["input_ids"]
    monkeypatch.setattr(writer.network, "generate", lambda **kwargs: F.pad(ids, (1, 0), value=0))
    nothing, other = predicted(writer, QUESTIONS[:2])
    assert (nothing, other.startswith("dog ")) == ("", True)


@pytest.mark.slow
@pytest.mark.parametrize("broken_step", [0, 2])
def test_scores_that_are_not_finite_are_no_answer_at_all(learned, monkeypatch, broken_step):
    """At the first token or at a later one; other texts of the batch stay the same."""
    whole = predicted(learned, QUESTIONS)
    steps, forward = iter(range(99)), learned.network.lm_head.forward

    def scores(states):
        given, is_broken = forward(states), next(steps) == broken_step
        return given.index_fill(0, torch.tensor([1]), torch.nan) if is_broken else given

    monkeypatch.setattr(learned.network.lm_head, "forward", scores)
    answers = predicted(learned, QUESTIONS)
    assert answers == [None if i == 1 else text for i, text in enumerate(whole)]
    collector = Collector(TASK)
    collector.add(np.arange(len(answers)), Outputs(answers=answers))
    assert collector.predictions().broken.tolist() == [i == 1 for i in range(len(answers))]
