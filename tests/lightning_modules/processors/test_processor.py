"""Tests that examples composed of a pool are encoded like equal examples, without another look-up of contents."""

import gc
import json
import pickle
from dataclasses import replace
from functools import partial

import noise
import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoTokenizer, ViTImageProcessorPil

from heedful.lightning_modules import TemplateProcessor, TextProcessor, WindowProcessor
from heedful.lightning_modules.processors.hiding import HiddenWords
from heedful.lightning_modules.processors.numbers import NUMBERS
from heedful.lightning_modules.processors.pictures import PictureProcessor, PictureStore, resized
from heedful.lightning_modules.processors.processor import Processor, Statistics
from heedful.lightning_modules.text.writer import AnswerProcessor
from heedful.records import (
    CLASSIFICATION,
    EMPTIED,
    Composed,
    Example,
    Examples,
    ModelError,
    Picture,
    Table,
    TableForm,
    Task,
)

from refusals import refused
from tiers import first_tier

WORDS = "the dog in a park saw two old trees and one more cat by some water".split()
N = 24
IMAGES = ViTImageProcessorPil(size={"height": 4, "width": 4}, resample=Image.Resampling.NEAREST)


def text(rng, most):
    return " ".join(rng.choice(WORDS, rng.integers(1, most)))


def pool_of(left, right):
    """A pool of examples; two of three have an answer at the start of the text."""
    rng = np.random.default_rng(0)
    golds = [json.dumps([str(rng.choice(WORDS))] if i % 3 else []) for i in range(N)]
    return Examples.of(
        Example(f"u{i:02}", {"left": left(i), "right": right(i)}, gold, meta={"starts": "[0]" if i % 3 else "[]"})
        for i, gold in enumerate(golds)
    )


def texts():
    rng = np.random.default_rng(1)
    return pool_of(lambda i: text(rng, 60), lambda i: text(rng, 20))


def tables():
    rng, keys = np.random.default_rng(2), ("dog", "park", "old trees", "water", "cat")
    table = lambda i: Table(f"the cat {'abcdefgh'[i % 8]}", tuple((key, (text(rng, 4),)) for key in keys))  # noqa: E731
    return pool_of(table, lambda i: text(rng, 6))


class Made:
    """A function that makes a new processor, and a pool for it."""

    def __init__(self, make, pool):
        self.make, self.pool = make, pool


KINDS = ("pair", "cut", "one", "template", "answers", "windows", "cells", "kept rows", "pictures", "two pictures")


@pytest.fixture(params=KINDS)
def made(request, tiny_bert, tiny_t5, tmp_path):
    bert, t5 = AutoTokenizer.from_pretrained(tiny_bert), AutoTokenizer.from_pretrained(tiny_t5)
    parts, form, template = ("left", "right"), TableForm("structure", keep=2), "ask: {right} of {left}"

    def answers():
        processor = AnswerProcessor(t5, template, 64)
        processor.no_answer, processor.start = "nothing", 0
        return processor

    def pictures(*of):
        task = Task(CLASSIFICATION, parts, ("a", "b"), pictures=of)
        return PictureProcessor(bert, task, 32, PictureStore(partial(resized, images=IMAGES), 1.0))

    shades = [np.full((4, 4, 3), 10 * i) for i in range(N + 1)]
    shown = [noise.stored(tmp_path / f"{i}.png", shade) for i, shade in enumerate(shades)]
    rng = np.random.default_rng(3)
    kinds = {
        "pair": (lambda: TextProcessor(bert, parts, 256), texts),
        "cut": (lambda: TextProcessor(bert, parts, 40), texts),
        "one": (lambda: TextProcessor(t5, parts[1:], 12), texts),
        "template": (lambda: TemplateProcessor(t5, template, 50), texts),
        "answers": (answers, texts),
        "windows": (lambda: WindowProcessor(bert, parts, 48, 8), texts),
        "cells": (lambda: TextProcessor(bert, parts, 100, TableForm("cells")), tables),
        "kept rows": (lambda: TextProcessor(bert, parts, 100, form), tables),
        "pictures": (lambda: pictures("left"), lambda: pool_of(lambda i: shown[i], lambda i: text(rng, 20))),
        "two pictures": (lambda: pictures(*parts), lambda: pool_of(lambda i: shown[i], lambda i: shown[i + 1])),
    }
    make, pool = kinds[request.param]
    return Made(make, pool())


