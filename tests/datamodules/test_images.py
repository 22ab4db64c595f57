"""Data sets of pictures and texts: from files, parquet and save_to_disk; swaps, groups and partial inputs."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from heedful.assembly.config import load_data
from heedful.datamodules import PairedImages
from heedful.datamodules.loaders.pictures import listed_answers
from heedful.interventions import KeepPart, Swap
from heedful.records import DataError, HeedfulError, Picture, SettingError

from changed_examples import made, sharing
from refusals import refused

SQUARES = {
    "name": "squares",
    "parts": {"image": "pictures/{file}", "question": "text"},
    "labels": {"no": [], "yes": []},
    "label": "answer",
    "default_label": "no",
    "uid": "id",
}
TWO = {
    "name": "two",
    "parts": {"left": "image0", "right": "image1", "sentence": "sentence"},
    "pictures": ["left", "right"],
    "labels": {"False": [], "True": []},
    "default_label": "False",
    "uid": "identifier",
}


def module(path: Path, **settings) -> PairedImages:
    data = PairedImages(**{**SQUARES, "path": str(path), **settings})
    data.setup("fit")
    return data


@pytest.fixture(scope="module")
def squares(write_squares, tmp_path_factory) -> Path:
    return write_squares(tmp_path_factory.mktemp("squares"))


@pytest.fixture(scope="module")
def two(squares: Path, tmp_path_factory) -> Path:
    """Two pictures and a sentence, as the hub's parquet files have them."""
    folder = tmp_path_factory.mktemp("two")
    for split, n in (("train", 12), ("validation", 8)):
        data = [(squares / "pictures" / f"{split}-{i}.png").read_bytes() for i in range(n)]
        rows = [
            {
                "identifier": f"{split}-{i}",
                "sentence": f"sentence {i}",
                "label": str(i % 2 == 0),
                "image0": {"bytes": data[i], "path": None},
                "image1": {"bytes": data[(i + 1) % n], "path": "x.png"},
            }
            for i in range(n)
        ]
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{split}.parquet")
    return folder


def test_examples_hold_pictures_by_content(squares: Path) -> None:
    data = module(squares)
    assert (len(data.train_examples), len(data.pool)) == (48, 24)
    example = data.pool["squares/validation/q3"]
    assert example.parts["image"].read() == (squares / "pictures" / "validation-3.png").read_bytes()
    assert example.groups["image"] == example.parts["image"].key
    assert (data.task.pictures, data.swap, data.sides) == (("image",), ["image", "question"], ("image", "question"))


def test_a_swapped_picture_is_that_of_an_unrelated_partner(squares: Path) -> None:
    pool = module(squares).pool
    for i in range(len(pool)):
        (changed,) = made(Swap("image", "no", draws=1), pool, [i])
        base, partner = pool[i], pool[changed.partner]
        assert changed.example.parts == {"image": partner.parts["image"], "question": base.parts["question"]}
        assert partner.parts["question"] != base.parts["question"]


def test_two_pictures_are_swapped_together_or_one_alone(two: Path) -> None:
    data = PairedImages(**TWO, path=str(two))
    data.setup("fit")
    assert (data.swap, data.sides) == (["left+right", "sentence"], ("left+right", "sentence"))
    pool = data.pool
    assert pool[0].parts["right"] == pool[1].parts["left"]  # of two rows, kept once
    for i in range(len(pool)):
        (both,) = made(Swap("left+right", None, draws=1), pool, [i])
        partner = pool[both.partner]
        assert both.example.parts == {**partner.parts, "sentence": pool[i].parts["sentence"]}
        assert both.example.groups["left"] == partner.groups["left"]
        assert not {pool[i].groups[p] for p in ("left", "right")} & {partner.groups[p] for p in ("left", "right")}
        (one,) = made(Swap("left", None, draws=1), pool, [i])
        assert one.example.parts["right"] == pool[i].parts["right"] != one.example.parts["left"]
    with refused(SettingError, "swap middle", "two", "left, right, sentence"):
        PairedImages(**TWO, path=str(two), swap=["left+middle"])


def test_pictures_go_by_the_order_of_the_parts(two: Path) -> None:
    """The network reads them in that order, which exported models record."""
    for pictures in (["right", "left"], ["left", "right", "left"]):
        with refused(SettingError, f"pictures [{', '.join(pictures)}]"):
            PairedImages(**TWO | {"pictures": pictures}, path=str(two))


def test_augmentation_swaps_both_pictures_and_leaves_the_rest(two: Path) -> None:
    data = PairedImages(**TWO, path=str(two), augment="counterfactual")
    data.setup("fit")
    made = data.training_set()
    assert len(made) == 18
    for k in range(12, 18):
        added = made[k]
        base = data.train_examples[added.uid]
        assert added.label == "False"
        assert added.parts["sentence"] == base.parts["sentence"]
        assert added.parts["left"] != base.parts["left"]
        assert added.parts["right"] != base.parts["right"]
    for part in made[0].parts:
        assert list(made.column(f"parts.{part}")) == [made[i].parts[part] for i in range(len(made))]


@pytest.mark.parametrize(("partial", "parts", "pictures"), [
    ("left+right", ("left", "right"), ("left", "right")),
    ("sentence", ("sentence",), ()),
    ("right", ("right",), ("right",)),
])  # fmt: skip
def test_partial_inputs_keep_one_side(two: Path, partial: str, parts: tuple, pictures: tuple) -> None:
    data = PairedImages(**TWO, path=str(two), partial=partial)
    data.setup("fit")
    assert (data.task.parts, data.task.pictures, data.pool.parts) == (parts, pictures, parts)
    assert data.whole.parts == ("left", "right", "sentence")
    with refused(SettingError, "partial above", "left, right, sentence"):
        PairedImages(**TWO, path=str(two), partial="left+above")


