"""Pictures that rows name: found, looked at, kept once, or refused with their row."""

import hashlib
import io
import json
import os
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from heedful.datamodules.sources.image_files import MOST_PIXELS, STARRED, PictureFolder, Pictures
from heedful.records import HeedfulError, Picture


def png(colour: tuple[int, int, int] = (1, 2, 3), size: tuple[int, int] = (4, 3)) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", size, colour).save(data, "PNG")
    return data.getvalue()


def claiming(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose head claims a size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def found(pictures: Pictures, rows: list[dict], folder: Path | None = None) -> list[dict]:
    where = "rows"
    if folder is not None:
        (folder / "rows.jsonl").touch()
        where = str(folder / "rows.jsonl")
    return [columns for _, columns in pictures.rows(((i + 1, row) for i, row in enumerate(rows)), where)]


def refused(rows: list[dict], folder: Path | None, column: str = "image", uid: str | None = None) -> str:
    with pytest.raises(HeedfulError) as caught:
        found(Pictures({"image": column}, uid), rows, folder)
    message = str(caught.value)
    assert "\n" not in message
    return message


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
    assert "row 1: there is no picture" in refused([{"id": "8"}], tmp_path, pattern, "id")
    assert "name its id with uid" in refused([{"id": "8"}], tmp_path, pattern)
    with pytest.raises(HeedfulError, match="only one pattern may hold"):
        Pictures({"a": "{id}*.png", "b": "{id}-*.png"}, "id")


def test_what_cannot_be_a_picture_is_refused_with_its_row(tmp_path: Path) -> None:
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "bomb.png").write_bytes(claiming(60_000, 60_000))
    (tmp_path / "large.png").write_bytes(claiming(MOST_PIXELS // 2 + 1, 2))
    (tmp_path / "fits.png").write_bytes(claiming(MOST_PIXELS // 2, 2))
    (tmp_path / "eps.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n%%EndComments\n")
    fits = {"image": "fits.png"}
    assert "row 2: the picture" in refused([fits, {"image": "gone.png"}], tmp_path)
    assert "row 2: " in (message := refused([fits, {"image": "text.png"}], tmp_path))
    assert "is no picture of a format that is read here" in message
    assert "is no picture of a format" in refused([{"image": "eps.png"}], tmp_path)  # would start a program
    assert "more than 67,108,864 pixels, which is refused" in refused([{"image": "bomb.png"}], tmp_path)
    assert "33,554,433 x 2 pixels" in refused([{"image": "large.png"}], tmp_path)
    assert "row 1: the column 'image' holds no picture but None" in refused([{"image": None}], tmp_path)
    assert "no column 'image'; the columns are a" in refused([{"a": 1}], tmp_path)
    assert "no column 'id'" in refused([{"a": 1}], tmp_path, "{id}.png")
    assert "does not fit the row" in refused([{"id": "x"}], tmp_path, "{id:03d}.png")
    assert "image_folder must say" in refused([{"image": "fits.png"}], None)


@pytest.mark.parametrize(
    "path", ["../secret.png", "/etc/hosts", "a/../../secret.png", "link/secret.png", "a\\b.png", "\ud83d.png"]
)
def test_a_path_may_not_leave_the_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path)
    (tmp_path / "secret.png").write_bytes(png())
    assert "does not lead to something in this folder" in refused([{"image": path}], tmp_path / "in")
    assert "does not lead to something in this folder" in refused([{"p": path}], tmp_path / "in", "{p}")


@pytest.mark.parametrize("content", [png()[:-1], png()[:-1] + b"x", png((9, 9, 9))], ids=["shorter", "a byte", "other"])
def test_a_file_that_has_changed_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.png").write_bytes(png())
    (row,) = found(Pictures({"image": "image"}, None), [{"image": "a.png"}], tmp_path)
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(HeedfulError, match=r"row 1: the picture .*a\.png has changed since the data were read"):
        row["image"].read()


def test_a_file_name_may_hold_a_line_feed(tmp_path: Path) -> None:
    (tmp_path / "a\nb.png").write_bytes(png())
    (row,) = found(Pictures({"image": "image"}, None), [{"image": "a\nb.png"}], tmp_path)
    assert Picture.decode(row["image"].encode()) == row["image"]
    assert row["image"].read() == png()


def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.png")
    assert "row 1: the picture" in (message := refused([{"image": "a.png"}], tmp_path))
    assert "is a named pipe, and should be a file" in message


def test_a_star_does_not_follow_a_link_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "in" / "p").mkdir(parents=True)
    (tmp_path / "secret.png").write_bytes(png())
    (tmp_path / "in" / "p" / "7-0.png").write_bytes(png())
    (tmp_path / "in" / "p" / "7-1.png").symlink_to(tmp_path / "secret.png")
    message = refused([{"id": "7"}], tmp_path / "in", "p/{id}-*.png", "id")
    assert "'p/7-1.png' in its files does not lead to something in this folder" in message


def test_a_folder_for_each_split_holds_its_rows_and_pictures(tmp_path: Path) -> None:
    for name, rows in (("train_sample", [["is it?", "yes"]]), ("test", [["was it?", "no"]])):
        (tmp_path / name / "images").mkdir(parents=True)
        (tmp_path / name / "questions.json").write_text(json.dumps(rows))
    source = PictureFolder(tmp_path, columns=("question", "answer"))
    assert list(source.rows("train", ())[1]) == [(1, {"question": "is it?", "answer": "yes"})]
    assert list(source.rows("validation", ("test",))[1]) == [(1, {"question": "was it?", "answer": "no"})]
    with pytest.raises(HeedfulError, match="row 1: 2 fields, and columns names 1"):
        list(PictureFolder(tmp_path, columns=("question",)).rows("train", ())[1])
    with pytest.raises(HeedfulError, match="has no file for the split 'dev'"):
        source.rows("dev", ())