def compositions(pool):
    """All ways to compose examples of a pool."""
    rng = np.random.default_rng(4)
    some, lent = rng.integers(0, N, 40), rng.integers(0, N, 40)
    others = [replace(pool[3], parts={**pool[3].parts, "right": pool[7].parts["right"]}), pool[5]]
    if not isinstance(pool[0].parts["right"], Picture):
        others.append(replace(pool[2], parts={**pool[2].parts, "right": "some more old water"}))
    mixed, chances = np.concatenate([some, len(pool) + np.arange(len(others))]), rng.random(40 + len(others))
    lenders = np.where((mixed < len(pool)) & (chances < 0.6), rng.integers(0, N, len(mixed)), mixed)
    return {
        "whole": Composed.whole(pool),
        "swap": Composed(pool, some, {"left": lent}),
        "both": Composed(pool, some, {"left": lent, "right": lent}, label="[]"),
        "emptied": Composed(pool, some, {"right": np.where(lent % 2, EMPTIED, some)}),
        "all emptied": Composed(pool, some, {"left": np.full(40, EMPTIED), "right": np.full(40, EMPTIED)}),
        "others": Composed(pool, mixed, {"left": lenders}, others),
        "others and emptied": Composed(pool, mixed, {"left": np.where(chances < 0.3, EMPTIED, lenders)}, others),
        "nothing": Composed(pool, some[:0]),
    }


def assert_equal(found, expected):
    """Assert that tensors and arrays have the same shapes, dtypes and bits."""
    assert type(found) is type(expected)
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for name, value in expected.items():
            assert_equal(found[name], value)
    elif isinstance(expected, torch.Tensor):
        assert found.dtype == expected.dtype
        assert torch.equal(found, expected)
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_equal(one, other)
    else:
        assert found == expected


COMPOSED = list(compositions(texts()))


@pytest.mark.parametrize(
    "name", first_tier(12, [*COMPOSED[::2], *(pytest.param(name, marks=pytest.mark.slow) for name in COMPOSED[1::2])])
)
def test_what_is_composed_is_read_as_its_examples(made, name):
    """In batches of any size and order; batches may share examples or be empty."""
    composed = compositions(made.pool)[name]
    processor, rng = made.make(), np.random.default_rng(5)
    rows = np.concatenate([rng.permutation(len(composed)), rng.permutation(len(composed))[:7]])
    batches = np.split(rows, sorted(rng.integers(0, len(rows) + 1, 6)))
    lengths, statistics = processor.lengths(composed), processor.statistics(composed)
    found = list(processor.batches(composed, batches))
    alone = made.make()
    examples = list(composed)
    assert_equal(lengths, alone.lengths(examples))
    assert statistics == alone.statistics(examples)
    for batch, inputs in zip(batches, found, strict=True):
        expected = alone([examples[i] for i in batch])
        if "pictures" in expected:  # numbers of pictures depend on the order of look-ups
            assert_same_pictures(processor, inputs.pop("pictures"), alone, expected.pop("pictures"))
        assert_equal(inputs, expected)
        if len(batch):
            again = processor(composed.take(batch))
            assert_equal({n: v for n, v in again.items() if n != "pictures"}, expected)


def assert_same_pictures(processor, found, alone, expected):
    assert (found.dtype, found.shape) == (np.int64, expected.shape)
    assert_equal(processor.store.pixels(found.ravel().tolist()), alone.store.pixels(expected.ravel().tolist()))


def test_the_contents_of_a_pool_are_looked_up_once(made, monkeypatch):
    """Composed examples look up nothing, unless the text of a part depends on the other part."""
    processor, seen = made.make(), []
    look_up = processor._numbers

    def counting(examples):
        seen.append(examples)
        return look_up(examples)

    monkeypatch.setattr(processor, "_numbers", counting)
    composed = compositions(made.pool)
    for _ in range(2):
        processor.lengths(made.pool)
        processor.lengths(composed["whole"])
        list(processor.batches(composed["whole"], [np.arange(3), np.arange(5)]))
    assert seen == [made.pool]
    for _ in range(2):
        processor.lengths(composed["swap"])
        list(processor.batches(composed["swap"], [np.arange(40)]))
        processor.lengths(composed["others"])
        list(processor.batches(composed["others"], [np.arange(40)]))
    depends = getattr(processor, "form", TableForm()).keep is not None
    assert [len(examples) for examples in seen[1:] if isinstance(examples, list)] == [len(composed["others"].extra)]
    assert sum(isinstance(examples, Composed) for examples in seen) == (2 if depends else 0)


