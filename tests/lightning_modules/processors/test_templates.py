"""Tests that a filled template gets the ids that the tokenizer gives to its text."""

from pathlib import Path

import pytest
import torch
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.datamodules import PairedText
from heedful.lightning_modules import TemplateProcessor
from heedful.records import Example, SettingError, Table, TableForm

from refusals import refused
from sentences import IN_TEMPLATES

CONFIGS = Path(__file__).parents[3] / "configs" / "data"
MNLI = "mnli hypothesis: {hypothesis} premise: {premise}"
KINDS = ("t5", "bart")
WORDS = st.sampled_from([w for s in IN_TEMPLATES for w in s.split()] + ["  ", "\n", "\u200b", "{premise}"])
TEXT = st.one_of(
    st.lists(WORDS, min_size=1, max_size=30).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
)


@settings(max_examples=20)
@pytest.mark.parametrize("kind", KINDS)
@given(rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6), room=st.integers(2, 12))
def test_a_filled_template_is_encoded_as_by_the_tokenizer_and_the_longest_part_is_cut(writers, kind, rows, room):
    """Words of the template are never cut."""
    tokenizer = writers[kind]
    plain = lambda text: tokenizer(text, add_special_tokens=False)["input_ids"]  # noqa: E731
    words = len(tokenizer("mnli hypothesis: premise:")["input_ids"])
    processor, whole = TemplateProcessor(tokenizer, MNLI, words + room), TemplateProcessor(tokenizer, MNLI, 10_000)
    pool = [Example(f"e/{i}", {"premise": p, "hypothesis": h}) for i, (p, h) in enumerate(rows)]
    texts = [f"mnli hypothesis: {h} premise: {p}" for p, h in rows]
    found, expected = whole(pool), tokenizer(texts, padding=True, return_tensors="pt")
    assert set(found) == {"input_ids", "attention_mask"}
    assert all(torch.equal(values, expected[name]) for name, values in found.items())
    lengths, batch, full = processor.lengths(pool), processor(pool), whole.lengths(pool)
    assert lengths.tolist() == batch["attention_mask"].sum(dim=1).tolist() == [min(n, words + room) for n in full]
    assert processor.statistics(pool).truncated == (full > words + room).sum()
    start, middle = tokenizer("mnli hypothesis:")["input_ids"][:-1], plain(" premise:")
    for i, (premise, hypothesis) in enumerate(rows):
        p, h = plain(f" {premise}"), plain(f" {hypothesis}")
        shorter, longer = (h, p) if len(h) <= len(p) else (p, h)
        while len(p) + len(h) > room:  # of two equally long parts, the one that was shorter
            (longer if len(longer) > len(shorter) else shorter).pop()
        assert batch["input_ids"][i, : lengths[i]].tolist() == [*start, *h, *middle, *p, tokenizer.eos_token_id]
    assert {name: len(tensor) for name, tensor in processor([]).items()} == {"input_ids": 0, "attention_mask": 0}


TABLE = Table("Rainbows", (("Length", ("42:39",)), ("Genre", ("rock", "pop"))))
FILLED = [  # template or name of the data; parts; text as in t5/data/preprocessors.py
    ("mnli", {"premise": "A cat.", "hypothesis": "A dog."}, "mnli hypothesis: A dog. premise: A cat."),
    ("rte", {"sentence1": "A cat.", "sentence2": "A dog."}, "rte sentence1: A cat. sentence2: A dog."),
    ("qqp", {"question1": "A cat?", "question2": "A dog?"}, "qqp question1: A cat? question2: A dog?"),
    ("mnli hypothesis: {hypothesis}", {"premise": "A cat.", "hypothesis": "A dog."}, "mnli hypothesis: A dog."),
    ("x {c} and {a} or {b} ?", {"a": "walk", "b": "today", "c": "dog"}, "x dog and walk or today ?"),
    (
        MNLI,
        {"premise": TABLE, "hypothesis": "It is rock."},
        "mnli hypothesis: It is rock. premise: Title: Rainbows; Genre: rock, pop",
    ),
]


@pytest.mark.parametrize(("template", "parts", "text"), FILLED)
def test_what_is_read_is_the_filled_template(writers, template, parts, text):
    if "{" not in template:
        settings = yaml.safe_load((CONFIGS / f"{template}.yaml").read_text())["init_args"]
        template = PairedText(**settings).task.wording
    for tokenizer in writers.values():
        processor = TemplateProcessor(tokenizer, template, 128, TableForm("structure", keep=1))
        assert processor([Example("e", parts)])["input_ids"].tolist() == [tokenizer(text)["input_ids"]]


@pytest.mark.parametrize(
    "template", ['say "{premise}" {hypothesis}', "{premise}{hypothesis}", "x {premise} {hypothesis}?"]
)
def test_a_part_that_is_glued_to_a_word_is_refused(writers, template):
    with refused(SettingError, repr(template)):
        TemplateProcessor(writers["t5"], template, 64)
