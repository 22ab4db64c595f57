"""Parts put into a template are the text that the tokenizer itself encodes."""

import pickle
from pathlib import Path

import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import PreTrainedTokenizerBase

from heedful.datamodules import PairedText
from heedful.lightning_modules import TemplateProcessor
from heedful.records import Example, ModelError, SettingError, Table, TableForm

from refusals import refused
from sentences import IN_TEMPLATES

CONFIGS = Path(__file__).parents[3] / "configs" / "data"
MNLI = "mnli hypothesis: {hypothesis} premise: {premise}"
KINDS = ("t5", "bart")
ODD = ["  ", "\n", "\u200b", "{premise}"]
WORDS = st.sampled_from([w for s in IN_TEMPLATES for w in s.split()] + ODD)
TEXT = st.one_of(
    st.lists(WORDS, min_size=1, max_size=30).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
)


def pairs(*rows: tuple[str, str]) -> list[Example]:
    return [Example(f"e/{i}", {"premise": p, "hypothesis": h}) for i, (p, h) in enumerate(rows)]


def plain(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def tokens(processor: TemplateProcessor, example: Example) -> list[int]:
    (ids,) = processor([example])["input_ids"].tolist()
    return ids


@settings(max_examples=20)
@pytest.mark.parametrize("kind", KINDS)
@given(rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4))
def test_a_filled_template_is_encoded_as_by_the_tokenizer(
    writers: dict[str, PreTrainedTokenizerBase], kind: str, rows: list[tuple[str, str]]
) -> None:
    tokenizer = writers[kind]
    found = TemplateProcessor(tokenizer, MNLI, 10_000)(pairs(*rows))
    whole = [f"mnli hypothesis: {h} premise: {p}" for p, h in rows]
    expected = tokenizer(whole, padding=True, return_tensors="pt")
    assert set(found) == {"input_ids", "attention_mask"}
    for name, values in found.items():
        assert torch.equal(values, expected[name]), name


@pytest.mark.parametrize(
    ("name", "parts", "text"),
    [
        ("mnli", {"premise": "A cat.", "hypothesis": "A dog."}, "mnli hypothesis: A dog. premise: A cat."),
        ("rte", {"sentence1": "A cat.", "sentence2": "A dog."}, "rte sentence1: A cat. sentence2: A dog."),
        ("qqp", {"question1": "A cat?", "question2": "A dog?"}, "qqp question1: A cat? question2: A dog?"),
    ],
)
def test_what_is_read_of_each_task_is_what_t5_was_trained_on(
    writers: dict[str, PreTrainedTokenizerBase], name: str, parts: dict[str, str], text: str
) -> None:
    """The inputs of t5/data/preprocessors.py, written out."""
    data = PairedText(**yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())["init_args"])
    for tokenizer in writers.values():
        processor = TemplateProcessor(tokenizer, data.task.wording, 128)
        assert tokens(processor, Example("e", parts)) == tokenizer(text)["input_ids"]


@settings(max_examples=20)
@pytest.mark.parametrize("kind", KINDS)
@given(rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6), room=st.integers(2, 12))
def test_the_words_of_the_template_stay_and_the_longest_part_is_cut(
    writers: dict[str, PreTrainedTokenizerBase], kind: str, rows: list[tuple[str, str]], room: int
) -> None:
    tokenizer = writers[kind]
    words = len(tokenizer("mnli hypothesis: premise:")["input_ids"])
    processor, whole = TemplateProcessor(tokenizer, MNLI, words + room), TemplateProcessor(tokenizer, MNLI, 10_000)
    pool = pairs(*rows)
    lengths = processor.lengths(pool)
    batch = processor(pool)
    assert lengths.tolist() == batch["attention_mask"].sum(dim=1).tolist()
    full = whole.lengths(pool)
    assert processor.statistics(pool).truncated == (full > words + room).sum()
    assert lengths.tolist() == [min(n, words + room) for n in full]
    start, middle = tokenizer("mnli hypothesis:")["input_ids"][:-1], plain(tokenizer, " premise:")
    for i, (premise, hypothesis) in enumerate(rows):
        p, h = plain(tokenizer, f" {premise}"), plain(tokenizer, f" {hypothesis}")
        shorter, longer = (h, p) if len(h) <= len(p) else (p, h)
        while len(p) + len(h) > room:  # of two that are as long by now, the one that was shorter
            (longer if len(longer) > len(shorter) else shorter).pop()
        expected = [*start, *h, *middle, *p, tokenizer.eos_token_id]
        assert batch["input_ids"][i, : lengths[i]].tolist() == expected


def test_a_part_alone_a_third_part_and_tables(writers: dict[str, PreTrainedTokenizerBase]) -> None:
    tokenizer = writers["t5"]
    alone = TemplateProcessor(tokenizer, "mnli hypothesis: {hypothesis}", 64)
    assert tokens(alone, pairs(("A cat.", "A dog."))[0]) == tokenizer("mnli hypothesis: A dog.")["input_ids"]
    three = TemplateProcessor(tokenizer, "x {c} and {a} or {b} ?", 64)
    filled = tokenizer("x dog and walk or today ?")["input_ids"]
    assert tokens(three, Example("e", {"a": "walk", "b": "today", "c": "dog"})) == filled
    table = Table("Rainbows", (("Length", ("42:39",)), ("Genre", ("rock", "pop"))))
    processor = TemplateProcessor(tokenizer, MNLI, 64, TableForm("structure", keep=1))
    expected = tokenizer("mnli hypothesis: It is rock. premise: Title: Rainbows; Genre: rock, pop")["input_ids"]
    assert tokens(processor, Example("e", {"premise": table, "hypothesis": "It is rock."})) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "template", ['say "{premise}" {hypothesis}', "{premise}{hypothesis}", "x {premise} {hypothesis}?"]
)
def test_a_part_that_is_glued_to_a_word_is_refused(
    writers: dict[str, PreTrainedTokenizerBase], kind: str, template: str
) -> None:
    with refused(SettingError, repr(template)):
        TemplateProcessor(writers[kind], template, 64)


def test_every_part_has_room_for_a_token(writers: dict[str, PreTrainedTokenizerBase]) -> None:
    words = len(writers["t5"]("mnli hypothesis: premise:")["input_ids"])
    assert TemplateProcessor(writers["t5"], MNLI, words + 2).budget == 2
    with refused(ModelError, f"max_length {words + 1}", words):
        TemplateProcessor(writers["t5"], MNLI, words + 1)


def test_a_processor_survives_pickling_and_a_batch_may_be_empty(
    writers: dict[str, PreTrainedTokenizerBase],
) -> None:
    processor = TemplateProcessor(writers["t5"], MNLI, 32)
    pool = pairs(*((s, t) for s in IN_TEMPLATES for t in IN_TEMPLATES))
    copy = pickle.loads(pickle.dumps(processor))
    for name, tensor in processor(pool).items():
        assert torch.equal(copy(pool)[name], tensor)
    assert {name: len(tensor) for name, tensor in processor([]).items()} == {"input_ids": 0, "attention_mask": 0}
