"""Tests of prompted encoder-decoders: prompt and example are one text, and generated texts are parsed."""

import json

import numpy as np
import pytest
import torch
from families import batch_of
from torch.nn import functional as F
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

from heedful.datamodules import Planted
from heedful.datamodules.prompting import Prompting
from heedful.lightning_modules import NO_LABEL_NUMBER
from heedful.lightning_modules.processors.templates import in_one_text
from heedful.records import NO_LABEL, SPAN, Example, ModelError, SettingError, Task
from heedful.records.prompts import Prompt, Wording

from refusals import refused

DATA = Planted(n_train=60, n_validation=6)
POOL = list(DATA.load("validation"))
LABELS = DATA.task.labels
QUESTION = "Premise: {premise}\nHypothesis: {hypothesis}\nAnswer:"
WORDING = Wording(QUESTION, "Say how they relate.", {"entailment": "Yes", "neutral": "not so", "contradiction": "No"})


@pytest.fixture
def model(zoo):
    return zoo.model("Seq2Seq", task=DATA.task, max_length=400)


def prompt(wording=WORDING, n=2):
    shown = tuple(list(DATA.load("train"))[:n])
    return Prompt(wording, DATA.task, shown)


def read_by(model, example):
    (ids,) = model.processor([example])["input_ids"].tolist()
    return ids


def written_out(example):
    return f"Premise: {example.parts['premise']} Hypothesis: {example.parts['hypothesis']} Answer:"


def test_instruction_demonstrations_and_example_are_one_text(model):
    model.prompt_with(prompt())
    shown = [f"{written_out(e)} {WORDING.answers[e.label]}" for e in prompt().demonstrations]
    for example in POOL:
        whole = " ".join(["Say how they relate.", *shown, written_out(example)])
        assert read_by(model, example) == model.processor.tokenizer(whole)["input_ids"]
        assert model.sent(example) == {"text": model.processor.tokenizer.decode(read_by(model, example))}


def test_without_a_named_wording_demonstrations_stand_in_the_template_of_the_data(model):
    (asked,) = Prompting(tuples=1).prompts(DATA, model.own_wording)
    model.prompt_with(asked)
    assert (asked.name, asked.answers) == ("template", DATA.task.targets)
    assert sorted(e.label for e in asked.demonstrations) == sorted(LABELS)

    def filled(example):
        return f"planted hypothesis: {example.parts['hypothesis']} premise: {example.parts['premise']}"

    shown = [f"{filled(e)} {e.label}" for e in asked.demonstrations]
    for example in POOL:
        whole = " ".join([*shown, filled(example)])
        assert read_by(model, example) == model.processor.tokenizer(whole)["input_ids"]
    names = [p.name for p in Prompting(wordings=["plain", "template"]).prompts(DATA, model.own_wording)]
    assert names == ["plain", "template"]
    with refused(SettingError, "wordings template", "planted", "plain"):
        Prompting(wordings=["template"]).prompts(DATA)


def test_the_words_of_the_template_may_begin_with_a_part(model):
    model.prompt_with(prompt(Wording("{premise}\nis it that {hypothesis} ?", "Say yes or no.", WORDING.answers), 0))
    example = POOL[0]
    whole = f"Say yes or no. {example.parts['premise']} is it that {example.parts['hypothesis']} ?"
    assert read_by(model, example) == model.processor.tokenizer(whole)["input_ids"]
    assert in_one_text(prompt(n=0)) == ("Say how they relate.", QUESTION.replace("\n", " "))


def test_scores_are_of_the_answers_of_the_prompt(model, tiny_t5):
    """Compared with the loss of the network, label by label; an earlier prompt has no effect."""
    for asked in (prompt(Wording(QUESTION), 3), prompt()):
        model.prompt_with(asked)
        with torch.no_grad():
            probs = model.predict(batch_of(model, POOL)).probs.numpy()
    network, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(tiny_t5), AutoTokenizer.from_pretrained(tiny_t5)
    expected = np.zeros((len(POOL), len(LABELS)))
    for i, example in enumerate(POOL):
        text = " ".join(prompt().text(prompt().question(list(example.parts.values()))).split())
        for k, label in enumerate(LABELS):
            answer = tokenizer(WORDING.answers[label], return_tensors="pt")["input_ids"]
            with torch.no_grad():
                loss = network(**tokenizer(text, return_tensors="pt"), labels=answer).loss.item()
            expected[i, k] = -loss * answer.shape[1]
    likelihoods = np.exp(expected - expected.max(axis=1, keepdims=True))
    assert np.allclose(probs, likelihoods / likelihoods.sum(axis=1, keepdims=True), atol=1e-5)


def test_what_is_written_is_the_label_whose_text_begins_it(zoo, monkeypatch):
    model = zoo.model("Seq2Seq, greedy", task=DATA.task, max_length=400)
    assert (model.capabilities.writes, zoo.unbuilt("Seq2Seq").capabilities.writes) == (True, False)
    model.prompt_with(prompt())
    said = ["yes , it is", "No.", "not so", "nothing", "", "Yesterday"]
    monkeypatch.setattr(model.task_head, "text", lambda row: said[row[0]])
    asked = {}

    def generate(**settings):
        asked.update(settings)
        return F.pad(torch.arange(len(POOL))[:, None], (1, 0))

    monkeypatch.setattr(model.network, "generate", generate)
    with torch.no_grad():
        outputs = model.predict(batch_of(model, POOL))
    numbers = [LABELS.index(label) for label in ("entailment", "contradiction", "neutral")]
    assert outputs.answers.tolist() == [*numbers, *[NO_LABEL_NUMBER] * 3]
    assert asked["max_new_tokens"] == 8
    assert torch.allclose(outputs.probs.sum(dim=1), torch.ones(len(POOL)))