def test_numbers_are_forgotten_with_their_examples_and_a_copy_knows_contents_but_no_pool(made):
    processor, composed = made.make(), compositions(made.pool)["swap"]
    numbers = processor.numbers(composed)
    copy = pickle.loads(pickle.dumps(processor))
    assert copy not in NUMBERS
    np.testing.assert_array_equal(copy.numbers(composed), numbers)
    assert_equal(list(copy.batches(composed, [np.arange(9)])), list(processor.batches(composed, [np.arange(9)])))
    assert set(NUMBERS[processor]) == {made.pool, composed}
    del composed
    gc.collect()
    assert set(NUMBERS[processor]) == {made.pool}


class Letters(Processor):
    """A processor that defines rows alone: the codes of the letters, of the left part or once per part."""

    pad_id = 7

    def __init__(self, *parts):
        self.parts = parts

    def rows(self, examples):
        rows = [[[ord(letter) for letter in e.parts[part]] for part in self.parts] for e in examples]
        return rows if len(self.parts) > 1 else [row for (row,) in rows]


class Texts(Processor):
    """A processor without rows."""

    def lengths(self, examples):
        return np.array([len(e.parts["left"]) for e in examples], dtype=np.int32)

    def __call__(self, examples):
        return {"texts": [e.parts["left"] for e in examples]}


def test_a_processor_needs_rows_alone():
    pool = Examples.of(Example(f"u{i}", {"left": "ab" * i, "right": f"c{i % 2}"}) for i in range(4))
    composed = Composed(pool, np.array([0, 1, 2, 3, 1]), {"left": np.array([0, 1, 2, 1, 1])})
    one, both = Letters("left").encode(composed), Letters("left", "right").encode(composed)
    assert one.lengths.dtype == np.int32
    assert [one.lengths.tolist(), both.lengths.tolist()] == [[0, 2, 4, 2, 2], [2, 2, 4, 2, 2]]
    kinds = [0, 1, 2, 1, 1]
    assert_same_groups(one.fingerprints, kinds)
    assert_same_groups(both.fingerprints, kinds)
    assert one.fingerprints[1] == 7513320412401027383  # in every process
    first, last = both.batches([np.array([2, 0]), np.array([3])])
    assert first["input_ids"].tolist() == [
        [[97, 98, 97, 98], [99, 48, 7, 7]],
        [[7, 7, 7, 7], [99, 48, 7, 7]],
    ]
    assert first["attention_mask"].tolist() == [[[1, 1, 1, 1], [1, 1, 0, 0]], [[0, 0, 0, 0], [1, 1, 0, 0]]]
    assert last["input_ids"].tolist() == [[[97, 98], [99, 49]]]
    processor = Letters("left")
    processor.pads_left, processor.pad_to, processor.max_length = True, 3, 5
    assert processor(pool[1:3])["input_ids"].tolist() == [[7, 7, 7, 97, 98], [7, 97, 98, 97, 98]]
    assert processor([])["input_ids"].shape == processor([])["attention_mask"].shape == (0, 0)


def assert_same_groups(found, expected):
    """Assert that hashes are equal exactly where the expected numbers are."""
    assert found.dtype == np.uint64
    np.testing.assert_array_equal(found[:, None] == found, np.equal.outer(expected, expected))


def test_a_processor_without_rows_reads_its_batches_one_by_one():
    pool = texts()
    composed = Composed(pool, np.array([4, 2, 9]), {"left": np.array([1, 2, 0])})
    found = list(Texts().batches(composed, [np.array([2, 0]), np.array([1])]))
    left = [example.parts["left"] for example in pool]
    assert found == [{"texts": [left[0], left[1]]}, {"texts": [left[2]]}]
    assert Texts().statistics(composed) == Statistics()
    assert Texts().fingerprints(composed) is None
    with refused(ModelError, "attributions"):  # only processors of texts can hide words
        HiddenWords(Texts(), pool)


def test_a_processor_never_gets_an_empty_list_of_examples():
    """A second stage may change no example, and tokenizers of transformers fail on empty lists."""

    class Fails(Processor):
        def lengths(self, examples):
            raise AssertionError

        order = fingerprints = __call__ = lengths

    encoded = Fails().encode([])
    assert [len(encoded.lengths), len(encoded.order), len(encoded.fingerprints)] == [0, 0, 0]