def test_one_side_alone_leaves_pictures_that_show_nothing(two: Path) -> None:
    data = PairedImages(**TWO, path=str(two))
    data.setup("validate")
    (changed,) = made(KeepPart("sentence", ("left", "right")), data.pool, [0])
    assert changed.example.parts == {"left": Picture(), "right": Picture(), "sentence": "sentence 0"}
    (changed,) = made(KeepPart("left+right", ("sentence",)), data.pool, [0])
    assert changed.example.parts["sentence"] == ""
    assert changed.example.parts["left"] == data.pool[0].parts["left"]


def test_a_saved_data_set_gives_the_same_examples_as_its_parquet_files(two: Path, tmp_path: Path) -> None:
    import datasets

    kinds = {name: datasets.Value("string") for name in ("identifier", "sentence", "label")}
    features = datasets.Features(kinds | dict.fromkeys(("image0", "image1"), datasets.Image()))
    splits = {s: datasets.Dataset(pq.read_table(two / f"{s}.parquet")).cast(features) for s in ("train", "validation")}
    datasets.DatasetDict(splits).save_to_disk(tmp_path / "saved")
    pools = []
    for path in (two, tmp_path / "saved"):
        data = PairedImages(**TWO, path=str(path))
        data.setup("validate")
        pools.append(data.pool)
    assert pools[0].fingerprint == pools[1].fingerprint
    assert [p.read() for p in pools[0].column("parts.left")] == [p.read() for p in pools[1].column("parts.left")]


def test_labels_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "answers.txt").write_text("red\n\n blue \n")
    (tmp_path / "config.json").write_text(
        json.dumps({"id2label": {str(i): "abcdefghijk"[i] for i in reversed(range(11))}})
    )
    (tmp_path / "list.json").write_text('["x", "y", 1, 2.0]')
    assert listed_answers("answers.txt", str(tmp_path)) == ["red", "blue"]
    assert listed_answers(str(tmp_path / "config.json"), None) == list("abcdefghijk")
    assert listed_answers("list.json", str(tmp_path)) == ["x", "y", "1", "2"]
    with refused(DataError, "answers none.txt"):
        listed_answers("none.txt", str(tmp_path))
    with refused(DataError, "answers none.txt", "none.txt"):
        listed_answers("none.txt", None)


def test_what_is_wrong_with_the_settings_is_said(squares: Path) -> None:
    for settings, error, facts in [
        ({"pictures": ["photo"]}, SettingError, ["pictures photo", "squares", "image, question"]),
        ({"pictures": []}, SettingError, ["pictures []"]),
        ({"labels": None}, SettingError, ["squares", "labels", "answers"]),
        ({"answers": "a.txt"}, SettingError, ["squares", "labels", "answers"]),
    ]:
        with refused(error, *facts):
            module(squares, **settings)


@pytest.mark.slow
def test_the_permutations_of_an_nlvr_scene_are_one_group(shared_data: Path) -> None:
    data = load_data("nlvr", path=shared_data / "nlvr")
    data.setup("validate")
    pool = data.pool
    assert len(pool) == 6 * 989
    scenes = np.array(list(pool.column("groups.identifier")))
    sentences = np.array(list(pool.column("parts.sentence")))
    for i in range(0, len(pool), 400):
        related = set(sharing(pool, i))
        assert related >= set(np.flatnonzero((scenes == scenes[i]) | (sentences == sentences[i])))
        assert pool.uid(i).startswith(f"nlvr/validation/{scenes[i]}-")
        (changed,) = made(Swap("image", None, draws=1), pool, [i])
        assert pool.position(changed.partner) not in related


@pytest.mark.parametrize(
    ("name", "content", "error", "facts"),
    [
        ("a.json", "5", DataError, ["holds 5"]),
        ("a.json", "null", DataError, ["holds None"]),
        ("a.json", '["a"', DataError, ["cannot be read"]),
        ("a.json", '["a", "b", "a"]', SettingError, ["'a'"]),
        ("a.json", '["a", "1", 1]', SettingError, ["'1'"]),
        ("a.json", '["yes", "no", true]', DataError, ["True"]),
        ("a.json", '["yes", null]', DataError, ["None"]),
        ("a.json", '["yes", NaN]', DataError, ["nan"]),
        ("a.json", '["yes", ["no"]]', DataError, ["['no']"]),
        ("a.json", '{"id2label": {"0": "yes", "1": "", "2": "no"}}', DataError, ["''"]),
        ("a.json", '{"0": "yes", "1": "no", "version": "3"}', DataError, ["'2'", "from 0"]),
        ("a.json", "{}", DataError, ["holds []"]),
        ("a.txt", "\n\n", DataError, ["holds []"]),
        ("a.txt", "yes\n" * 300_000, SettingError, ["'yes'"]),
        ("a.txt", "\udcff", DataError, []),
    ],
)
def test_a_file_of_answers_that_lists_none_is_named(
    tmp_path: Path, name: str, content: str, error: type[HeedfulError], facts: list[str]
) -> None:
    (tmp_path / name).write_text(content, errors="surrogateescape")
    with refused(error, "answers", name, *facts):
        listed_answers(name, str(tmp_path))
