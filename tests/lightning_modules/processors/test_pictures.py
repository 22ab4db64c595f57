"""Tests of the store of resized pictures, and of the processor of a text with pictures."""

import pickle
from dataclasses import replace

import noise
import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoTokenizer

from heedful.lightning_modules.processors.pictures import PictureProcessor, PictureStore, normalise
from heedful.records import CLASSIFICATION, DataError, Example, Examples, Task

from refusals import refused


def small(picture):
    return np.asarray(picture.resize((6, 4), Image.Resampling.BILINEAR))


def decoded(picture):
    return small(Image.open(picture.path).convert("RGB"))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Pictures of several shapes and modes; the last but one is damaged, the last equals the first."""
    folder, rng, made = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0), []
    for i, mode in enumerate(["RGB", "L", "RGBA", "P", "1", "RGB"]):
        picture = Image.fromarray(rng.integers(0, 256, (5 + i, 9 - i, 3), dtype=np.uint8)).convert(mode)
        made.append(noise.stored(folder / f"{i}.png", picture))
    (folder / "5.png").write_bytes((folder / "5.png").read_bytes()[:60])
    return [*made, replace(made[0], where="again")]


def test_each_content_is_decoded_once_while_there_is_room(pictures):
    store, fine = PictureStore(small, 1.0), [*pictures[:5], pictures[6]]
    for _ in range(3):
        numbers = store.numbers(fine)
        np.testing.assert_array_equal(store.pixels(numbers.tolist()), [decoded(picture) for picture in fine])
    assert (store.decoded, len(store)) == (5, 6)  # the first and the last are one; number 0 is an empty picture
    for cache in (0.0, 1e-7):
        without = PictureStore(small, cache)
        np.testing.assert_array_equal(without.pixels(without.numbers(fine).tolist()), store.pixels(numbers.tolist()))
        assert without.decoded == 5
    again = pickle.loads(pickle.dumps(store))
    np.testing.assert_array_equal(again.pixels(numbers.tolist()), store.pixels(numbers.tolist()))
    assert again.decoded == 2 * store.decoded  # stored pictures are not pickled
    with refused(DataError, "5.png"):
        PictureStore(small, 1.0).numbers(pictures)


def test_a_picture_on_its_side_is_turned_upright(tmp_path):
    picture = Image.new("RGB", (8, 4), (0, 0, 0))
    picture.paste((255, 255, 255), (0, 0, 8, 2))
    exif = Image.Exif()
    exif[0x0112] = 6  # EXIF orientation: a quarter turn clockwise
    store = PictureStore(np.asarray, 1.0)
    (pixels,) = store.pixels(store.numbers([noise.stored(tmp_path / "a.png", picture, exif=exif)]))
    assert pixels.shape == (8, 4, 3)
    assert (pixels[:, 2:] == 255).all()
    assert (pixels[:, :2] == 0).all()


def test_normalised_pixels_are_those_of_the_formula():
    pixels = [np.random.default_rng(i).integers(0, 256, (2, 3, 3), dtype=np.uint8) for i in range(2)]
    means, stds = [0.1, 0.2, 0.3], [0.5, 0.6, 0.7]
    found = normalise(pixels, means, stds, torch.zeros(1)).numpy()
    expected = (np.stack(pixels) / 255 - means) / stds
    np.testing.assert_allclose(found, np.moveaxis(expected, -1, 1), atol=1e-6)


@pytest.mark.parametrize("parts", [("left", "right", "text"), ("text", "left"), ("left",), ("text",)])
def test_a_batch_has_tokens_of_the_text_and_numbers_of_the_pictures(tiny_bert, pictures, parts):
    of_pictures = tuple(part for part in parts if part != "text")
    task = Task(CLASSIFICATION, parts, ("a", "b"), pictures=of_pictures)
    processor = PictureProcessor(AutoTokenizer.from_pretrained(tiny_bert), task, 16, PictureStore(small, 1.0))
    texts = ["a", "a dog in the park .", "a dog in the park ."]
    whole = [{"left": pictures[i], "right": pictures[i + 1], "text": text} for i, text in enumerate(texts)]
    pool = Examples.of([Example(f"u{i}", {p: e[p] for p in parts}) for i, e in enumerate(whole)])
    lengths, batch = processor.lengths(pool), processor(list(pool))
    words = [processor.tokenizer.decode(row) for row in batch["input_ids"].tolist()]
    assert words[0].startswith("[CLS] a [SEP]" if "text" in parts else "[CLS] [SEP]")
    assert lengths.tolist() == batch["attention_mask"].sum(dim=1).tolist()
    assert isinstance(batch["pictures"], np.ndarray), "a tensor would go to the device"
    assert batch["pictures"].shape == (3, max(1, len(of_pictures)))
    if of_pictures:
        found = processor.store.pixels(batch["pictures"].ravel().tolist())
        np.testing.assert_array_equal(found, [decoded(e.parts[part]) for e in pool for part in of_pictures])
    else:
        assert (batch["pictures"] == 0).all()
        assert (processor.store.pixels([0])[0] == 128).all()
