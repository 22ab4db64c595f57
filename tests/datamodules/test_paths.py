"""What stands inside data files can neither name a file outside the data folder nor run code."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from datasets import Dataset, Image, load_from_disk

from heedful.datamodules.sources.readers import inside
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import brief
from heedful.records import DataError, HeedfulError

from refusals import refused


def saved(*premises: str) -> Dataset:
    return Dataset.from_dict({"premise": list(premises), "label": [0] * len(premises)})


def refuses(folder: Path, error: type[HeedfulError], *facts: str, split: str = "train") -> None:
    """A saved data set is refused with the name of its folder."""
    with refused(error, folder, *facts):
        list(Source(folder).rows(Split(split))[1])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder beside a secret, with a picture and with links to both."""
    data = tmp_path / "data"
    (data / "images").mkdir(parents=True)
    (data / "images" / "a b.png").touch()
    (tmp_path / "data-secret").mkdir()
    (tmp_path / "data-secret" / "key").touch()
    (data / "out").symlink_to(tmp_path / "data-secret")
    (data / "key.png").symlink_to("../data-secret/key")
    (data / "picture.png").symlink_to("images/a b.png")
    (data / "circle").symlink_to("circle")
    return data


@pytest.mark.parametrize("path", ["images/a b.png", "./images/../images/a b.png", "picture.png", "images/none yet.png"])
def test_paths_inside_the_folder_are_followed(folder: Path, path: str) -> None:
    assert inside(folder, path) == (folder / path).resolve()
    assert inside(folder, path).is_relative_to(folder)


def test_a_folder_that_is_a_link_itself_is_as_good(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folder)
    assert inside(tmp_path / "link", "images/a b.png") == folder / "images" / "a b.png"


@pytest.mark.parametrize(
    "path",
    [
        *(
            "..",
            "../data-secret/key",
            "images/../../data-secret/key",
            "/etc/passwd",
            "//etc/passwd",
            "out/key",
            "key.png",
        ),
        *("", ".", "images/..", "a\0.png", "circle/a.png", None, 3, ["a"], b"a"),
    ],
)
def test_paths_that_leave_the_folder_are_refused(folder: Path, path: Any) -> None:
    with refused(DataError, folder, brief(path)):
        inside(folder, path)


@pytest.mark.parametrize("state", ["[]", "{}", '{"_data_files": 3}', '{"_data_files": [3]}', "[" * 10**5, "\xff"])
def test_a_saved_data_set_that_says_nonsense_is_refused(tmp_path: Path, state: str) -> None:
    saved("a").save_to_disk(tmp_path / "d")
    (tmp_path / "d" / "state.json").write_text(state, encoding="latin-1")
    refuses(tmp_path / "d", DataError, "save_to_disk")


def test_pictures_beside_the_text_are_not_opened(tmp_path: Path) -> None:
    """A column of pictures may name any file, or a page of the web, which decoding it would read."""
    paths = [str(tmp_path / "secret.png"), "https://example.invalid/a.png"]
    images = pa.array([{"bytes": None, "path": p} for p in paths], Image().pa_type)
    Dataset(pa.table({"premise": ["a", "b"], "image": images})).save_to_disk(tmp_path / "d")
    info = json.loads((tmp_path / "d" / "dataset_info.json").read_text())
    info["features"]["image"] = {"_type": "Image"}
    (tmp_path / "d" / "dataset_info.json").write_text(json.dumps(info))
    assert isinstance(load_from_disk(str(tmp_path / "d")).features["image"], Image)
    rows = [row for _, row in Source(tmp_path / "d").rows(Split("train"))[1]]
    assert [row["premise"] for row in rows] == ["a", "b"]
    assert [row["image"]["path"] for row in rows] == paths


def test_the_format_that_data_were_saved_in_does_not_matter(tmp_path: Path) -> None:
    saved("a", "b").with_format("torch").save_to_disk(tmp_path / "d")
    rows = list(Source(tmp_path / "d").rows(Split("train"))[1])
    assert rows == [(1, {"premise": "a", "label": 0}), (2, {"premise": "b", "label": 0})]


def test_a_split_file_may_be_a_link_that_the_user_has_made(tmp_path: Path) -> None:
    """Large data are kept elsewhere, and the hub's own cache consists of links."""
    (tmp_path / "big.jsonl").write_text('{"premise": "a"}\n')
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.jsonl").symlink_to(tmp_path / "big.jsonl")
    assert [row for _, row in Source(tmp_path / "data").rows(Split("train"))[1]] == [{"premise": "a"}]
