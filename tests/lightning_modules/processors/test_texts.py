"""Tests that a pair composed of its parts gets the ids that the tokenizer gives to the pair."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from heedful.lightning_modules import TextProcessor
from heedful.records import Example, Examples, ModelError

from refusals import refused
from sentences import SENTENCES
from tiers import first_tier

PARTS = ("premise", "hypothesis")
KINDS = ("word", "minilm", "roberta", "deberta", "deberta_v3", "electra")
WORDS = st.sampled_from([w for s in SENTENCES for w in s.split()] + ["  ", "\n", "\u200b"])
TEXT = st.one_of(
    st.lists(WORDS, min_size=1, max_size=40).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
)


def examples(*rows):
    return [Example(f"e/{i}", dict(zip(PARTS, row, strict=False))) for i, row in enumerate(rows)]


@settings(max_examples=20)
@pytest.mark.parametrize("kind", first_tier(2, KINDS))
@pytest.mark.parametrize("parts", [1, 2])
@given(
    rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4),
    max_length=st.sampled_from([6, 7, 9, 16, 64]),
    turned=st.booleans(),
)
def test_texts_are_encoded_and_counted_as_by_the_tokenizer(tokenizers, kind, parts, rows, max_length, turned):
    """Ids, token types, mask, truncation and statistics; the processor defines the order of the parts."""
    tokenizer, order = tokenizers[kind], PARTS[::-1] if turned else PARTS
    processor, pool = TextProcessor(tokenizer, order[:parts], max_length), examples(*rows)
    columns = [[e.parts[part] for e in pool] for part in order[:parts]]
    cut = {"truncation": "longest_first", "max_length": max_length}
    expected, found = tokenizer(*columns, **cut, padding=True, return_tensors="pt"), processor(pool)
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == torch.int64
        assert torch.equal(found[name], tensor), name
    lengths = processor.lengths(pool)
    assert lengths.dtype == np.int32
    assert lengths.tolist() == found["attention_mask"].sum(dim=1).tolist()
    alone = [*zip(*columns, strict=True)]
    statistics = processor.statistics(pool)
    assert statistics.truncated == sum(len(tokenizer(*texts)["input_ids"]) > max_length for texts in alone)
    read = [tokenizer(*texts, **cut).sequence_ids() for texts in alone]
    sizes = [[len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts] for texts in alone]
    kept = [[sum(row.count(k) for row in read), sum(row[k] for row in sizes)] for k in range(parts)]
    assert statistics.tokens_kept == (dict(zip(order, kept, strict=False)) if statistics.truncated else {})
    assert processor.lengths(Examples.of(pool)).tolist() == lengths.tolist()
    assert processor.statistics(Examples.of(pool)) == statistics


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "deberta_v3"])
def test_a_special_token_in_a_text_is_read_as_its_characters(tokenizers, kind):
    """Otherwise, a text with "</s>" would end there, and BART would find no end.

    DeBERTa v3 is left out: its vocabulary contains special tokens as ordinary pieces.
    """
    tokenizer = tokenizers[kind]
    special = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    rows = [(f"A dog {token} barks.", "A cat.") for token in tokenizer.all_special_tokens if token.strip()]
    for (text, _), row in zip(rows, TextProcessor(tokenizer, PARTS, 64)(examples(*rows))["input_ids"], strict=True):
        kept = [i for i in row.tolist() if i in special and i != tokenizer.pad_token_id]
        assert kept == [i for i in tokenizer("A dog", "A cat.")["input_ids"] if i in special], text


def test_a_limit_saved_with_the_tokenizer_does_not_cut(tokenizers):
    """The tokenizer file of MiniLM truncates and pads to 128 tokens."""
    batch = TextProcessor(tokenizers["minilm"], PARTS, 256)(examples(("dog " * 150, "cat " * 90), ("dog", "cat")))
    assert batch["attention_mask"].sum(dim=1).tolist() == [243, 5]
    assert batch["input_ids"].shape == (2, 243)


def test_each_text_is_tokenised_once(tokenizers, monkeypatch):
    processor = TextProcessor(tokenizers["minilm"], PARTS, 32)
    seen, of_class = [], type(processor.tokenizer)
    tokenize = of_class.__call__

    def counting(self, texts, **options):
        seen.extend(texts)
        return tokenize(self, texts, **options)

    monkeypatch.setattr(of_class, "__call__", counting)
    pool = examples(("one", "two"), ("one", "three"), ("three", "two"))
    processor.lengths(pool)
    processor(pool)
    processor(examples(("two", "one")))
    assert sorted(seen) == ["one", "three", "two"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_no_example_has_the_same_tensors_without_rows(tokenizers, kind):
    processor = TextProcessor(tokenizers[kind], PARTS, 16)
    full, empty = processor(examples(("a", "b"))), processor([])
    assert list(empty) == list(full)
    assert all(len(tensor) == 0 and tensor.dtype == torch.int64 and tensor.ndim == 2 for tensor in empty.values())
    assert processor.lengths([]).shape == (0,)


@pytest.mark.parametrize(("kind", "parts", "least"), [("word", 2, 5), ("word", 1, 3), ("roberta", 2, 6)])
def test_every_part_has_room_for_a_token(tokenizers, kind, parts, least):
    assert TextProcessor(tokenizers[kind], PARTS[:parts], least).budget == parts
    with refused(ModelError, f"max_length {least - 1}", least - parts):
        TextProcessor(tokenizers[kind], PARTS[:parts], least - 1)


def test_a_tokenizer_whose_pairs_are_not_its_parts_side_by_side_is_refused(tokenizers, tmp_path):
    """This tokenizer encodes the second part with a space before it."""
    tokenizers["roberta"].save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    encode = type(tokenizer).__call__

    class Joined(type(tokenizer)):
        def __call__(self, text, text_pair=None, **options):
            return encode(self, text, None if text_pair is None else f" {text_pair}", **options)

    tokenizer.__class__ = Joined
    with refused(ModelError, "Joined"):
        TextProcessor(tokenizer, PARTS, 32)
