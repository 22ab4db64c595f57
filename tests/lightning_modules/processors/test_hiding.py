"""Tests of hidden words: the right tokens of the right part are masked, with tokenizers of all kinds."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.lightning_modules import TemplateProcessor, TextProcessor
from heedful.lightning_modules.processors.hiding import HiddenWords, mask_id
from heedful.records import Example, ModelError

from refusals import refused
from sentences import IN_TEMPLATES, SENTENCES

PARTS = ("premise", "hypothesis")
ODD = ["  ", "\n", "\u200b", "...", "isn't", "!?", ""]
WORD = st.sampled_from([w for s in (*SENTENCES, *IN_TEMPLATES) for w in s.split()] + ODD)
TEXT = st.lists(WORD, min_size=1, max_size=8).map(" ".join)
ROWS = st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=3)
SEEDS = st.integers(0, 1000)
TEMPLATE = "mnli hypothesis: {hypothesis} premise: {premise}"


def examples(rows):
    return [Example(f"e/{i}", dict(zip(PARTS, row, strict=False))) for i, row in enumerate(rows)]


def inputs(words, hidden):
    """Token ids per example without padding, and the lengths of the inputs."""
    every = np.arange(len(words))
    (batch,) = words.inputs(every, hidden, [every])
    ids = [row[mask.bool()].tolist() for row, mask in zip(batch["input_ids"], batch["attention_mask"], strict=True)]
    return ids, words.lengths(every, hidden)


def drawn(words, seed):
    """Draw random features to hide."""
    return np.random.default_rng(seed).random((len(words), words.features.max())) < 0.4


def expected(tokenizer, text, where, hidden):
    """Token ids of an example with masks, computed token by token from the characters of the tokens.

    Args:
        tokenizer: Tokenizer of the model.
        text: Arguments of the tokenizer.
        where: Per token (part, text of the part, first character of the text, whether it is in the separator), or None.
        hidden: Per part, whether each word and the separator are hidden.
    """
    encoded = tokenizer(*text, return_offsets_mapping=True)
    ids = []
    for token, (start, end), place in zip(encoded["input_ids"], encoded["offset_mapping"], where, strict=True):
        is_hidden = False
        if place is not None:
            (part, string, begin, behind) = place
            spans = [m.span() for m in re.finditer(r"\w+(?:['’\-]\w+)*|[^\w\s]+", string)]
            own = [k for k, (a, b) in enumerate(spans) if a < end - begin and start - begin < b]
            if not own:  # a token without a word belongs to the next word, or the last
                own = [k for k, (a, _) in enumerate(spans) if a >= start - begin][:1] or [max(len(spans) - 1, 0)]
            is_hidden = hidden[part][-1] if behind else any(hidden[part][k] for k in own)
        ids.append(mask_id(tokenizer) if is_hidden else token)
    return ids


def by_part(words, row, hidden):
    ends = np.cumsum([len(own) + 1 for own in words.words[row]])
    return [own.tolist() for own in np.split(hidden[row, : ends[-1]], ends[:-1])]


@settings(max_examples=20)
@pytest.mark.parametrize("kind", ["word", "minilm", "roberta", "deberta", "deberta_v3", "electra"])
@given(rows=ROWS, seed=SEEDS)
def test_words_of_pairs(tokenizers, kind, rows, seed):
    tokenizer = tokenizers[kind]
    words = HiddenWords(TextProcessor(tokenizer, PARTS, 256), examples(rows))
    hidden = drawn(words, seed)
    made, lengths = inputs(words, hidden)
    for i, row in enumerate(rows):
        sequence, where, last = tokenizer(*row).sequence_ids(0), [], None
        counts = [len(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in row]
        for part in sequence:
            if part is None:
                where.append(None if last is None else (last, "", 0, True))
            else:
                last = part
                where.append((part, row[part], 0, False))
            if last == 0 and sum(place is not None and not place[3] for place in where) == counts[0] + counts[1]:
                last = 1  # the second part is empty: the rest is its separator
        if min(counts):
            assert made[i] == expected(tokenizer, row, where, by_part(words, i, hidden))
        assert len(made[i]) == lengths[i] == len(sequence)


@settings(max_examples=20)
@pytest.mark.parametrize("kind", ["t5", "bart"])
@given(rows=ROWS, seed=SEEDS)
def test_words_of_templates(writers, kind, rows, seed):
    """Features are in the order of the data, not in the order of the template."""
    tokenizer = writers[kind]
    processor = TemplateProcessor(tokenizer, TEMPLATE, 256)
    words = HiddenWords(processor, examples(rows), PARTS)
    hidden = drawn(words, seed)
    made, _ = inputs(words, hidden)
    for i, (premise, hypothesis) in enumerate(rows):
        whole = TEMPLATE.format(premise=premise, hypothesis=hypothesis)
        first = len("mnli hypothesis:")
        second = first + 1 + len(hypothesis) + len(" premise:")
        encoded = tokenizer(whole, return_offsets_mapping=True)
        pieces = [
            len(tokenizer(text, add_special_tokens=False)["input_ids"])
            for text in ("mnli hypothesis:", f" {hypothesis}", " premise:", f" {premise}")
        ]
        ends = np.cumsum(pieces)
        shift = encoded.sequence_ids(0).index(0)
        where: list = []
        for k in range(len(encoded["input_ids"])):
            at = k - shift
            if at < ends[0]:
                where.append(None)
            elif at < ends[1]:
                where.append((1, f" {hypothesis}", first, False))
            elif at < ends[2]:
                where.append((1, "", 0, True))
            elif at < ends[3]:
                where.append((0, f" {premise}", second, False))
            else:
                where.append((0, "", 0, True))
        assert made[i] == expected(tokenizer, (whole,), where, by_part(words, i, hidden))


@pytest.mark.parametrize("kind", ["minilm", "roberta"])
@given(rows=ROWS, seed=SEEDS, delete=st.booleans())
def test_nothing_crosses_from_part_to_part(tokenizers, kind, rows, seed, delete):
    """If words of one part are hidden, the tokens of the other part stay the same."""
    processor = TextProcessor(tokenizers[kind], PARTS, 256)
    words = HiddenWords(processor, examples(rows), delete=delete)
    hidden = drawn(words, seed)
    for i in range(len(rows)):
        hidden[i, len(words.words[i][0]) :] = False  # hide words of the premise only
    made, lengths = inputs(words, hidden)
    plain, _ = inputs(words, np.zeros_like(hidden))
    for i, (_, hypothesis) in enumerate(rows):
        own = len(tokenizers[kind](hypothesis, add_special_tokens=False)["input_ids"])
        behind = own + (processor.frame.behind >= 0).sum() - 2  # and special tokens after the premise
        assert made[i][-behind:] == plain[i][-behind:]
        assert len(made[i]) == lengths[i]
        assert delete or len(made[i]) == len(plain[i])


PLAIN = st.lists(st.sampled_from([w for s in SENTENCES[:5] for w in s.split()]), min_size=1, max_size=8).map(" ".join)


@given(rows=st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=2))
def test_tokens_say_which_word_they_belong_to(tokenizers, rows):
    """Hiding a feature masks exactly its tokens; in these texts, no token has several words."""
    words = HiddenWords(TextProcessor(tokenizers["minilm"], PARTS, 256), examples(rows))
    every = np.arange(len(rows))
    (of,) = words.features_of_tokens(every, [every])
    for i in range(len(rows)):
        for feature in range(int(words.features[i])):
            hidden = np.zeros((1, words.features.max()), dtype=bool)
            hidden[0, feature] = True
            (batch,) = words.inputs(np.array([i]), hidden, [np.arange(1)])
            masked = np.flatnonzero(batch["input_ids"][0] == words.mask_id)
            assert masked.tolist() == np.flatnonzero(of[i] == feature).tolist()


def test_what_is_too_long_is_cut_as_always(tokenizers):
    processor = TextProcessor(tokenizers["minilm"], PARTS, 12)
    rows = examples([("the dog walks and walks and walks and walks", "a cat sat on the mat"), ("a", "b")])
    words = HiddenWords(processor, rows)
    made, _ = inputs(words, np.zeros((2, words.features.max()), dtype=bool))
    encoded = processor(rows)
    assert words.truncated.tolist() == [True, False]
    assert made[0] == encoded["input_ids"][0].tolist()


def test_a_mask_needs_a_token(tokenizers):
    class Without:
        mask_token_id = unk_token_id = None

        def get_vocab(self):
            return {}

    with refused(ModelError, "Without"):
        mask_id(Without())
    assert mask_id(tokenizers["minilm"]) == tokenizers["minilm"].mask_token_id
