"""Tests that two examples have the same fingerprint if and only if the model receives the same tensors."""

import pickle
from functools import partial
from itertools import product

import noise
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from transformers import AutoTokenizer, ViTImageProcessorPil

from heedful.lightning_modules import TemplateProcessor, TextProcessor, WindowProcessor
from heedful.lightning_modules.processors.pictures import PictureProcessor, PictureStore, resized
from heedful.lightning_modules.prompted.endpoint import QuestionProcessor
from heedful.lightning_modules.prompted.prompt_processor import PromptProcessor
from heedful.records import CLASSIFICATION, Composed, Example, Examples, Picture, Table, TableForm, Task

from causal import prompt
from causal import tokenizer as byte_level

PARTS = ("premise", "hypothesis")
IMAGES = ViTImageProcessorPil(size={"height": 4, "width": 6}, resample=Image.Resampling.NEAREST)
WORDS = ("dog", "Dog", "runs", "zz", "")
TEXT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
ROWS = st.lists(st.tuples(TEXT, TEXT), min_size=2, max_size=8)


def pairs(rows):
    return [Example(f"e/{i}", dict(zip(PARTS, row, strict=True))) for i, row in enumerate(rows)]


def received(inputs):
    """Ids and token types per row of a batch, without padding."""
    names = [name for name in ("input_ids", "token_type_ids") if name in inputs]
    masks = inputs["attention_mask"].bool()
    return [b"|".join(inputs[n][i][mask].numpy().tobytes() for n in names) for i, mask in enumerate(masks)]


def assert_alike(fingerprints, inputs):
    """Assert that fingerprints are equal exactly where inputs are equal."""
    assert fingerprints.dtype == np.uint64
    for (f, one), (g, other) in product(zip(fingerprints.tolist(), inputs, strict=True), repeat=2):
        assert (f == g) == (one == other)


@settings(max_examples=20)
@pytest.mark.parametrize("kind", ["t5", pytest.param("word", marks=pytest.mark.slow)])
@given(rows=ROWS, max_length=st.sampled_from([9, 11, 64]))
def test_texts_that_are_read(tokenizers, writers, kind, rows, max_length):
    """For truncated texts, texts that differ in case alone, pickled processors and composed examples."""
    if kind == "t5":
        processor = TemplateProcessor(writers["t5"], "p: {premise} h: {hypothesis}", max_length)
    else:
        processor = TextProcessor(tokenizers[kind], PARTS, max_length)
    examples = pairs(rows)
    found = processor.fingerprints(examples)
    assert_alike(found, received(processor(examples)))
    assert pickle.loads(pickle.dumps(processor)).fingerprints(examples).tolist() == found.tolist()
    pool = Examples.of(pairs([(p, f"{h} {i}") for i, (p, h) in enumerate(rows)]))
    composed = Composed(pool, np.arange(len(pool)), {"premise": np.roll(np.arange(len(pool)), 1)})
    assert processor.fingerprints(composed).tolist() == processor.fingerprints(list(composed)).tolist()


def test_what_stands_behind_the_3000th_word_is_never_read(tokenizers):
    """Fingerprints depend neither on the number of truncated tokens nor on the order of the texts."""
    long = " ".join(["dog", "runs"] * 1500)
    rows = [(f"{long} {end}", "a dog") for end in ("dog", "zz", "zz " * 4000)] + [(f"zz {long}", "a dog")]
    first, second, third, other = TextProcessor(tokenizers["word"], PARTS, 128).fingerprints(pairs(rows)).tolist()
    assert first == second == third != other
    again = TextProcessor(tokenizers["word"], PARTS, 128).fingerprints(pairs(rows[::-1]))
    assert again.tolist() == [other, third, second, first]
    whole = TextProcessor(tokenizers["word"], PARTS, 100_000).fingerprints(pairs(rows))
    assert len(set(whole.tolist())) == 4


