"""Tests of windows over long texts: they equal the windows of the tokenizer, and one contains each answer."""

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from heedful.lightning_modules import Reader, WindowProcessor
from heedful.lightning_modules.text.reader import best_spans
from heedful.records import Example, ModelError, SettingError

from refusals import refused
from tiers import first_tier

PARTS = ("context", "question")
KINDS = ("word", "minilm", "roberta", "deberta_v3")
WORDS = "The dog's 2nd walk (today) È vero — 100 % sicuro, l'uomo; 猫が好きです。 naïve café and Rome 🙂 ran an".split()
OVERLAP = 24
SEED = st.integers(0, 2**32)
LONG = st.builds(lambda n, seed: np.random.default_rng(seed).choice(WORDS, n).tolist(), st.integers(1, 150), SEED)
TEXT = LONG.map(" ".join)
QUESTION = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)


def example(text, question, golds=None, starts=None):
    meta = {} if starts is None else {"starts": json.dumps(starts)}
    return Example("e", {"context": text, "question": question}, json.dumps(golds or []), meta=meta)


@settings(max_examples=20)
@pytest.mark.parametrize("kind", first_tier(1, KINDS))
@given(texts=st.lists(st.tuples(TEXT, QUESTION), min_size=1, max_size=3), max_length=st.sampled_from([90, 128, 500]))
def test_windows_are_those_of_the_tokenizer(tokenizers, kind, texts, max_length):
    """Ids, token types, masks and characters of the tokens, for questions that are not truncated."""
    tokenizer = tokenizers[kind]
    processor = WindowProcessor(tokenizer, PARTS, max_length, OVERLAP)
    found = processor([example(*pair) for pair in texts])
    own = tokenizer(
        [question for _, question in texts],
        [text for text, _ in texts],
        truncation="only_second",
        max_length=max_length,
        stride=OVERLAP,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        padding=True,
        return_tensors="np",
    )
    assert processor.lengths([example(*pair) for pair in texts]).sum() == own["attention_mask"].sum()
    assert processor.statistics([example(*pair) for pair in texts]).truncated == 0
    assert set(found["encoder"]) == set(own) - {"overflow_to_sample_mapping", "offset_mapping"}
    for name, values in found["encoder"].items():
        assert values.numpy().tolist() == own[name].tolist(), name
    assert found["windows"][:, 0].tolist() == own["overflow_to_sample_mapping"].tolist()
    for row, (i, first, begin, count) in enumerate(found["windows"].tolist()):
        sequence = own.sequence_ids(row)
        assert [k for k, part in enumerate(sequence) if part == 1] == list(range(begin, begin + count))
        expected = own["offset_mapping"][row, begin : begin + count]
        assert found["characters"][i][first : first + count].tolist() == expected.tolist()


@settings(max_examples=20)
@pytest.mark.parametrize("kind", first_tier(1, KINDS))
@given(data=st.data())
def test_an_answer_is_found_wherever_it_stands(tokenizers, kind, data):
    """Scores that mark the answer in each window that contains it yield the answer; targets mark the same tokens."""
    tokenizer = tokenizers[kind]
    words, question = data.draw(LONG), data.draw(QUESTION)
    text = " ".join(words)
    i = data.draw(st.integers(0, len(words) - 1))
    gold = " ".join(words[i : i + data.draw(st.integers(1, 3))])
    start = len(" ".join(words[:i])) + (i > 0)
    characters = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
    stop = start + len(gold)
    tokens = [k for k, (a, b) in enumerate(characters) if max(a, start) < min(b, stop)]
    assume(tokens[-1] - tokens[0] < OVERLAP)  # byte-level tokens between may have no characters
    assume(text[characters[tokens[0]][0] : characters[tokens[-1]][1]].strip() == gold)  # a sequence of tokens
    processor = WindowProcessor(tokenizer, PARTS, data.draw(st.sampled_from([90, 128, 500])), OVERLAP)
    learned = example(text, question, ["elsewhere", gold], [None, start])
    inputs = processor([learned, example("Other text.", question), learned])
    scores = np.zeros((2, *inputs["encoder"]["input_ids"].shape), dtype=np.float32)
    marked = []
    for row, (i, first, begin, count) in enumerate(inputs["windows"].tolist()):
        whole = i != 1 and first <= tokens[0] and tokens[-1] < first + count
        target = (begin + tokens[0] - first, begin + tokens[-1] - first) if whole else (0, 0)
        marked.append(target)
        scores[0, row, target[0]] = scores[1, row, target[1]] = 5
    assert inputs["targets"].tolist() == [list(target) for target in marked]
    reader = Reader("unused", overlap=OVERLAP, longest_answer=OVERLAP)
    scores[:, [row for row, target in enumerate(marked) if target == (0, 0) and inputs["windows"][row, 0] != 1], 0] = 0
    assert reader.task_head.answers_of(scores, inputs) == [gold, "", gold]


