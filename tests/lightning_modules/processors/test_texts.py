"""A pair put together from its parts is the pair that the tokenizer itself encodes."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    AutoTokenizer,
    PreTrainedTokenizerBase,
)

from heedful.lightning_modules import TextProcessor
from heedful.records import Example, Examples, ModelError

from refusals import refused
from sentences import SENTENCES
from tiers import first_tier

PARTS = ("premise", "hypothesis")
KINDS = ("word", "minilm", "roberta", "deberta", "deberta_v3", "electra")
MAX_LENGTHS = (6, 7, 9, 16, 64)
WORDS = st.sampled_from([w for s in SENTENCES for w in s.split()] + ["  ", "\n", "\u200b"])
TEXT = st.one_of(
    st.lists(WORDS, min_size=1, max_size=40).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30),
)


def examples(*rows: tuple[str, ...]) -> list[Example]:
    return [Example(f"e/{i}", dict(zip(PARTS, row, strict=False))) for i, row in enumerate(rows)]


def own(tokenizer: PreTrainedTokenizerBase, rows: list[tuple[str, ...]], max_length: int) -> dict[str, torch.Tensor]:
    """What the tokenizer itself makes of a batch."""
    options = {"truncation": "longest_first", "max_length": max_length, "padding": True, "return_tensors": "pt"}
    return dict(tokenizer(*(list(column) for column in zip(*rows, strict=True)), **options))


def plain(tokenizer: PreTrainedTokenizerBase, text: str) -> list[int]:
    """The ids of a text alone."""
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def assert_same(processor: TextProcessor, rows: list[tuple[str, ...]]) -> None:
    expected, found = own(processor.tokenizer, rows, processor.max_length), processor(examples(*rows))
    assert set(found) == set(expected)
    for name, tensor in expected.items():
        assert found[name].dtype == torch.int64
        assert torch.equal(found[name], tensor), name


@settings(max_examples=20)
@pytest.mark.parametrize("kind", first_tier(2, KINDS))
@given(rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=4), max_length=st.sampled_from(MAX_LENGTHS))
def test_pairs_are_encoded_as_by_the_tokenizer(
    tokenizers: dict[str, PreTrainedTokenizerBase], kind: str, rows: list[tuple[str, str]], max_length: int
) -> None:
    """Ids, token types, mask and truncation are those of the tokenizer."""
    assert_same(TextProcessor(tokenizers[kind], PARTS, max_length), rows)


@settings(max_examples=20)
@pytest.mark.parametrize("kind", KINDS)
@given(rows=st.lists(st.tuples(TEXT), min_size=1, max_size=4), max_length=st.sampled_from([3, 4, 9, 64]))
def test_single_parts_are_encoded_as_by_the_tokenizer(
    tokenizers: dict[str, PreTrainedTokenizerBase], kind: str, max_length: int, rows: list[tuple[str]]
) -> None:
    assert_same(TextProcessor(tokenizers[kind], PARTS[:1], max_length), rows)


def test_the_kinds_differ_in_what_matters(tokenizers: dict[str, PreTrainedTokenizerBase]) -> None:
    """Two or one special tokens between the parts, token types or none."""
    shapes = {}
    for kind, tokenizer in tokenizers.items():
        between = tokenizer("a", "a").sequence_ids(0).count(None) - 2
        shapes[kind] = between, "token_type_ids" in TextProcessor(tokenizer, PARTS, 16)(examples(("a", "b")))
    assert shapes == {
        **dict.fromkeys(("word", "minilm", "electra", "deberta", "deberta_v3"), (1, True)),
        "roberta": (2, False),
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "deberta_v3"])
def test_a_special_token_in_a_text_is_read_as_its_characters(
    tokenizers: dict[str, PreTrainedTokenizerBase], kind: str
) -> None:
    """A text is data: else a sentence with "</s>" in it ends there, and BART finds no end at all.

    A vocabulary of pieces, as that of DeBERTa v3, has special tokens among its pieces all the same.
    """
    tokenizer = tokenizers[kind]
    special = {*tokenizer.all_special_ids} - {tokenizer.unk_token_id}
    rows = [(f"A dog {token} barks.", "A cat.") for token in tokenizer.all_special_tokens if token.strip()]
    for (text, _), row in zip(rows, TextProcessor(tokenizer, PARTS, 64)(examples(*rows))["input_ids"], strict=True):
        kept = [i for i in row.tolist() if i in special and i != tokenizer.pad_token_id]
        assert kept == [i for i in tokenizer("A dog", "A cat.")["input_ids"] if i in special], text


def test_a_limit_saved_with_the_tokenizer_does_not_cut(tokenizers: dict[str, PreTrainedTokenizerBase]) -> None:
    """The published MiniLM tokenizer would cut and pad to 128 tokens by itself."""
    rows = [("dog " * 150, "cat " * 90), ("dog", "cat")]
    processor = TextProcessor(tokenizers["minilm"], PARTS, 256)
    batch = processor(examples(*rows))
    assert batch["attention_mask"].sum(dim=1).tolist() == [243, 5]
    assert batch["input_ids"].shape == (2, 243)


@settings(max_examples=20)
@pytest.mark.parametrize("kind", first_tier(2, KINDS))
@given(rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=6), max_length=st.sampled_from(MAX_LENGTHS))
def test_lengths_are_the_tokens_of_the_batch_and_truncated_what_was_cut(
    tokenizers: dict[str, PreTrainedTokenizerBase], kind: str, rows: list[tuple[str, str]], max_length: int
) -> None:
    tokenizer = tokenizers[kind]
    processor = TextProcessor(tokenizer, PARTS, max_length)
    pool = examples(*rows)
    lengths = processor.lengths(pool)
    assert lengths.dtype == np.int32
    assert lengths.tolist() == processor(pool)["attention_mask"].sum(dim=1).tolist()
    statistics = processor.statistics(pool)
    assert statistics.truncated == sum(len(tokenizer(a, b)["input_ids"]) > max_length for a, b in rows)
    cut = [tokenizer(a, b, truncation="longest_first", max_length=max_length).sequence_ids() for a, b in rows]
    kept = [[sum(row.count(k) for row in cut), sum(len(plain(tokenizer, r[k])) for r in rows)] for k in range(2)]
    assert statistics.tokens_kept == (dict(zip(PARTS, kept, strict=True)) if statistics.truncated else {})


def test_a_table_of_examples_has_the_lengths_of_its_examples(tokenizers: dict[str, PreTrainedTokenizerBase]) -> None:
    pool = examples(*((SENTENCES[i % 6], SENTENCES[i % 5]) for i in range(30)))
    processor = TextProcessor(tokenizers["roberta"], PARTS, 40)
    assert processor.lengths(Examples.of(pool)).tolist() == processor.lengths(pool).tolist()
    assert processor.statistics(Examples.of(pool)) == processor.statistics(pool)
    assert processor.statistics(pool).truncated > 0
    assert processor.statistics(pool[:0]).truncated == 0


def test_parts_are_read_in_the_order_of_the_processor(tokenizers: dict[str, PreTrainedTokenizerBase]) -> None:
    tokenizer = tokenizers["minilm"]
    found = TextProcessor(tokenizer, PARTS[::-1], 16)(examples(("a dog", "one cat")))["input_ids"]
    assert found.tolist() == [tokenizer("one cat", "a dog")["input_ids"]]


def test_each_text_is_tokenised_once(
    tokenizers: dict[str, PreTrainedTokenizerBase], monkeypatch: pytest.MonkeyPatch
) -> None:
    processor = TextProcessor(tokenizers["minilm"], PARTS, 32)
    seen: list[str] = []
    of_class = type(processor.tokenizer)
    tokenize = of_class.__call__

    def counting(self: PreTrainedTokenizerBase, texts: list[str], **options: object) -> object:
        seen.extend(texts)
        return tokenize(self, texts, **options)

    monkeypatch.setattr(of_class, "__call__", counting)
    pool = examples(("one", "two"), ("one", "three"), ("three", "two"))
    processor.lengths(pool)
    processor(pool)
    processor(examples(("two", "one")))
    assert sorted(seen) == ["one", "three", "two"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_of_no_example_has_the_same_tensors_without_rows(
    tokenizers: dict[str, PreTrainedTokenizerBase], kind: str
) -> None:
    processor = TextProcessor(tokenizers[kind], PARTS, 16)
    full, empty = processor(examples(("a", "b"))), processor([])
    assert list(empty) == list(full)
    assert all(len(tensor) == 0 and tensor.dtype == torch.int64 and tensor.ndim == 2 for tensor in empty.values())
    assert processor.lengths([]).shape == (0,)


@pytest.mark.parametrize("kind", KINDS)
def test_a_processor_survives_pickling(tokenizers: dict[str, PreTrainedTokenizerBase], kind: str) -> None:
    """Workers that prepare batches get a copy."""
    processor = TextProcessor(tokenizers[kind], PARTS, 16)
    pool = examples(*((s, t) for s in SENTENCES for t in SENTENCES))
    lengths = processor.lengths(pool[:9])
    copy = pickle.loads(pickle.dumps(processor))
    assert copy.lengths(pool[:9]).tolist() == lengths.tolist()
    assert copy.statistics(pool[:9]) == processor.statistics(pool[:9])
    for name, tensor in processor(pool).items():
        assert torch.equal(copy(pool)[name], tensor)


# what is refused


@pytest.mark.parametrize("parts", [(), ("a", "b", "c")])
def test_an_encoder_reads_one_or_two_parts(tiny_bert: Path, parts: tuple[str, ...]) -> None:
    with refused(ModelError, len(parts), ", ".join(parts)):
        TextProcessor(AutoTokenizer.from_pretrained(tiny_bert), parts, 16)


@pytest.mark.parametrize(("kind", "parts", "least"), [("word", 2, 5), ("word", 1, 3), ("roberta", 2, 6)])
def test_every_part_has_room_for_a_token(
    tokenizers: dict[str, PreTrainedTokenizerBase], kind: str, parts: int, least: int
) -> None:
    assert TextProcessor(tokenizers[kind], PARTS[:parts], least).budget == parts
    with refused(ModelError, f"max_length {least - 1}", least - parts):
        TextProcessor(tokenizers[kind], PARTS[:parts], least - 1)


def test_a_tokenizer_whose_pairs_are_not_its_parts_side_by_side_is_refused(
    tokenizers: dict[str, PreTrainedTokenizerBase], tmp_path: Path
) -> None:
    """Here a word in the middle of a sentence has other tokens than at its start, and pairs are one sentence."""
    tokenizers["roberta"].save_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    encode = type(tokenizer).__call__

    class Joined(type(tokenizer)):
        def __call__(self, text: str, text_pair: str | None = None, **options: object) -> object:
            text_pair = None if text_pair is None else f" {text_pair}"
            return encode(self, text, text_pair, **options)

    tokenizer.__class__ = Joined
    with refused(ModelError, "Joined"):
        TextProcessor(tokenizer, PARTS, 32)


def test_a_copy_and_a_forked_process_tokenise_new_texts_without_disturbing_the_original(
    tokenizers: dict[str, PreTrainedTokenizerBase],
) -> None:
    processor = TextProcessor(tokenizers["minilm"], PARTS, 32)
    old, new, other = examples(("one", "two")), examples(("a new dog", "one")), examples(("three cats sat", "two"))
    expected = [batch["input_ids"].tolist() for batch in map(processor, [old])]
    copy = pickle.loads(pickle.dumps(processor))
    copied = copy(new)["input_ids"].tolist()
    child = os.fork()
    if not child:
        right = processor(new)["input_ids"].tolist() == copied and processor(old)["input_ids"].tolist() == expected[0]
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    tokenizer = tokenizers["minilm"]
    assert processor(other)["input_ids"].tolist() == [tokenizer("three cats sat", "two")["input_ids"]]
    assert processor(old)["input_ids"].tolist() == copy(old)["input_ids"].tolist() == expected[0]
    assert copied == [tokenizer("a new dog", "one")["input_ids"]]
