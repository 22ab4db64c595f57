"""Pictures that rows name or hold: found, looked at, kept once, or refused with their row; and answers to questions."""

import hashlib
import io
import json
import math
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from tiny_data import people, png, vqa_rows

from heedful.datamodules import PairedImages, VisualQuestions
from heedful.datamodules.base.collate import Collate
from heedful.datamodules.loaders.pictures import STARRED, Pictures, listed_answers, thumbnail
from heedful.datamodules.loaders.vqa_answers import answer_scores, labels_by_answer, most_frequent, normalised
from heedful.datamodules.sources.values import filled
from heedful.records import SOFT, DataError, HeedfulError, Picture, SettingError
from heedful.records.example import FORMATS

from own_data import CONFIGS, configured, set_up, twin_path
from refusals import refused

VQA = twin_path("vqa2")


def found(columns: dict[str, str] | Pictures, rows: list[dict[str, Any]], folder: Path | None = None) -> list[Any]:
    """The rows with their pictures, of which "id" is the id, from a file in a folder."""
    pictures = columns if isinstance(columns, Pictures) else Pictures(columns, "id")
    where = "rows" if folder is None else str(folder / "rows.jsonl")
    Path(where).touch() if folder is not None else None
    return [values for _, values in pictures.rows(enumerate(rows, 1), where)]


def test_paths_begin_where_the_file_of_the_rows_lies_or_in_a_named_folder(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    for name in ("a.png", "a\nb.png", "COCO_000000000042.png"):
        (tmp_path / "p" / name).write_bytes(png("red"))
    (row,) = found({"image": "image"}, [{"image": "p/a.png", "n": 1}], tmp_path)
    assert (row["n"], row["image"].read(), row["image"].key) == (1, png("red"), hashlib.sha256(png("red")).hexdigest())
    assert row["image"].where.endswith("rows.jsonl, row 1")
    (other,) = found(Pictures({"image": "image"}, None, tmp_path / "p"), [{"image": "a\nb.png"}])
    assert Picture.decode(other["image"].encode()) == other["image"]
    (pattern,) = found({"image": "{dir}/COCO_{id:012d}.png"}, [{"dir": "p", "id": 42}], tmp_path)
    assert pattern["{dir}/COCO_{id:012d}.png"].read() == other["image"].read() == png("red")


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9), st.booleans())
def test_bytes_in_rows_are_kept_once_each(colours: list[int], as_on_hub: bool) -> None:
    data = [png("red", c) for c in colours]
    rows = [{"image": {"bytes": d, "path": "x.png"} if as_on_hub else d} for d in data]
    pictures = [row["image"] for row in found({"image": "image"}, rows)]
    assert [picture.read() for picture in pictures] == data
    assert len({(p.start, p.size) for p in pictures}) == len({*colours})
    assert all(Picture.decode(p.encode()) == p for p in pictures)
    assert Path(pictures[0].path).stat().st_size == sum(len(png("red", c)) for c in {*colours})


def test_a_star_makes_an_example_of_every_file(tmp_path: Path) -> None:
    for name in ("dev-7-1-0.png", "dev-7-1-2.png", "dev-17-1-0.png", "dev-7-1.png", "dev-7-1-0-9.png"):
        (tmp_path / name).write_bytes(png("red", len(name)))
    pattern = "*-{id}-*.png"
    rows = found({"image": pattern}, [{"id": "7-1"}, {"id": "17-1"}], tmp_path)
    assert [row[STARRED] for row in rows] == ["7-1-0", "7-1-2", "17-1-0"]
    assert [Path(row[pattern].path).name for row in rows] == ["dev-7-1-0.png", "dev-7-1-2.png", "dev-17-1-0.png"]
    with refused(SettingError, pattern, "uid"):
        Pictures({"image": pattern}, None)
    with refused(DataError, "{id}*.png", "{id}-*.png"):
        Pictures({"a": "{id}*.png", "b": "{id}-*.png"}, "id")