def test_a_prompt_of_an_earlier_call_does_not_stay(zoo):
    model = zoo.model("Seq2Seq, greedy", task=DATA.task, max_length=400)
    before = (
        [read_by(model, example) for example in POOL],
        model.task_head.longest,
        model.predict(batch_of(model, POOL)),
    )
    model.prompt_with(prompt())
    assert read_by(model, POOL[0]) != before[0][0]
    model.bind(DATA.task)
    assert model.prompt is None
    after = model.predict(batch_of(model, POOL))
    assert ([read_by(model, example) for example in POOL], model.task_head.longest) == before[:2]
    assert torch.equal(after.answers, before[2].answers)
    assert torch.equal(after.probs, before[2].probs)


def test_a_prompt_that_leaves_no_room_is_refused_and_what_is_cut_is_counted(zoo, model):
    model.prompt_with(prompt())
    words = model.processor.frame.size
    with refused(ModelError, f"max_length {words + 1}", words, "tuples"):
        zoo.model("Seq2Seq", task=DATA.task, max_length=words + 1).prompt_with(prompt())
    tight = zoo.model("Seq2Seq", task=DATA.task, max_length=words + 4)
    tight.prompt_with(prompt())
    assert (tight.processor.lengths(POOL) == words + 4).all()
    assert tight.encode(POOL).statistics.truncated == len(POOL)
    start = " ".join(["Say how they relate.", *(f"{a} {b}" for a, b in prompt().shown)])
    ids = tight.processor.tokenizer(" ".join(start.split()))["input_ids"][:-1]
    assert read_by(tight, POOL[0])[: len(ids)] == ids  # demonstrations are never truncated


def test_two_texts_of_one_label_are_no_answer_of_a_demonstration(zoo):
    """A model with three labels has no unique answers for demonstrations of data with two."""
    two = Task(DATA.task.kind, DATA.task.parts, ("entailment", "not_entailment"))
    model = zoo.model("Seq2Seq", zoo.exported("Seq2Seq"), two, trains=False, max_length=400)
    assert model.task_head.label_map.merges
    assert model.own_wording is None
    model.prompt_with(Prompt(Wording(QUESTION), two))
    assert not model.task_head.label_map.merges
    assert model.predict({"inputs": model.processor(POOL), "size": len(POOL)}).probs.shape == (len(POOL), 2)


# questions

READING = Task(SPAN, ("context", "question"), (), "", template="question: {question} context: {context}")
ASKED = [
    Example("q/1", {"context": "The dog sat in the garden.", "question": "The dog sat in"}, '["garden"]', {}),
    Example("q/2", {"context": "The dog sat in the garden.", "question": "The child ran"}, "[]", {}),
]


def writer_of(zoo, **settings):
    return zoo.model("Writer", task=READING, max_length=200, longest_answer=6, **settings)


def test_questions_with_demonstrations_in_the_template_or_in_other_words(zoo):
    writer = writer_of(zoo, no_answer="not in text")
    writer.prompt_with(Prompt(writer.own_wording, READING, tuple(ASKED)))
    template = "question: {question} context: {context}"
    shown = [f"{template.format(**e.parts)} {(json.loads(e.label) or ['not in text'])[0]}" for e in ASKED]
    whole = " ".join([*shown, template.format(**ASKED[0].parts)])
    assert read_by(writer, ASKED[0]) == writer.processor.tokenizer(whole)["input_ids"]
    other = Wording("Text: {context}\nQuestion: {question}\nAnswer:", "Answer.", {"": "nobody"})
    writer.prompt_with(Prompt(other, READING, tuple(ASKED)))
    text = "Text: {context} Question: {question} Answer:"
    whole = f"Answer. {text} garden {text} nobody {text}".replace("{context}", ASKED[0].parts["context"])
    for e in (*ASKED, ASKED[1]):
        whole = whole.replace("{question}", e.parts["question"], 1)
    assert read_by(writer, ASKED[1]) == writer.processor.tokenizer(whole)["input_ids"]


def test_no_answer_is_what_the_prompt_calls_it_and_silence_is_not(zoo, monkeypatch):
    def meant(*texts):
        monkeypatch.setattr(writer.task_head, "generated", lambda *args: list(texts))
        return writer.predict(batch_of(writer, ASKED)).answers

    writer = writer_of(zoo)
    assert meant("unanswerable", "nobody .") == ["", "nobody ."]
    assert meant("", "...") == [NO_LABEL, NO_LABEL]
    writer.prompt_with(Prompt(Wording("{context} {question}", answers={"": "nobody"}), READING))
    assert meant("Nobody.", "unanswerable", "no garden") == ["", "unanswerable", "no garden"]
    assert meant("", "garden") == [NO_LABEL, "garden"]
