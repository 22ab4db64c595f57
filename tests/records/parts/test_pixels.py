"""What Pillow opens becomes RGB by one rule; what is damaged or unclear is refused."""

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile

from heedful.records import DataError, HeedfulError, Picture
from heedful.records.parts.pixels import pixels

from refusals import refused

GREY = np.random.default_rng(0).integers(0, 256, (5, 7), dtype=np.uint8)
GREY[0, :2] = 0, 255
COLOURS = np.random.default_rng(1).integers(0, 256, (40, 56, 3), dtype=np.uint8)


def decoded(data: bytes, folder: Path) -> np.ndarray:
    (folder / "a").write_bytes(data)
    picture = Picture(hashlib.sha256(data).hexdigest(), str(folder / "a"), 0, len(data), "rows.csv, row 3")
    return pixels(picture, lambda shown: shown)


def saved(picture: Image.Image, form: str, **how: object) -> bytes:
    data = io.BytesIO()
    picture.save(data, form, **how)
    return data.getvalue()


def refuse(data: bytes, folder: Path, error: type[HeedfulError], *facts: object) -> None:
    with refused(error, "rows.csv, row 3: ", folder / "a", *facts):
        decoded(data, folder)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"])
def test_pictures_of_8_bits_are_what_pillow_makes_of_them(mode: str, tmp_path: Path) -> None:
    form = "TIFF" if mode in ("CMYK", "YCbCr", "PA") else "PNG"
    picture = Image.fromarray(COLOURS).convert("P" if mode == "PA" else mode)
    data = saved(picture, form)
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    np.testing.assert_array_equal(decoded(data, tmp_path), expected)


@pytest.mark.parametrize(
    ("mode", "form"), [("RGBA", "PNG"), ("RGBA", "WEBP"), ("LA", "PNG"), ("P", "PNG"), ("RGB", "PNG")]
)
def test_transparent_pictures_are_drawn_on_white(mode: str, form: str, tmp_path: Path) -> None:
    alpha = np.zeros((40, 56), np.uint8)
    alpha[:20], alpha[20:22] = 255, 128
    picture = Image.fromarray(COLOURS).convert(mode)
    if mode in ("RGBA", "LA"):
        picture.putalpha(Image.fromarray(alpha))
        data = saved(picture, form, **({"lossless": True, "exact": True} if form == "WEBP" else {}))
    else:  # one colour is transparent
        first = picture.getpixel((0, 0))
        data = saved(picture, form, transparency=first)
        same = np.asarray(picture) == np.array(first)
        alpha = np.where(same if mode == "P" else same.all(axis=-1), 0, 255)
    share = alpha[..., None] / 255
    expected = share * np.asarray(picture.convert("RGB"), dtype=float) + (1 - share) * 255
    np.testing.assert_allclose(decoded(data, tmp_path), expected, atol=1)
    assert (decoded(data, tmp_path)[alpha == 0] == 255).all()


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM"])
def test_a_picture_that_ends_too_early_is_refused(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)  # as some libraries have it
    data = saved(Image.fromarray(COLOURS), form)
    for share in (0.3, 0.6, 0.9):
        refuse(data[: int(share * len(data))], tmp_path, DataError)


def test_a_picture_that_changed_since_the_data_were_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"other")
    with refused(DataError, "row 3", tmp_path / "a"):
        Picture("0" * 64, str(tmp_path / "a"), 0, 5, "row 3").read()


@pytest.mark.parametrize("values", [np.uint16([[0, 60000]]), np.int32([[0, 65535]]), np.float32([[0, 1]])])
def test_grey_of_more_than_8_bits_is_refused(values: np.ndarray, tmp_path: Path) -> None:
    """Pillow would clip it, so that nearly all is white."""
    refuse(saved(Image.fromarray(values), "TIFF"), tmp_path, DataError, "8 bits")
