"""NLVR2: two pictures and a sentence, in the hub's schema, from saved data sets, and as the pictures were released."""

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml

from heedful.datamodules import PairedImages
from heedful.datamodules.loaders.pictures import filled
from heedful.datamodules.sources.source import Hub
from heedful.interventions import KeepPart, Swap
from heedful.records import DataError, Picture

from changed_examples import made
from drawn_pictures import nlvr2_rows, png, write_nlvr2
from refusals import refused

CONFIG = yaml.safe_load((Path(__file__).parents[2] / "configs" / "data" / "nlvr2.yaml").read_text())["init_args"]
RELEASED = {
    "left": "{identifier-1}/{directory?}/{identifier-3}-img0.png",
    "right": "{identifier-1}/{directory?}/{identifier-3}-img1.png",
    "sentence": "sentence",
}


def nlvr2(**settings: Any) -> PairedImages:
    data = PairedImages(**CONFIG | {"hub": Hub(**CONFIG["hub"])} | settings)
    data.setup("fit")
    return data


def contents(data: PairedImages) -> list[tuple[Any, ...]]:
    """What is known of each validation example but where its pictures lie."""
    return [(e.uid, *(getattr(p, "key", p) for p in e.parts.values()), e.label, dict(e.groups)) for e in data.pool]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_nlvr2(tmp_path_factory.mktemp("nlvr2"))


def test_the_schema_of_the_hub(folder: Path) -> None:
    data = nlvr2(path=str(folder))
    assert data.task.parts == ("left", "right", "sentence")
    assert data.task.pictures == ("left", "right")
    assert (data.task.labels, data.task.default_label) == (("False", "True"), "False")
    assert data.swap == ["left+right", "sentence"]
    assert data.sides == ("left+right", "sentence")
    assert (len(data.train_examples), len(data.pool)) == (40, 24)
    rows = {row["identifier"]: row for row in nlvr2_rows(6, "dev")}
    for example in data.pool:
        row = rows[example.uid.removeprefix("nlvr2/validation/")]
        assert example.label == row["label"]
        assert example.parts["sentence"] == row["sentence"]
        assert example.parts["left"].read() == row["image0"]["bytes"]
        assert example.parts["right"].read() == row["image1"]["bytes"]
        assert example.groups["{identifier-2}"] == "-".join(row["identifier"].split("-")[:2])


def test_a_saved_data_set_gives_the_same_examples(folder: Path, tmp_path: Path) -> None:
    features = {name: datasets.Value("string") for name in ("identifier", "sentence", "label")}
    features = datasets.Features(features | {name: datasets.Image() for name in ("image0", "image1")})
    splits = {"train": nlvr2_rows(10, "train"), "validation": nlvr2_rows(6, "dev")}
    saved = {split: datasets.Dataset.from_list(rows, features=features) for split, rows in splits.items()}
    datasets.DatasetDict(saved).save_to_disk(tmp_path / "saved")
    assert contents(nlvr2(path=str(tmp_path / "saved"))) == contents(nlvr2(path=str(folder)))


def test_both_pictures_come_from_one_partner_of_another_set(folder: Path) -> None:
    pool = nlvr2(path=str(folder)).pool
    swap, sets = Swap("left+right", "False"), set()
    found = made(swap, pool)
    assert [(one.position, one.draw) for one in found] == [(i, draw) for i in range(len(pool)) for draw in range(5)]
    for changed in found:
        example, partner = pool[changed.position], pool[changed.partner]
        assert [changed.example.parts[p] for p in ("left", "right")] == [partner.parts[p] for p in ("left", "right")]
        assert changed.example.parts["sentence"] == example.parts["sentence"]
        assert partner.groups["{identifier-2}"] != example.groups["{identifier-2}"]
        sets.add(partner.groups["{identifier-2}"])
    assert len(sets) == 6


def test_one_picture_alone_is_swapped(folder: Path) -> None:
    data = nlvr2(path=str(folder), swap=["left"])
    assert data.swap == ["left"]
    example = data.pool[3]
    (changed,) = made(Swap("left", "False", draws=1), data.pool, [3])
    assert changed.example.parts["left"] == data.pool[changed.partner].parts["left"] != example.parts["left"]
    assert [changed.example.parts[p] for p in ("right", "sentence")] == [
        example.parts[p] for p in ("right", "sentence")
    ]


