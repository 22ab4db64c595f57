"""The store of resized pictures, and the processor of a text with pictures."""

import hashlib
import io
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from transformers import AutoTokenizer

from heedful.lightning_modules.processors.pictures import PictureProcessor, PictureStore, normalised
from heedful.records import CLASSIFICATION, DataError, Example, Examples, Picture, Task

from refusals import refused


def small(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture.resize((6, 4), Image.Resampling.BILINEAR))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> list[Picture]:
    """Pictures of several shapes and modes; the last but one is damaged, the last one is the first again."""
    folder, rng, made = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0), []
    for i, mode in enumerate(["RGB", "L", "RGBA", "P", "1", "RGB"]):
        pixels = rng.integers(0, 256, (5 + i, 9 - i, 3), dtype=np.uint8)
        data = io.BytesIO()
        Image.fromarray(pixels).convert(mode).save(data, "PNG")
        data = data.getvalue()
        if i == 5:
            data = data[: len(data) // 2]
        (folder / f"{i}.png").write_bytes(data)
        key = hashlib.sha256(data).hexdigest()
        made.append(Picture(key, str(folder / f"{i}.png"), 0, len(data), f"rows, row {i}"))
    return [*made, Picture(made[0].key, made[0].path, 0, made[0].size, "rows, row 7")]


@pytest.mark.slow
@given(st.lists(st.sampled_from([0, 1, 2, 3, 4, 6]), min_size=1, max_size=12), st.sampled_from([0.0, 1e-7, 1.0]))
def test_pixels_are_those_of_pillow_whatever_is_kept(pictures: list[Picture], asked: list[int], cache: float) -> None:
    store = PictureStore(small, cache)
    numbers = store.numbers([pictures[i] for i in asked])
    for i, found in zip(asked, store.pixels(numbers.tolist()), strict=True):
        expected = small(Image.open(pictures[i].path).convert("RGB"))
        assert found.dtype == np.uint8
        np.testing.assert_array_equal(found, expected)
    assert len(store) == 1 + len({pictures[i].key for i in asked})


def test_each_content_is_decoded_once_while_there_is_room(pictures: list[Picture]) -> None:
    store, fine = PictureStore(small, 1.0), [*pictures[:5], pictures[6]]
    for _ in range(3):
        numbers = store.numbers(fine)
        store.pixels(numbers.tolist())
    assert store.decoded == 5
    without = PictureStore(small, 0.0)
    without.pixels(without.numbers(fine).tolist())
    assert without.decoded == 5  # the first and the last are one
    again = pickle.loads(pickle.dumps(store))
    np.testing.assert_array_equal(again.pixels(numbers.tolist()), store.pixels(numbers.tolist()))
    assert again.decoded == 2 * store.decoded  # what is kept does not go to another process


def test_a_damaged_picture_is_named_with_its_row(pictures: list[Picture]) -> None:
    with refused(DataError, "rows, row 5", "5.png"):
        PictureStore(small, 1.0).numbers(pictures)


def test_a_picture_on_its_side_is_turned_upright(tmp_path: Path) -> None:
    picture = Image.new("RGB", (8, 4), (0, 0, 0))
    picture.paste((255, 255, 255), (0, 0, 8, 2))
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn clockwise
    picture.save(tmp_path / "a.png", exif=exif)
    store = PictureStore(np.asarray, 1.0)
    data = (tmp_path / "a.png").read_bytes()
    key = hashlib.sha256(data).hexdigest()
    (pixels,) = store.pixels(store.numbers([Picture(key, str(tmp_path / "a.png"), 0, len(data), "row")]))
    assert pixels.shape == (8, 4, 3)
    assert (pixels[:, 2:] == 255).all()
    assert (pixels[:, :2] == 0).all()


def test_normalised_pixels_are_those_of_the_formula() -> None:
    pixels = [np.random.default_rng(i).integers(0, 256, (2, 3, 3), dtype=np.uint8) for i in range(2)]
    found = normalised(pixels, [0.1, 0.2, 0.3], [0.5, 0.6, 0.7], torch.zeros(1)).numpy()
    for i in range(2):
        for c, (mean, std) in enumerate([(0.1, 0.5), (0.2, 0.6), (0.3, 0.7)]):
            np.testing.assert_allclose(found[i, c], (pixels[i][:, :, c] / 255 - mean) / std, atol=1e-6)


@pytest.fixture(scope="module")
def make(pictures: list[Picture], tiny_bert: Path) -> Callable[..., PictureProcessor]:
    def make(parts: tuple[str, ...], of_pictures: tuple[str, ...]) -> PictureProcessor:
        task = Task(CLASSIFICATION, parts, ("a", "b"), pictures=of_pictures)
        return PictureProcessor(AutoTokenizer.from_pretrained(tiny_bert), task, 16, PictureStore(small, 1.0))

    return make


def examples_of(pictures: list[Picture], *parts: str) -> Examples:
    everything = [
        {"left": pictures[i], "right": pictures[i + 1], "text": "a dog in the park ." if i else "a"} for i in range(3)
    ]
    return Examples.of([Example(f"u{i}", {p: e[p] for p in parts}) for i, e in enumerate(everything)])


@pytest.mark.parametrize("parts", [("left", "right", "text"), ("text", "left"), ("left",), ("text",)])
def test_a_batch_has_tokens_of_the_text_and_numbers_of_the_pictures(make, pictures, parts: tuple[str, ...]) -> None:
    kept = tuple(part for part in parts if part != "text")
    processor, pool = make(parts, kept), examples_of(pictures, *parts)
    lengths = processor.lengths(pool)
    batch = processor(list(pool))
    if "text" in parts:
        words = [processor.tokenizer.decode(row) for row in batch["input_ids"].tolist()]
        assert words[0].startswith("[CLS] a [SEP]")
        assert lengths.tolist() == batch["attention_mask"].sum(dim=1).tolist()
    else:
        assert (batch["input_ids"] == batch["input_ids"][0]).all()
        assert processor.tokenizer.decode(batch["input_ids"][0].tolist()) == "[CLS] [SEP]"
    assert isinstance(batch["pictures"], np.ndarray), "a tensor would go to the device"
    assert batch["pictures"].shape == (3, max(1, len(kept)))
    if kept:
        found = processor.store.pixels(batch["pictures"].ravel().tolist())
        expected = [decoded(example.parts[part]) for example in pool for part in kept]
        np.testing.assert_array_equal(found, expected)
    else:
        assert (batch["pictures"] == 0).all()
        assert (processor.store.pixels([0])[0] == 128).all()


def decoded(picture: Picture) -> np.ndarray:
    return small(Image.open(picture.path).convert("RGB"))
