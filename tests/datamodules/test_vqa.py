"""VQA 2.0: labels, gold and what is left out, from local files and from the schemas of the hub."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch
import yaml

from heedful.datamodules import PairedImages, VisualQuestions
from heedful.datamodules.base.collate import Collate
from heedful.datamodules.sources.source import Hub
from heedful.interventions import Swap
from heedful.records import SOFT, DataError, SettingError

from changed_examples import made
from drawn_pictures import people, vqa_rows, write_parquet, write_vqa
from refusals import refused

CONFIG = yaml.safe_load((Path(__file__).parents[2] / "configs" / "data" / "vqa2.yaml").read_text())["init_args"]


def vqa2(stage: str = "fit", **settings: Any) -> VisualQuestions:
    data = VisualQuestions(**CONFIG | {"hub": Hub(**CONFIG["hub"]), "answers": 6} | settings)
    data.setup(stage)
    return data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vqa(tmp_path_factory.mktemp("vqa2"))


def golds(examples: Any) -> list[dict[str, float]]:
    return [json.loads(gold) for gold in examples.column("label")]


def test_labels_are_the_frequent_answers_of_the_training_split(folder: Path) -> None:
    data = vqa2(path=str(folder))
    counts = Counter(row["multiple_choice_answer"] for row in vqa_rows(24))
    assert list(data.task.labels) == sorted(counts, key=lambda answer: (-counts[answer], answer))
    assert data.task.labels == ("no", "black", "blue", "green", "red", "yes")
    assert (data.task.kind, data.task.default_label, data.task.distribution) == (SOFT, None, ())
    assert data.swap == ["image", "question"]
    assert vqa2("validate", path=str(folder)).task.labels == data.task.labels
    assert vqa2(path=str(folder), answers=2).task.labels == ("no", "black")


def test_gold_says_what_each_answer_is_worth(folder: Path) -> None:
    pool = vqa2(path=str(folder)).pool
    assert [e.uid for e in pool][:2] == ["vqa2/validation/100000", "vqa2/validation/100001"]
    assert golds(pool)[:2] == [{"dark red": 0.6, "red": 1.0, "white": 0.3}, {"maybe": 0.3, "yes": 1.0}]
    assert list(golds(pool)[0]) == ["dark red", "red", "white"]
    assert dict(pool[1].meta) == {"answer_type": "yes/no"}
    assert list(pool.column("cluster")) == [e.parts["image"].key[:16] for e in pool]


def test_training_questions_without_a_label_are_left_out_and_evaluated_ones_stay(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        data = vqa2(path=str(folder), answers=2)  # no and black
    assert len(data.train_examples) == 24
    assert all({"no", "black"} & gold.keys() for gold in golds(data.train_examples))
    assert (len(data.pool), data.counts.hopeless) == (24, {"not_in_labels": 12})
    assert "24 training questions are left out: no answer is a label." in caplog.text
    assert "no answer to 12 evaluated questions is a label" in caplog.text


def test_labels_from_a_file_or_from_a_model(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"id2label": {"1": "Yes.", "0": "no", "2": "Red"}}))
    data = vqa2("validate", path=str(folder / "validation.parquet"), answers=str(tmp_path / "config.json"))
    assert data.task.labels == ("no", "Yes.", "Red")
    assert golds(data.pool)[:2] == [{"Red": 1.0, "dark red": 0.6, "white": 0.3}, {"Yes.": 1.0, "maybe": 0.3}]
    trained = vqa2(path=str(folder), answers=str(tmp_path / "config.json"))
    assert trained.task.labels == ("no", "Yes.", "Red")
    assert len(trained.train_examples) == 30


def test_without_the_training_split_the_answers_of_the_model_are_asked_for(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "validation.parquet").symlink_to(folder / "validation.parquet")
    hint = "answers RUN/checkpoints/backbone/config.json"
    for where in ({"path": str(tmp_path)}, {"path": str(folder / "validation.parquet")}, {}):
        with refused(DataError, "answers 6", hint):
            vqa2("validate", **where)
    with refused(SettingError, "answers 0", 1):
        vqa2(path=str(folder), answers=0)


def test_settings_of_labels_are_not_those_of_answers(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "answers.txt").write_text("left\nright\n")
    with refused(DataError, "vqa2", "answers"):
        vqa2(path=str(folder), answers=str(tmp_path / "answers.txt"))


def test_counterfactuals_need_a_class_of_their_own(folder: Path, tmp_path: Path) -> None:
    with refused(SettingError, "augment counterfactual", "vqa2", "default_label", "'(unrelated)'"):
        vqa2(path=str(folder), augment="counterfactual")
    data = vqa2(path=str(folder), augment="counterfactual", default_label="(unrelated)")
    assert data.task.labels[-1] == data.task.default_label == "(unrelated)"
    assert len(data.task.labels) == 7
    trained = data.training_set()
    assert len(trained) == 2 * 48
    base, added = trained[0], trained[48]
    assert json.loads(added.label) == {"(unrelated)": 1.0}
    assert added.parts["question"] == base.parts["question"]
    assert added.parts["image"] != base.parts["image"]
    (tmp_path / "config.json").write_text(json.dumps({"id2label": dict(enumerate(data.task.labels))}))
    again = vqa2("validate", path=str(folder), answers=str(tmp_path / "config.json"), default_label="(unrelated)")
    assert again.task.labels == data.task.labels
    assert again.default_label == again.task.default_label == "(unrelated)"


def test_an_answer_that_people_gave_may_be_the_default_label(folder: Path) -> None:
    data = vqa2(path=str(folder), default_label="no")
    assert (data.task.labels[0], len(data.task.labels), data.task.default_label) == ("no", 6, "no")


def test_rows_without_answers(tmp_path: Path) -> None:
    rows = vqa_rows(6)
    for row, given in zip(rows, (None, [], [None] * 10, people("yes")), strict=False):
        row["answers"] = given
    rows[1]["multiple_choice_answer"] = rows[2]["multiple_choice_answer"] = None
    write_parquet(tmp_path / "train.parquet", rows[::-1])
    write_parquet(tmp_path / "validation.parquet", rows[::-1])
    data = vqa2(path=str(tmp_path), validate_on_train=True)
    assert data.counts.no_gold == 2
    assert {"red": 1.0} in golds(data.pool)  # the most frequent answer, where the ten are absent
    assert {"yes": 1.0} in golds(data.pool)


@pytest.mark.parametrize(
    ("wrong", "facts"),
    [
        ({"answers": "yes"}, ["'answers'", "'yes'"]),
        ({"answers": [{"text": "yes"}]}, ["'answers'", "[{'text': 'yes'}]"]),
        ({"answers": [["yes"]]}, ["'answers'", "['yes']"]),
        ({"answers": None, "multiple_choice_answer": True}, ["'multiple_choice_answer'", "True"]),
    ],
)
def test_answers_of_another_kind_are_refused(tmp_path: Path, wrong: dict[str, Any], facts: list[str]) -> None:
    (tmp_path / "a.png").write_bytes(vqa_rows(1)[0]["image"]["bytes"])
    row = {"image": "a.png", "question": "q", "question_id": 1, "answer_type": "other"} | wrong
    (tmp_path / "dev.jsonl").write_text(json.dumps(row) + "\n")
    answers = tmp_path / "answers.txt"
    answers.write_text("yes\nno\n")
    with refused(DataError, "dev.jsonl, row 1", *facts):
        vqa2("validate", path=str(tmp_path), answers=str(answers))


def test_a_column_that_is_missing(folder: Path, tmp_path: Path) -> None:
    rows = [{name: value for name, value in row.items() if name != "multiple_choice_answer"} for row in vqa_rows(2)]
    write_parquet(tmp_path / "train.parquet", rows)
    write_parquet(tmp_path / "validation.parquet", rows)
    same = {"path": str(tmp_path), "validate_on_train": True}
    with refused(DataError, "train.parquet, row 1", "'multiple_choice_answer'"):
        vqa2(**same)
    answers = tmp_path / "answers.txt"
    answers.write_text("yes\nred\n")
    assert golds(vqa2(**same, answers=str(answers)).pool)[0] == {"dark red": 0.6, "red": 1.0, "white": 0.3}


def test_the_schemas_of_both_repositories(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten texts in the one, ten objects in the other."""
    found = {}
    train, evaluated = vqa_rows(8), vqa_rows(4, first=50)
    for row in train:
        row["id_image"] = row.pop("image_id")
        row["answers"] = [person["answer"] for person in row["answers"]]
    for repository, split, rows in (
        ("Multimodal-Fatima/VQAv2_train", "train", train),
        ("lmms-lab/VQAv2", "validation", evaluated),
    ):
        found[repository, split] = datasets.Dataset.from_list(rows).cast_column("image", datasets.Image())
    monkeypatch.setattr(datasets, "load_dataset", lambda path, split, **_: found[path, split])
    data = vqa2(answers=3)
    assert data.task.labels == ("no", "black", "blue")
    assert (len(data.pool), len(data.train_examples)) == (8, 10)
    assert golds(data.pool)[0] == {"dark green": 0.6, "green": 1.0, "white": 0.3}
    assert data.pool[0].parts["image"].read() == evaluated[0]["image"]["bytes"]