@pytest.mark.parametrize(
    ("column", "values", "facts"),
    [
        ("image", {"image": "gone.png"}, ["gone.png"]),
        ("image", {"image": "text.png"}, ["text.png", *FORMATS]),
        ("image", {"image": "eps.png"}, ["eps.png"]),  # would start a program
        ("image", {"image": 3}, ["'image'", "3"]),
        ("image", {"a": 1}, ["'image'", "are a"]),
        ("{id:03d}.png", {"id": "x"}, ["{id:03d}.png"]),
        ("*-{id}-*.png", {"id": "8"}, ["*-8-*.png", "image_folder"]),
        ("*-{id}-*.png", {"id": "*"}, ["*-{id}-*.png"]),
        *((column, {name: "../secret.png"}, ["../secret.png"]) for column, name in (("image", "image"), ("{p}", "p"))),
        ("{id}-*.png", {"id": "7"}, ["'7-1.png'"]),  # a link out of the folder
    ],
)
def test_what_cannot_be_a_picture_is_refused_with_its_row(
    tmp_path: Path, column: str, values: dict[str, Any], facts: list[str]
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(png("red"))
    (folder / "text.png").write_text("no picture")
    (folder / "eps.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n%%EndComments\n")
    (folder / "7-1.png").symlink_to(tmp_path / "secret.png")
    leaves = "secret" in str(values) or column == "{id}-*.png"
    with refused(DataError, *([folder] if leaves else ["row 1"]), *facts):
        found({"image": column}, [values], folder)
    if column in ("image", "{id}.png") and isinstance(values.get("image", values.get("id")), str):
        with refused(SettingError, "row 1", "image_folder"):
            found({"image": column}, [values])


def test_patterns_are_filled_with_the_values_of_a_row() -> None:
    row = {"id": "a-b-c", "n": 7, "none": None, "blank": " ", "gap": math.nan}
    assert filled("{id-1}/{id-2}/{id-9}/{id}", row, "w") == "a/a-b/a-b-c/a-b-c"
    assert filled("{n?}/{none?}/{gone?}/{n:03}/{blank?}{gap?}", row, "w") == "7///007/"
    for pattern, *facts in (
        *((pattern, "'gone'", "id, n, none") for pattern in ("{gone}", "{gone-1}")),
        ("{id:d}", "{id:d}"),
        *(  # "None" would be one group of all rows
            (pattern, name, pattern, f"{{{name}?}}")
            for name, pattern in zip(
                ("none", "none", "none", "blank", "gap"),
                ("{none}", "{none-1}", "{none:03}", "{blank}", "{gap-2}"),
                strict=True,
            )
        ),
    ):
        with refused(DataError, "w: ", *facts):
            filled(pattern, row, "w")


def test_the_first_frame_of_an_animated_picture_is_read_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    white, black, held = Image.new("L", (4, 2), 255), Image.new("L", (4, 2)), io.BytesIO()
    white.save(held, "GIF", save_all=True, append_images=[black])
    with caplog.at_level("INFO"):
        (row,) = found({"image": "image"}, [{"image": held.getvalue()}])
    assert thumbnail(row["image"]).tolist() == [[[255] * 3] * 4] * 2
    assert "1 picture is animated, and the first frame is read." in caplog.text


def test_a_thumbnail_is_small_and_of_a_known_format(tmp_path: Path) -> None:
    Image.new("RGB", (1000, 200), "red").save(tmp_path / "a.jpg", quality=95)
    (row,) = found({"image": "image"}, [{"image": "a.jpg"}], tmp_path)
    small = thumbnail(row["image"], 100)
    assert (small.shape, small.dtype) == ((20, 100, 3), np.uint8)
    assert small[10, 10, 0] > 200 > 50 > small[10, 10, 2]
    Image.new("L", (4, 2)).save(tmp_path / "b.ico")
    data = (tmp_path / "b.ico").read_bytes()
    with refused(DataError, "row 1", "b.ico"):
        thumbnail(Picture(hashlib.sha256(data).hexdigest(), str(tmp_path / "b.ico"), 0, len(data), "row 1"))


# lists of answers, and questions that several people answered


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.txt", "red\n\n blue \n", ["red", "blue"]),
        ("a.json", json.dumps({"id2label": {str(i): "abcdefghijk"[i] for i in reversed(range(11))}}), [*"abcdefghijk"]),
        ("a.json", '["x", "y", 1, 2.0]', ["x", "y", "1", "2"]),
        ("a.json", "5", ["holds 5"]),
        ("a.json", '["a", "b", "a"]', ["'a' twice"]),
        ("a.json", '["yes", "no", true]', ["lists True"]),
        ("a.json", '{"id2label": {"0": "yes", "1": "", "2": "no"}}', ["lists ''"]),
        ("a.json", '{"0": "yes", "1": "no", "version": "3"}', ["'2'. Number them from 0"]),
        ("a.txt", "\udcff", ["cannot be read"]),
    ],
)
def test_a_file_lists_answers_or_is_named(tmp_path: Path, name: str, content: str, expected: list[str]) -> None:
    (tmp_path / name).write_text(content, errors="surrogateescape")
    if " " in expected[0]:
        with refused(HeedfulError, "data.answers", name, *expected):
            listed_answers(name, str(tmp_path))
    else:
        assert listed_answers(name, str(tmp_path)) == listed_answers(str(tmp_path / name), None) == expected


