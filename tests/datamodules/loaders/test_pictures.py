"""Pictures that rows name: found, looked at, kept once, or refused with their row."""

import hashlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from heedful.datamodules import Source, Split
from heedful.datamodules.loaders.pictures import STARRED, Pictures, rows_of_pictures, thumbnail
from heedful.records import FORMATS, DataError, HeedfulError, Picture, SettingError

from refusals import refused


def png(colour: tuple[int, int, int] = (1, 2, 3), size: tuple[int, int] = (4, 3)) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", size, colour).save(data, "PNG")
    return data.getvalue()


def found(pictures: Pictures, rows: list[dict], folder: Path | None = None) -> list[dict]:
    where = "rows"
    if folder is not None:
        (folder / "rows.jsonl").touch()
        where = str(folder / "rows.jsonl")
    return [columns for _, columns in pictures.rows(((i + 1, row) for i, row in enumerate(rows)), where)]


def refuses(
    rows: list[dict], folder: Path | None, error: type[HeedfulError], *facts: str, column: str = "image"
) -> None:
    """Rows are refused, of which "id" is the id."""
    with refused(error, *facts):
        found(Pictures({"image": column}, "id"), rows, folder)


def test_a_path_begins_where_the_file_of_the_rows_lies(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "a.png").write_bytes(png())
    (row,) = found(Pictures({"image": "image"}, None), [{"image": "p/a.png", "n": 1}], tmp_path)
    assert row["n"] == 1
    assert row["image"].read() == png()
    assert row["image"].key == hashlib.sha256(png()).hexdigest()
    assert row["image"].where.endswith("rows.jsonl, row 1")


def test_another_folder_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    (row,) = found(Pictures({"image": "image"}, None, tmp_path), [{"image": "a.png"}])
    assert row["image"].read() == png()


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.booleans())
def test_bytes_in_rows_are_kept_once_each(colours: list[int], struct_of_hub: bool) -> None:
    data = [png((c, 0, 0)) for c in colours]
    rows = [{"image": {"bytes": d, "path": "x.png"} if struct_of_hub else d} for d in data]
    pictures = Pictures({"image": "image"}, None)
    made = [row["image"] for row in found(pictures, rows)]
    assert [picture.read() for picture in made] == data
    assert len({(p.start, p.size) for p in made}) == len(set(colours))
    assert all(Picture.decode(p.encode()) == p for p in made)
    assert Path(made[0].path).stat().st_size == sum(len(png((c, 0, 0))) for c in set(colours))


def test_a_pattern_takes_columns_as_python_formats_them(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "COCO_000000000042.png").write_bytes(png())
    pictures = Pictures({"image": "{dir}/COCO_{id:012d}.png"}, None)
    (row,) = found(pictures, [{"dir": "d", "id": 42}], tmp_path)
    assert row["{dir}/COCO_{id:012d}.png"].read() == png()


def test_a_star_makes_an_example_of_every_file(tmp_path: Path) -> None:
    for name in ("dev-7-1-0.png", "dev-7-1-2.png", "dev-17-1-0.png", "dev-7-1.png", "dev-7-1-0-9.png"):
        (tmp_path / name).write_bytes(png((len(name), 0, 0)))
    pattern = "*-{id}-*.png"
    rows = found(Pictures({"image": pattern}, "id"), [{"id": "7-1"}, {"id": "17-1"}], tmp_path)
    assert [row[STARRED] for row in rows] == ["7-1-0", "7-1-2", "17-1-0"]
    assert [Path(row[pattern].path).name for row in rows] == ["dev-7-1-0.png", "dev-7-1-2.png", "dev-17-1-0.png"]
    refuses([{"id": "8"}], tmp_path, DataError, "row 1", "*-8-*.png", "image_folder", column=pattern)
    refuses([{"id": "*"}], tmp_path, DataError, "row 1", pattern, column=pattern)
    with refused(SettingError, pattern, "uid"):
        Pictures({"image": pattern}, None)
    with refused(DataError, "{id}*.png", "{id}-*.png"):
        Pictures({"a": "{id}*.png", "b": "{id}-*.png"}, "id")