@pytest.mark.parametrize("form", [TableForm(keep=2), TableForm("cells")])
def test_rows_that_a_table_loses_are_not_read(tokenizers, form):
    """Rows are lost by the limit on rows, or by truncation."""
    several = [["dog", "zz", "a"], ["dog", "zz", "b"], ["dog", "a", "a"]]
    tables = [Table("dog", (("Name", (n,)), ("Runs", (r,)), ("Age", (a,)))) for n, r, a in several]
    examples = [Example("e", {"table": table, "hypothesis": "runs"}) for table in tables]
    whole = len(tokenizers["word"](form.text(tables[0], ["runs"]), "runs")["input_ids"])
    processor = TextProcessor(tokenizers["word"], ("table", "hypothesis"), whole if form.keep else whole - 1, form)
    base, age, runs = processor.fingerprints(examples).tolist()
    assert_alike(processor.fingerprints(examples), received(processor(examples)))
    assert base == age != runs


@settings(max_examples=10)
@given(rows=ROWS)
def test_a_text_that_answers_are_cut_out_of_counts_as_it_is_written(tokenizers, rows):
    """Answers are copied from the text, so that the exact text counts; of the question, only the tokens count."""
    processor = WindowProcessor(tokenizers["word"], ("context", "question"), 16, 4)
    examples = [Example("e", {"context": text, "question": asked * 3}) for text, asked in rows]
    inputs = [(e.parts["context"], received(processor([e])["encoder"])) for e in examples]
    assert_alike(processor.fingerprints(examples), inputs)


def test_prompts_and_what_a_server_is_sent():
    """For prompts of causal models, some of which are truncated, and for texts that are sent to a server."""
    own = byte_level()
    room = len(PromptProcessor(own, prompt(0), True, 512, 8).prefix) + 8 + 60
    processor = PromptProcessor(own, prompt(0), True, room, 8)
    texts = ["dog", "Dog", "dog ", "dog runs " * 20 + "zz", "dog runs " * 20 + "zz " * 9, "zz " + "dog runs " * 20]
    examples = pairs([*product(texts, ["a", "a dog"]), ("dog", "a")])
    found = processor.fingerprints(examples)
    assert_alike(found, [row.tolist() for row in processor(examples)["rows"]])
    assert len(set(found.tolist())) == 5 * 2
    processor = QuestionProcessor(prompt(0))
    assert_alike(processor.fingerprints(examples), processor(examples)["questions"])


@pytest.mark.parametrize("cache", [0.0, 1.0])
def test_pictures_that_are_resized_to_the_same_pixels(tmp_path, tiny_bert, cache):
    """Pictures of one colour and several sizes have the same pixels after resizing; an absent picture is grey."""
    shades = [np.full((n, 6, 3), 128) for n in (4, 6, 9)] + [np.full((4, 4, 3), 127)]
    halves = np.full((4, 8, 3), 128)
    halves[:, 4:] = 0
    pictures = [
        noise.stored(tmp_path / f"{i}.png", pixels) for i, pixels in enumerate([*shades, halves, halves[:, ::-1]])
    ]
    store = PictureStore(partial(resized, images=IMAGES), cache)
    task = Task(CLASSIFICATION, ("image", "text"), ("no", "yes"), pictures=("image",))
    processor = PictureProcessor(AutoTokenizer.from_pretrained(tiny_bert), task, 8, store)
    contents = product([*pictures, Picture()], ("dog", "Dog", "zz"))
    examples = [Example("e", {"image": picture, "text": text}) for picture, text in contents]
    inputs = processor(examples)
    seen = store.pixels(inputs["pictures"].ravel().tolist())
    rows = [(text, pixels.shape, pixels.tobytes()) for text, pixels in zip(received(inputs), seen, strict=True)]
    found = processor.fingerprints(examples)
    assert_alike(found, rows)
    assert len(set(found.tolist())) == 2 * 4  # two texts; grey, 127, and two pictures of halves
    before = store.decoded
    assert processor.fingerprints(examples).tolist() == found.tolist()
    assert store.decoded == before