def vqa2(stage: str = "fit", path: Any = VQA, **settings: Any) -> VisualQuestions:
    return configured("vqa2", path, stage, **{"answers": 6} | settings)


def golds(examples: Any) -> list[dict[str, float]]:
    return [json.loads(gold) for gold in examples.column("label")]


def test_labels_are_the_frequent_answers_and_gold_is_what_each_is_worth() -> None:
    data = vqa2()
    counts = Counter(row["multiple_choice_answer"] for row in vqa_rows(6))
    assert list(data.task.labels) == sorted(counts, key=lambda answer: (-counts[answer], answer))
    assert data.task.labels == ("no", "blue", "red", "yes", "black", "green") == vqa2("validate").task.labels
    assert (data.task.kind, data.task.default_label, data.task.distribution) == (SOFT, None, ())
    assert golds(data.pool)[:2] == [{"dark red": 0.6, "red": 1.0, "white": 0.3}, {"maybe": 0.3, "yes": 1.0}]
    assert dict(data.pool[1].meta) == {"answer_type": "yes/no"}
    assert list(data.pool.column("cluster")) == [e.parts["image"].key[:16] for e in data.pool]
    batch = Collate(lambda examples: {}, data.task)(([0, 1], [data.pool[0], data.pool[1]]))
    expected = torch.zeros(2, 6)
    expected[0, data.task.labels.index("red")], expected[1, data.task.labels.index("yes")] = 1.0, 1.0
    assert torch.equal(batch["labels"], expected)  # dark red and white are no labels


def test_training_questions_without_a_label_are_left_out_and_evaluated_ones_stay(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        data = vqa2(answers=2)  # no and blue
    assert (len(data.trained), len(data.pool), data.counts.hopeless) == (6, 6, {"not_in_labels": 3})
    assert all({"no", "blue"} & gold.keys() for gold in golds(data.trained))
    assert "6 training questions are left out: no answer is a label." in caplog.text
    assert "no answer to 3 evaluated questions is a label" in caplog.text
    (tmp_path / "answers.txt").write_text("left\nright\n")
    with refused(DataError, "vqa2", "answers"):
        vqa2(answers=str(tmp_path / "answers.txt"))


def test_labels_of_a_model_are_found_by_what_they_mean(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"id2label": {"1": "Yes.", "0": "no", "2": "Red"}}))
    for path, stage in ((VQA / "validation.parquet", "validate"), (VQA, "fit")):
        data = vqa2(stage, path, answers=str(tmp_path / "config.json"))
        assert data.task.labels == ("no", "Yes.", "Red")
        assert golds(data.pool)[:2] == [{"Red": 1.0, "dark red": 0.6, "white": 0.3}, {"Yes.": 1.0, "maybe": 0.3}]
    assert len(data.trained) == 8
    with refused(DataError, "answers 6", "answers RUN/checkpoints/backbone/config.json"):
        vqa2("validate", None)


def test_a_default_label_is_added_where_it_is_no_answer(tmp_path: Path) -> None:
    data = vqa2(augment="counterfactual", default_label="(unrelated)")
    assert data.task.labels[6:] == (data.task.default_label,) == ("(unrelated)",)
    trained = data.training_set()
    assert (len(trained), json.loads(trained[12].label)) == (2 * 12, {"(unrelated)": 1.0})
    assert trained[12].parts["question"] == trained[0].parts["question"]
    (tmp_path / "config.json").write_text(json.dumps({"id2label": dict(enumerate(data.task.labels))}))
    again = vqa2("validate", answers=str(tmp_path / "config.json"), default_label="(unrelated)")
    assert (again.task.labels, again.task.default_label) == (data.task.labels, "(unrelated)")
    chosen = vqa2(default_label="no")
    assert (chosen.task.labels[0], len(chosen.task.labels), chosen.task.default_label) == ("no", 6, "no")
    (tmp_path / "answers.txt").write_text("yes\nno\nred\nblue\ngreen\nblack\n")
    settings = {"parts": CONFIGS["vqa2"]["init_args"]["parts"], "label": "multiple_choice_answer", "path": str(VQA)}
    settings |= {"answers": str(tmp_path / "answers.txt"), "augment": "counterfactual", "default_label": "(unrelated)"}
    one_answer = set_up(PairedImages("own", **settings))
    assert one_answer.task.labels[6:] == ("(unrelated)",)
    assert one_answer.training_set()[12].label == "(unrelated)"