def test_partners_show_another_picture_and_ask_another_question(folder: Path) -> None:
    pool = vqa2(path=str(folder)).pool
    for part in ("image", "question"):
        found = made(Swap(part, None, draws=1), pool)
        assert len(found) == len(pool)
        for changed in found:
            example, partner = pool[changed.position], pool[changed.partner]
            assert all(partner.parts[p] != example.parts[p] for p in ("image", "question"))
            assert changed.example.label == example.label


def test_soft_targets(folder: Path) -> None:
    data = vqa2(path=str(folder))
    collate = Collate(lambda examples: {}, data.task)
    batch = collate(([0, 1], [data.pool[0], data.pool[1]]))
    assert batch["labels"].dtype == torch.float32
    labels = list(data.task.labels)
    expected = torch.zeros(2, 6)
    expected[0, labels.index("red")], expected[1, labels.index("yes")] = 1.0, 1.0
    assert torch.equal(batch["labels"], expected)  # dark red and white are no labels
    other = Collate(lambda examples: {}, replace(data.task, labels=("white", "dark red"), default_label=None))
    assert torch.equal(other(([0], [data.pool[0]]))["labels"], torch.tensor([[0.3, 0.6]]))


def test_listed_answers_gain_a_default_label(folder: Path, tmp_path: Path) -> None:
    """Of questions with one right answer as well, such as those of easy-VQA."""
    (tmp_path / "answers.txt").write_text("yes\nno\nred\nblue\ngreen\nblack\n")
    settings = {"name": "own", "parts": CONFIG["parts"], "label": "multiple_choice_answer", "path": str(folder)}
    settings |= {"answers": str(tmp_path / "answers.txt"), "augment": "counterfactual"}
    with refused(SettingError, "augment counterfactual", "own", "default_label", "'(unrelated)'"):
        PairedImages(**settings).setup("fit")
    data = PairedImages(**settings, default_label="(unrelated)")
    data.setup("fit")
    assert data.task.labels == ("yes", "no", "red", "blue", "green", "black", "(unrelated)")
    assert data.training_set()[48].label == data.default_label == "(unrelated)"
    assert PairedImages(**settings, default_label="no").task.labels[-1] == "black"
