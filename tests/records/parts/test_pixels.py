"""What Pillow opens becomes RGB by one rule; what is damaged or unclear is refused."""

import hashlib
import io
import struct
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


def tiff(values: np.ndarray, bits: int, photometric: int = 1) -> bytes:
    """A grey TIFF of one strip; of 12 bits, two values are packed into three bytes."""
    if bits == 12:
        rows = ("".join(f"{value:03x}" for value in row) for row in values)
        pixels = b"".join(bytes.fromhex(row + "0" * (len(row) % 2)) for row in rows)
    else:
        pixels = values.astype(f"<u{bits // 8}").tobytes()
    height, width = values.shape
    tags = [(256, width), (257, height), (258, bits), (259, 1), (262, photometric), (273, 8), (277, 1), (278, height)]
    tags += [(279, len(pixels))]
    entries = b"".join(struct.pack("<HHII", tag, 4 if tag == 279 else 3, 1, value) for tag, value in tags)
    return b"II*\0" + struct.pack("<I", 8 + len(pixels)) + pixels + struct.pack("<H", len(tags)) + entries + bytes(4)


DEEP = GREY.astype(np.uint16) * 257
SAME = {
    "png": saved(Image.fromarray(DEEP), "PNG"),
    "tiff": saved(Image.fromarray(DEEP), "TIFF"),
    "tiff, white is 0": tiff(65535 - DEEP, 16, photometric=0),
    "tiff of 12 bits": tiff(GREY.astype(np.uint16) << 4, 12),
    "tiff, shifted": saved(Image.fromarray(GREY.astype(np.uint16) << 8), "TIFF"),
    "tiff of 32 bits": saved(Image.fromarray(DEEP.astype(np.int32)), "TIFF"),
    "tiff of floats": saved(Image.fromarray((GREY / 255).astype(np.float32)), "TIFF"),
    "pgm": b"P5 7 5 65535\n" + DEEP.astype(">u2").tobytes(),
    "pgm as text": b"P2 7 5 65535\n" + " ".join(map(str, DEEP.ravel())).encode(),
    "ppm": b"P6 7 5 65535\n" + np.repeat(DEEP[:, :, None], 3, axis=2).astype(">u2").tobytes(),
}


@pytest.mark.parametrize("name", SAME)
def test_the_same_picture_has_the_same_pixels_in_8_16_and_32_bits(name: str, tmp_path: Path) -> None:
    expected = decoded(saved(Image.fromarray(GREY), "PNG"), tmp_path)
    np.testing.assert_array_equal(decoded(SAME[name], tmp_path), expected)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr"])
def test_pictures_of_8_bits_are_what_pillow_makes_of_them(mode: str, tmp_path: Path) -> None:
    form = "TIFF" if mode in ("CMYK", "YCbCr", "PA") else "PNG"
    picture = Image.fromarray(COLOURS).convert("P" if mode == "PA" else mode)
    data = saved(picture, form, **({"transparency": 3} if mode == "P" else {}))
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    np.testing.assert_array_equal(decoded(data, tmp_path), expected)


@pytest.mark.parametrize(
    ("values", "facts"),
    [
        (np.float32([[0, 1.5]]), ("0 to 1.5", "0 to 1")),
        (np.float32([[-0.1, 1]]), ("-0.1 to 1",)),
        (np.float32([[0, np.nan, 1]]), ("nan to nan",)),
        (np.float32([[0, np.inf]]), ("0 to inf",)),
        (np.int32([[0, 65536]]), ("0 to 65536", "0 to 65535")),
        (np.int32([[-1, 65535]]), ("-1 to 65535",)),
        (np.int32([[0, 255]]), ("16 bits", "255")),
        (np.uint16([[0, 255]]), ("16 bits", "255")),
    ],
)
def test_values_that_do_not_say_what_is_white_are_not_guessed(values, facts: tuple, tmp_path: Path) -> None:
    refuse(saved(Image.fromarray(values), "TIFF"), tmp_path, DataError, *facts)


@pytest.mark.parametrize("kind", [np.uint16, np.int32, np.float32])
def test_a_black_picture_is_black(kind: type, tmp_path: Path) -> None:
    assert not decoded(saved(Image.fromarray(np.zeros((2, 2), kind)), "TIFF"), tmp_path).any()


JPEGS = {
    "plain": {},
    "restarts": {"restart_marker_rows": 1},
    "progressive": {"progressive": True},
    "both": {"restart_marker_rows": 1, "progressive": True},
    "smooth": {"quality": 5},
    "4:4:4": {"subsampling": 0},
}


@pytest.mark.parametrize("how", JPEGS)
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_a_whole_jpeg_is_as_pillow_shows_it(how: str, mode: str, tmp_path: Path) -> None:
    data = saved(Image.fromarray(COLOURS).convert(mode), "JPEG", **JPEGS[how])
    expected = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    for more in (b"", b"\0" * 9, b"junk \xff\xd9"):  # behind its end may stand anything
        np.testing.assert_array_equal(decoded(data + more, tmp_path), expected)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM"])
def test_a_picture_that_ends_too_early_is_refused(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)  # as some libraries have it
    data = saved(Image.fromarray(COLOURS), form)
    for share in (0.3, 0.6, 0.9):
        refuse(data[: int(share * len(data))], tmp_path, DataError)


def test_a_changed_byte_of_a_png_is_refused(tmp_path: Path) -> None:
    data = saved(Image.fromarray(COLOURS), "PNG")
    for place in (60, 200, len(data) - 40):
        refuse(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :], tmp_path, DataError)


def test_a_picture_that_changed_since_the_data_were_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"other")
    with refused(DataError, "row 3", tmp_path / "a"):
        Picture("0" * 64, str(tmp_path / "a"), 0, 5, "row 3").read()


def test_a_full_memory_is_not_called_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Image.Image, "convert", fails)
    refuse(saved(Image.fromarray(COLOURS), "PNG"), tmp_path, DataError)