def test_rows_without_answers() -> None:
    rows = vqa_rows(6)
    for row, answers in zip(rows, (None, [], [None] * 10, people("yes")), strict=False):
        row["answers"] = answers
    rows[1]["multiple_choice_answer"] = rows[2]["multiple_choice_answer"] = None
    data = vqa2(path={"train": rows[::-1], "validation": rows[::-1]}, validate_on_train=True)
    assert data.counts.no_gold == 2
    assert {"red": 1.0} in golds(data.pool)  # the most frequent answer, where the ten are absent
    assert {"yes": 1.0} in golds(data.pool)


@pytest.mark.parametrize(
    ("wrong", "facts"),
    [
        ({"answers": "yes"}, ["'answers'", "'yes'"]),
        ({"answers": [{"text": "yes"}]}, ["'answers'", "[{'text': 'yes'}]"]),
        ({"answers": None, "multiple_choice_answer": True}, ["'multiple_choice_answer'", "True"]),
    ],
)
def test_answers_of_another_kind_are_refused(tmp_path: Path, wrong: dict[str, Any], facts: list[str]) -> None:
    (tmp_path / "answers.txt").write_text("yes\nno\n")
    row = {"image": png("red"), "question": "q", "question_id": 1, "answer_type": "other"} | wrong
    with refused(DataError, "row 1", *facts):
        configured("vqa2", [row], "validate", answers=str(tmp_path / "answers.txt"))


CASES = """
Yes=yes|  Hot   Dog =hot dog|T-shirt=t shirt|black/white=black white|on the left, near a tree.=on left near tree
two=2|None=0|twenty two=twenty 2|ten dogs=10 dogs|100,978=100978|1,000,000=1000000|red,blue=red blue|2, 3=2 3|3.5=3.5
.5=.5|5.=5|U.S.A.=usa|2:50 p.m.=2:50 pm|girl's=girl's|dont know=don't know|isnt=isn't|thats it=that's it
theyre=they're|its=its|well=well|were=were|10 oclock=10 o'clock|"stop"=stop|(nothing)=nothing|an apple a day=apple day
anthem=anthem|a=a|The=the|?=?|="""  # the rules know number words up to ten
PIECES = [*",.-': ?[]éİ\n", "  ", *"a The two none dont 1 22 Red".split()]


@pytest.mark.parametrize("case", [case for line in CASES.strip("\n").splitlines() for case in line.split("|")])
def test_answers_worked_by_hand(case: str) -> None:
    answer, _, expected = case.rpartition("=")
    assert normalised(answer) == expected


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_what_is_normalised_stays(answer: str) -> None:
    found = normalised(answer)
    assert normalised(found) == found
    assert found == " ".join(found.split())
    assert bool(found) == bool(answer.split())


def defined(answer: str, people: list[str]) -> float:
    """The mean over all groups without one person of min(1, how many in the group gave the answer / 3)."""
    groups = list(combinations(people, len(people) - 1))
    return sum(min(1.0, group.count(answer) / 3) for group in groups) / len(groups)


@given(st.lists(st.sampled_from(["red", "blue", "2", "", "white"]), min_size=2, max_size=12))
def test_worth_is_the_accuracy_over_all_groups_without_one_person(people: list[str]) -> None:
    assert (answer_scores([]), answer_scores([""] * 10), answer_scores(["yes"])) == ({}, {}, {"yes": 1.0})
    found = answer_scores(people)
    assert list(found) == sorted(set(people) - {""})
    for answer, value in found.items():
        assert value == pytest.approx(defined(answer, people), abs=1e-12)
        assert 0 < value <= 1 or people.count(answer) == 1


def test_frequent_answers_and_labels_by_what_they_mean() -> None:
    counts = Counter({"no": 3, "yes": 5, "blue": 3, "red": 1, "": 9})
    assert most_frequent(counts, 3) == ["yes", "blue", "no"]
    assert most_frequent(counts, 9) == ["yes", "blue", "no", "red"]
    assert labels_by_answer(["Two", "2", "t-shirt", "yes"]) == {
        "2": ["Two", "2"],
        "t shirt": ["t-shirt"],
        "yes": ["yes"],
    }