def test_both_pictures_or_the_sentence_alone(folder: Path) -> None:
    data = nlvr2(path=str(folder), partial="left+right")
    assert data.task.parts == data.pool.parts == data.task.pictures == ("left", "right")
    assert data.swap == []
    assert data.regime == "partial-left+right"
    text = nlvr2(path=str(folder), partial="sentence")
    assert (text.pool.parts, text.task.pictures) == (("sentence",), ())
    pool = nlvr2(path=str(folder)).pool
    (kept,) = made(KeepPart("sentence", ("left", "right")), pool, [0])
    assert kept.example.parts["left"] == kept.example.parts["right"] == Picture()


def released(folder: Path, rows: Mapping[str, list[dict[str, Any]]]) -> Path:
    """The official json lines in data/, and the pictures in images/, each split in its own way."""
    (folder / "data").mkdir()
    for split, lines in rows.items():
        (folder / "data" / f"{split}.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
        for i, line in enumerate(lines):
            images = folder / "images" / split / str(line.get("directory", ""))
            images.mkdir(parents=True, exist_ok=True)
            for k in range(2):
                (images / f"{line['identifier'].rsplit('-', 1)[0]}-img{k}.png").write_bytes(
                    png("red", (i // 2 + k) % 19)
                )
    return folder


def test_pictures_as_they_were_released(tmp_path: Path) -> None:
    line = {"left_url": "https://a.b/c.jpg", "right_url": "https://a.b/d.jpg", "label": "True"}
    rows = {
        "train": [line | {"identifier": f"train-{i}-0-{k}", "sentence": f"s{i}{k}", "directory": i} for i, k in SIX],
        "dev": [line | {"identifier": f"dev-{i}-3-{k}", "sentence": f"t{i}{k}"} for i, k in SIX],
    }
    path = released(tmp_path, rows)
    data = nlvr2(path=str(path / "data"), image_folder=str(path / "images"), parts=RELEASED)
    shown = [
        [Path(e.parts[p].path).relative_to(path / "images").as_posix() for p in ("left", "right")] for e in data.pool
    ]
    assert shown[2] == ["dev/dev-1-3-img0.png", "dev/dev-1-3-img1.png"]
    trained = data.train_examples[5].parts["right"].path
    assert trained.endswith("images/train/2/train-2-0-img1.png")
    (path / "images" / "dev" / "dev-1-3-img1.png").unlink()
    with refused(DataError, "dev.json, row 3", "dev-1-3-img1.png"):
        nlvr2(path=str(path / "data"), image_folder=str(path / "images"), parts=RELEASED)


SIX = [(i, k) for i in range(3) for k in range(2)]


def test_the_official_sentences(shared_data: Path, tmp_path: Path) -> None:
    lines = (shared_data / "nlvr2" / "dev.json").read_text().splitlines()[:40]
    path = released(tmp_path, {"dev": [json.loads(line) for line in lines]})
    data = PairedImages(
        **CONFIG | {"hub": None, "parts": RELEASED}, path=str(path / "data"), image_folder=str(path / "images")
    )
    data.setup("validate")
    found = {f"nlvr2/validation/{row['identifier']}": row["label"] for row in map(json.loads, lines)}
    assert [(e.uid, e.label) for e in data.pool] == sorted(found.items())


def test_what_patterns_say() -> None:
    row = {"id": "a-b-c", "n": 7, "none": None}
    assert filled("{id-1}/{id-2}/{id-9}/{id}", row, "w") == "a/a-b/a-b-c/a-b-c"
    assert filled("{n?}/{none?}/{gone?}/{n:03}", row, "w") == "7///007"
    for pattern in ("{gone}", "{gone-1}"):
        with refused(DataError, "w: ", "'gone'", "id, n, none"):
            filled(pattern, row, "w")
    with refused(DataError, "w: ", "{id:d}"):
        filled("{id:d}", row, "w")
    row |= {"blank": " ", "gap": math.nan}
    assert filled("{blank?}{gap?}", row, "w") == ""
    for pattern in ("{none}", "{none-1}", "{none:03}", "{blank}", "{gap-2}"):  # "None" would be one group of all rows
        name = re.findall("[a-z]+", pattern)[0]
        with refused(DataError, "w: ", repr(name), pattern, f"{{{name}?}}"):
            filled(pattern, row, "w")


def test_a_label_that_is_neither_true_nor_false(tmp_path: Path) -> None:
    line = {"identifier": "dev-1-0-0", "sentence": "s", "label": "maybe"}
    path = released(tmp_path, {"dev": [line, line]})
    with refused(DataError, "dev.json, row 1", "'maybe'", "False, True"):
        PairedImages(
            **CONFIG | {"hub": None, "parts": RELEASED}, path=str(path / "data"), image_folder=str(path / "images")
        ).setup("validate")
