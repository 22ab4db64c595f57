"""Tables are put into words; what Pillow opens becomes RGB by one rule, and what is damaged is refused."""

import hashlib
import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFile

from heedful.records import DataError, Example, Examples, HeedfulError, Picture, SettingError, Table, TableForm
from heedful.records.example import Part, content_id, pixels

from refusals import refused

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
tables = st.builds(
    lambda title, rows: Table(title, tuple((key, tuple(values)) for key, values in rows.items())),
    words,
    st.dictionaries(words, st.lists(words, min_size=1, max_size=3), max_size=5),
)
PLAIN = Table("In Rainbows", (("Length", ("42:39",)), ("Genre", ("art rock", "art pop")), ("Label", ("XL",))))


pairs = st.tuples(words | tables, words | tables) | st.tuples(st.builds(Picture, words), st.builds(Picture, words))


@given(pairs, words, st.sampled_from(["no", None]))
def test_an_example_with_another_part_keeps_the_others(sides: tuple[Part, Part], other: str, label: str | None) -> None:
    old, new = sides
    base = Example("a", {"x": old, "y": other}, label, {"x": content_id(old), "topic": "t"}, {"m": "1"})
    changed = base.replace("x", new)
    assert changed == Example("a", {"x": new, "y": other}, label, {"x": content_id(new), "topic": "t"}, {"m": "1"})
    assert (list(changed.parts), changed["x"], changed["y"]) == (["x", "y"], new, other)
    assert changed.replace("x", old) == base
    assert [base.replace("x", new, gold=gold).label for gold in ("yes", None)] == ["yes", None]


def test_an_example_says_which_parts_it_has():
    base = Example("d/1", {"x": "a", "y": "b"})
    for use in (lambda: base["z"], lambda: base.replace("z", "c")):
        with pytest.raises(KeyError, match="d/1 has no part 'z'. The parts are x, y"):
            use()


@pytest.mark.parametrize("content", [None, b"x", Picture("key")], ids=["none", "bytes", "picture"])
def test_content_of_another_kind_is_refused(content):
    with refused(SettingError, "d/1", "part x", "str", type(content).__name__):
        Example("d/1", {"x": "a"}).replace("x", content)
    with refused(SettingError, "Picture", "str"):
        Example("d/1", {"x": Picture("key")}).replace("x", "cat.png")


@given(tables, tables)
def test_text_and_back_and_equal_text_for_equal_tables_only(first, second):
    assert Table.decode(first.encode()) == first
    assert (first.encode() == second.encode()) == (first == second)


@given(st.lists(tables, min_size=1, max_size=5))
def test_tables_survive_a_pool(found):
    pool = Examples.of([Example(f"u{i}", {"premise": table, "hypothesis": "h"}) for i, table in enumerate(found)])
    assert [e.parts["premise"] for e in pool] == list(pool.column("parts.premise")) == found
    assert [pool.value("parts.premise", i) for i in range(len(pool))] == found
    assert list(pool.column("parts.hypothesis")) == ["h"] * len(found)
    same = {
        (a.groups["premise"] == b.groups["premise"]) == (a.parts["premise"] == b.parts["premise"])
        for a in pool
        for b in pool
    }
    assert same == {True}
    for other in (
        pool.take([0]),
        pool.rename_parts(["t", "s"]),
        pool.keep_parts(["premise"]),
        Examples.concatenate([pool]),
    ):
        assert other[0].parts[other.parts[0]] == found[0]


def test_a_key_stands_once():
    with refused(SettingError, "'T'", "'k'"):
        Table("T", (("k", ("a",)), ("k", ("b",))))


def test_three_ways_to_say_a_table():
    assert TableForm().text(PLAIN) == (
        "The Length of In Rainbows is 42:39. The Genre of In Rainbows are art rock, art pop. "
        "The Label of In Rainbows is XL."
    )
    assert (
        TableForm("structure").text(PLAIN) == "Title: In Rainbows; Length: 42:39; Genre: art rock, art pop; Label: XL"
    )
    assert TableForm("cells").text(PLAIN) == "In Rainbows | Length | 42:39 | Genre | art rock | art pop | Label | XL"


@pytest.mark.parametrize("style", ["paragraph", "structure", "cells"])
def test_a_table_without_rows_still_has_its_title(style):
    assert "In Rainbows" in TableForm(style).text(Table("In Rainbows", ()))


def test_rows_are_kept_by_what_they_share_with_the_hypothesis():
    form = TableForm("structure", keep=1)
    assert [TableForm("structure", keep).shortens(PLAIN) for keep in (1, 3, None)] == [True, False, False]
    assert form.text(PLAIN, ["Its genre is pop."]) == "Title: In Rainbows; Genre: art rock, art pop"
    assert form.text(PLAIN, ["Its label was small."]) == "Title: In Rainbows; Label: XL"
    assert form.text(PLAIN, ["Nothing in common."]) == "Title: In Rainbows; Length: 42:39"  # of equals the first
    two = TableForm("structure", keep=2).text(PLAIN, ["Its label was small."])
    assert two == "Title: In Rainbows; Length: 42:39; Label: XL"  # in the order of the table


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