def test_what_cannot_be_a_picture_is_refused_with_its_row(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "fits.png").write_bytes(png())
    (tmp_path / "eps.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n%%EndComments\n")
    fits = {"image": "fits.png"}
    refuses([fits, {"image": "gone.png"}], tmp_path, DataError, "row 2", "gone.png")
    refuses([fits, {"image": "text.png"}], tmp_path, DataError, "row 2", "text.png", *FORMATS)
    refuses([{"image": "eps.png"}], tmp_path, DataError, "row 1", "eps.png")  # would start a program
    refuses([{"image": None}], tmp_path, DataError, "row 1", "'image'", "None")
    refuses([{"image": 3}], tmp_path, DataError, "row 1", "'image'", "3")
    refuses([{"a": 1}], tmp_path, DataError, "row 1", "'image'", "are a")
    refuses([{"a": 1}], tmp_path, DataError, "row 1", "'id'", "are a", column="{id}.png")
    refuses([{"id": "x"}], tmp_path, DataError, "row 1", "{id:03d}.png", column="{id:03d}.png")
    refuses([{"image": "fits.png"}], None, SettingError, "row 1", "fits.png", "image_folder")
    refuses([{"id": "x"}], None, SettingError, "row 1", "{id}.png", "image_folder", column="{id}.png")


@pytest.mark.parametrize("path", ["../secret.png", "/etc/hosts", "a/../../secret.png", "link/secret.png"])
def test_a_path_may_not_leave_the_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path)
    (tmp_path / "secret.png").write_bytes(png())
    refuses([{"image": path}], tmp_path / "in", DataError, tmp_path / "in", ascii(path)[1:-1])
    refuses([{"p": path}], tmp_path / "in", DataError, tmp_path / "in", ascii(path)[1:-1], column="{p}")


@pytest.mark.parametrize("content", [png()[:-1], png()[:-1] + b"x", png((9, 9, 9))], ids=["shorter", "a byte", "other"])
def test_a_file_that_has_changed_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(png())
    (row,) = found(Pictures({"image": "image"}, None), [{"image": "a.png"}], tmp_path)
    (tmp_path / "a.png").write_bytes(content)
    with refused(DataError, "row 1", "a.png"):
        row["image"].read()


def test_a_file_name_may_hold_a_line_feed(tmp_path: Path) -> None:
    (tmp_path / "a\nb.png").write_bytes(png())
    (row,) = found(Pictures({"image": "image"}, None), [{"image": "a\nb.png"}], tmp_path)
    assert Picture.decode(row["image"].encode()) == row["image"]
    assert row["image"].read() == png()


def test_a_star_does_not_follow_a_link_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "in" / "p").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(png())
    (tmp_path / "in" / "p" / "7-0.png").write_bytes(png())
    (tmp_path / "in" / "p" / "7-1.png").symlink_to(tmp_path / "secret.png")
    refuses([{"id": "7"}], tmp_path / "in", DataError, "'p/7-1.png'", column="p/{id}-*.png")


def test_a_folder_for_each_split_holds_its_rows_and_pictures(tmp_path: Path) -> None:
    for name, rows in (("train_sample", [["is it?", "yes"]]), ("test", [["was it?", "no"]])):
        (tmp_path / name / "images").mkdir(parents=True)
        (tmp_path / name / "questions.json").write_text(json.dumps(rows))
    source = Source(tmp_path, header=("question", "answer"))
    assert list(rows_of_pictures(source, Split("train"))[1]) == [(1, {"question": "is it?", "answer": "yes"})]
    rows = rows_of_pictures(source, Split("validation", aliases=["test"]))[1]
    assert list(rows) == [(1, {"question": "was it?", "answer": "no"})]
    with refused(DataError, "row 1", " 2", "columns names 1"):
        list(rows_of_pictures(Source(tmp_path, header=("question",)), Split("train"))[1])
    with refused(DataError, "'dev'"):
        rows_of_pictures(source, Split("dev"))


def test_a_thumbnail_is_small_upright_and_of_a_known_format(tmp_path: Path) -> None:
    turned = Image.new("RGB", (1000, 200), "red")
    turned.paste("blue", (0, 0, 500, 200))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    turned.save(tmp_path / "a.jpg", exif=exif, quality=95)
    data = (tmp_path / "a.jpg").read_bytes()
    key = hashlib.sha256(data).hexdigest()
    small = thumbnail(Picture(key, str(tmp_path / "a.jpg"), 0, len(data), "row 1"), 100)
    assert small.shape == (100, 20, 3)
    assert small.dtype == np.uint8
    assert small[10, 10, 2] > 200 > 50 > small[10, 10, 0]  # blue is above
    assert small[90, 10, 0] > 200
    Image.new("RGB", (4, 4)).save(tmp_path / "b.ico")
    data = (tmp_path / "b.ico").read_bytes()
    with refused(DataError, "row 1", tmp_path / "b.ico"):
        thumbnail(Picture(hashlib.sha256(data).hexdigest(), str(tmp_path / "b.ico"), 0, len(data), "row 1"))