@pytest.mark.parametrize("tokens", [1, 2, OVERLAP + 1])
def test_no_place_is_lost_at_a_seam(tokenizers, tokens):
    """For answers of 1, 2 and ``overlap`` + 1 tokens, at each place of a long text."""
    words, gold = ["word"] * 120, " ".join(["word"] * tokens)
    processor = WindowProcessor(tokenizers["minilm"], PARTS, 64, OVERLAP)
    places = range(len(words) - tokens + 1)
    inputs = processor([example(" ".join(words), "what ?", [gold], [5 * k]) for k in places])
    found = dict.fromkeys(places, 0)
    for (i, first, begin, count), target in zip(inputs["windows"].tolist(), inputs["targets"].tolist(), strict=True):
        whole = set(range(i, i + tokens)) <= set(range(first, first + count))
        assert target == ([begin + i - first, begin + i - first + tokens - 1] if whole else [0, 0])
        found[i] += whole
    assert min(found.values()) == 1


def test_what_is_learned_of_no_answer_of_unknown_ones_and_of_those_that_no_window_has(tokenizers):
    processor = WindowProcessor(tokenizers["minilm"], PARTS, 64, OVERLAP)
    assert processor([example("Rome is hot.", "What?")])["targets"].tolist() == [[0, 0]]
    assert processor([example("Rome is hot.", "What?", ["Rome"], [0])])["targets"].tolist() == [[4, 4]]
    assert "targets" not in processor([example("Rome is hot.", "What?", ["Rome"]), example("Rome.", "What?")])
    text = " ".join(["word"] * 120)
    assert processor([example(text, "What?", [text], [0])])["targets"].tolist() == [[0, 0]] * 3
    inputs = processor([])
    assert (len(inputs["encoder"]["input_ids"]), len(inputs["windows"]), inputs["texts"]) == (0, 0, [])


def test_a_long_question_is_cut_and_counted_and_the_text_never_is(tokenizers):
    processor = WindowProcessor(tokenizers["minilm"], PARTS, 64, OVERLAP)
    asked = [example(" ".join(["word"] * 200), " ".join(["why"] * n)) for n in (18, 19, 300)]
    lengths = processor.lengths(asked)
    statistics = processor.statistics(asked)
    assert statistics.truncated == 2
    assert statistics.tokens_kept == {"question": [3 * 18, 18 + 19 + 300], "context": [600, 600]}
    assert processor.statistics(asked[:1]).tokens_kept == {}
    inputs = processor(asked)
    found = inputs["encoder"]["attention_mask"].sum(dim=1).numpy()
    assert np.bincount(inputs["windows"][:, 0], found).tolist() == lengths.tolist()
    for i in range(3):
        covered = {k for j, first, _, count in inputs["windows"] if j == i for k in range(first, first + count)}
        assert covered == set(range(200))


def test_what_leaves_no_room_or_no_place_for_no_answer_is_refused(tokenizers, tiny_t5):
    for max_length, overlap in ((64, 60), (64, -1), (24, 24)):
        with refused(SettingError, f"overlap {overlap}", max_length):
            WindowProcessor(tokenizers["minilm"], PARTS, max_length, overlap)
    tokenizer = AutoTokenizer.from_pretrained(tiny_t5)  # adds no initial token
    with refused(ModelError, type(tokenizer).__name__):
        WindowProcessor(tokenizer, PARTS, 64, 8)


SCORES = st.lists(st.integers(-3, 3), min_size=2, max_size=8)


@given(
    start=SCORES, seed=st.integers(0, 99), begin=st.integers(0, 4), count=st.integers(0, 4), longest=st.integers(1, 9)
)
def test_the_best_span_is_that_of_all_spans(start, seed, begin, count, longest):
    end = np.random.default_rng(seed).integers(-3, 3, len(start))
    windows = np.array([[0, 0, begin, count]])
    found = best_spans(np.float32([start]), np.float32([end]), windows, longest)
    inside = [k for k in range(len(start)) if begin <= k < begin + count]
    spans = [(start[i] + end[j], i - j, -i) for i in inside for j in inside if i <= j < i + longest]
    score, length, first = max(spans, default=(-np.inf, 0, 0))
    assert found[0].tolist() == [score]
    if spans:
        assert (found[1].tolist(), found[2].tolist()) == ([-first], [-first - length])
