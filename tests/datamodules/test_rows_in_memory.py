"""Data of each kind from rows in memory: what files give, and the refusals of files."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from datasets import Dataset, DatasetDict

from heedful.datamodules import (
    Msgs,
    NaturalLogic,
    PairedData,
    PairedImages,
    PairedTables,
    PairedText,
    Reading,
    VisualQuestions,
)
from heedful.datamodules.base.inoculation import Inoculation
from heedful.datamodules.base.mixture import Mixture
from heedful.datamodules.sources.source import Hub
from heedful.records import DataError, HeedfulError, SettingError

from drawn_pictures import write_nlvr2, write_vqa
from refusals import refused

ROOT = Path(__file__).parents[2]
NLI: dict[str, Any] = {
    "name": "own",
    "parts": {"premise": "premise", "hypothesis": "hypothesis"},
    "labels": {"entailment": [0], "neutral": [1], "contradiction": [2]},
    "default_label": "neutral",
    "groups": ["premise"],
}
KINDS: dict[str, type[PairedText]] = {
    kind.__name__: kind
    for kind in (Msgs, NaturalLogic, PairedImages, PairedTables, PairedText, Reading, VisualQuestions)
}


def rows(n: int, start: int = 0) -> list[dict[str, Any]]:
    numbers = range(start, start + n)
    return [{"premise": f"p {i // 2}", "hypothesis": f"h {i}", "label": i % 3, "kind": "ab"[i % 2]} for i in numbers]


def configured(name: str, path: Any, **others: Any) -> PairedText:
    """The data of a config, from files or from memory."""
    config = yaml.safe_load((ROOT / "configs" / "data" / f"{name}.yaml").read_text())
    arguments = config["init_args"] | {"path": path} | others
    arguments["hub"] = Hub(**arguments["hub"]) if arguments.get("hub") else None
    return KINDS[config["class_path"].rpartition(".")[2]](**arguments)


def set_up(data: PairedData, stage: str = "fit") -> PairedData:
    data.setup(stage)
    return data


def everything(data: PairedText) -> list[Any]:
    """All that a run sees of its examples, but for where a picture lies."""
    found: list[Any] = [data.fingerprints(), data.counts]
    for examples in (data.trained, data.pool):
        pictures = [f"parts.{part}" for part, kind in examples.kinds.items() if kind == "picture"]
        found.append(examples.table.drop_columns(pictures).to_pydict())
        found.append([[picture.key for picture in examples.column(name)] for name in pictures])
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, of_split in (("train", rows(40)), ("dev", rows(20, 100))):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in of_split))
    return tmp_path


@pytest.mark.parametrize(
    "held",
    [
        {"train": pd.DataFrame(rows(40)), "dev": rows(20, 100)},
        {"dev": pa.Table.from_pylist(rows(20, 100)), "train": Dataset.from_list(rows(40))},
        DatasetDict(train=Dataset.from_list(rows(40)), dev=Dataset.from_list(rows(20, 100)[::-1])),
    ],
)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"hold_out": 6},
        {"folds": 4, "fold": 1},
        {"where": {"kind": "a"}, "slices": ["kind"]},
        {"mixture": [Mixture(0.1, "dev", name="other")]},
        {"splits": {"validation": ["dev", "train"]}, "validate_on_train": True},
        {"max_train": 5, "max_validation": 7, "augment": "counterfactual"},
    ],
)
def test_splits_in_memory_give_the_examples_of_a_folder(
    folder: Path, held: Mapping[str, Any], settings: dict[str, Any]
) -> None:
    whole = everything(set_up(PairedText(**NLI, path=held, **settings)))
    assert whole == everything(set_up(PairedText(**NLI, path=str(folder), **settings)))


@pytest.mark.parametrize("settings", [{"hold_out": 6}, {"folds": 4, "fold": 1}, {"validate_on_train": True}])
def test_one_frame_is_like_one_file(folder: Path, settings: dict[str, Any]) -> None:
    whole = everything(set_up(PairedText(**NLI, path=pd.DataFrame(rows(40)), **settings)))
    assert whole == everything(set_up(PairedText(**NLI, path=str(folder / "train.jsonl"), **settings)))


def test_one_frame_is_evaluated_on_and_not_trained_on_as_well(folder: Path) -> None:
    data = set_up(PairedText(**NLI, path=pd.DataFrame(rows(40))), "validate")
    assert len(data.pool) == 40
    with refused(DataError, "data.path", "hold_out N", "validate_on_train"):
        set_up(PairedText(**NLI, path=pd.DataFrame(rows(40))))
    with refused(DataError, "splits names a and b"):
        set_up(PairedText(**NLI, path=pd.DataFrame(rows(40)), splits={"validation": ["a", "b"]}), "validate")


@pytest.mark.parametrize("copied", [lambda frame: frame, pd.DataFrame.copy, lambda frame: frame.to_dict("records")])
def test_a_copy_of_the_training_set_is_not_validated_on(copied: Callable[[Any], Any]) -> None:
    frame = pd.DataFrame(rows(9))
    path = {"train": frame, "validation": copied(frame)}
    with refused(DataError, "'validation' and 'train'"):
        set_up(PairedText(**NLI, path=path))
    assert len(set_up(PairedText(**NLI, path=path, validate_on_train=True)).pool) == 9


def test_two_mixtures_from_copies_share_no_text() -> None:
    path = {"train": rows(40), "dev": rows(20, 100), "a": rows(8, 200), "b": pd.DataFrame(rows(8, 200))}
    settings = {"splits": {"validation": "dev"}, "mixture": [Mixture(0.1, "a"), Mixture(0.1, "b")]}
    data = set_up(PairedText(**NLI, path=path, **settings))
    mixed = [e.parts["hypothesis"] for e in data.trained if not e.uid.startswith("own/train/")]
    assert len(mixed) == len(set(mixed)) == 8


@pytest.mark.parametrize(
    ("change", "error", "facts"),
    [
        ({"label": 7}, DataError, ("the frame (dev), row 3", "7")),
        ({"premise": ""}, DataError, ("the frame (dev), row 3", "'premise'")),
    ],
)
def test_a_mistake_is_named_by_its_split_and_row(
    change: dict[str, Any], error: type[HeedfulError], facts: Sequence[str]
) -> None:
    held = rows(6, 100)
    held[2] |= change
    with refused(error, *facts):
        set_up(PairedText(**NLI, path={"train": pd.DataFrame(rows(6)), "dev": pd.DataFrame(held)}))


def test_other_settings_name_files() -> None:
    frame = pd.DataFrame(rows(3))
    for setting, make in (
        ("inoculation.path", lambda: Inoculation(frame)),
        ("mixture.path", lambda: Mixture(0.1, path=frame)),
    ):
        with refused(SettingError, setting.rpartition(".")[2], "DataFrame"):
            make()


# other kinds of data


@pytest.mark.parametrize("kind", ["infotabs", "nlixy"])
def test_data_of_several_files_are_not_read_from_memory(kind: str) -> None:
    with refused(SettingError, "path", "DataFrame", "folder"):
        set_up(configured(kind, pd.DataFrame(rows(3))), "validate")


@pytest.mark.slow
def test_msgs(shared_data: Path, tmp_path: Path) -> None:
    task = "main_verb_lexical_content_the"
    (tmp_path / task).mkdir()
    held = {}
    for name in ("train", "test", "control_train"):
        file = next((shared_data / "msgs" / task).glob(f"{name}.jsonl*"))
        held[name] = pd.read_json(file, lines=True, nrows=300)
        held[name].to_json(tmp_path / task / f"{name}.jsonl", orient="records", lines=True)
    settings = {"task": task, "control": "1L1S"}
    of_files = everything(set_up(configured("msgs", str(tmp_path), **settings)))
    assert everything(set_up(configured("msgs", held, **settings))) == of_files
    as_floats = {name: frame.astype({"linguistic_feature_label": float}) for name, frame in held.items()}
    assert everything(set_up(configured("msgs", as_floats, **settings))) == of_files
    few = held["test"][["sentence", "linguistic_feature_label", "condition"]]
    with refused(DataError, "the frame (test), row 1", "'paradigmID'"):
        set_up(configured("msgs", {"train": held["train"], "test": few}, task=task), "validate")


def test_questions_about_texts(tmp_path: Path) -> None:
    answers: list[dict[str, list[Any]]] = [{"text": ["Rome"], "answer_start": [0]}, {"text": [], "answer_start": []}]
    questions = [
        {
            "id": str(i),
            "title": f"t{i % 3}",
            "context": f"Rome is hot {i}.",
            "question": "What?",
            "answers": answers[i % 2],
        }
        for i in range(12)
    ]
    file = tmp_path / "all.parquet"
    pq.write_table(pa.Table.from_pylist(questions), file)
    settings = {"folds": 3, "fold": 0}
    of_file = everything(set_up(configured("squad2", str(file), **settings)))
    frame = pd.read_parquet(file)  # lists come back as arrays
    for held in (questions, frame, Dataset.from_pandas(frame), pa.Table.from_pylist(questions)):
        assert everything(set_up(configured("squad2", held, **settings))) == of_file


def test_articles_of_squad(shared_data: Path) -> None:
    file = shared_data / "squad2" / "dev-v2.0_half.json"
    articles = json.loads(file.read_text())["data"][:2]
    settings = {"folds": 2, "fold": 0}
    of_list = set_up(configured("squad2", articles, **settings))
    of_frame = set_up(configured("squad2", pd.DataFrame(articles), **settings))
    assert everything(of_list) == everything(of_frame)
    expected = sum(len(paragraph["qas"]) for article in articles for paragraph in article["paragraphs"])
    assert len(of_list.trained) + len(of_list.pool) == expected


def test_pictures(tmp_path: Path) -> None:
    vqa = write_vqa(tmp_path / "vqa")
    held = {name: pd.read_parquet(vqa / f"{name}.parquet") for name in ("train", "validation")}
    of_files = set_up(configured("vqa2", str(vqa), answers=4))
    of_frames = set_up(configured("vqa2", held, answers=4))
    assert (
        of_frames.task.labels
        == of_files.task.labels
        == set_up(configured("vqa2", held, answers=4), "validate").task.labels
    )
    assert everything(of_frames) == everything(of_files)
    with refused(DataError, "answers 4"):
        set_up(configured("vqa2", held["validation"], answers=4), "validate")
    nlvr2 = write_nlvr2(tmp_path / "nlvr2")
    tables = {name: pq.read_table(nlvr2 / f"{name}.parquet") for name in ("train", "validation")}
    assert everything(set_up(configured("nlvr2", tables))) == everything(set_up(configured("nlvr2", str(nlvr2))))


def test_pictures_that_rows_name_lie_in_the_folder_of_pictures(
    tmp_path: Path, write_squares: Callable[..., Path]
) -> None:
    folder = write_squares(tmp_path / "squares")
    (tmp_path / "answers.txt").write_text("red\nblue\n")
    rows_of = [{"question": "what color ?", "image": "missing.png", "answer": "red"}]
    settings: dict[str, Any] = {"parts": {"image": "image", "question": "question"}, "label": "answer"}
    with refused(SettingError, "the list, row 1", "missing.png", "image_folder"):
        set_up(PairedImages("own", path=rows_of, answers=str(tmp_path / "answers.txt"), **settings), "validate")
    with refused(DataError, "the list, row 1", "missing.png"):
        others = {"answers": str(tmp_path / "answers.txt"), "image_folder": str(folder)}
        set_up(PairedImages("own", path=rows_of, **others, **settings), "validate")
    with refused(DataError, "answers none.txt"):
        PairedImages("own", path=rows_of, answers="none.txt", **settings)


# real data


@pytest.mark.slow
def test_mnli(shared_data: Path, tmp_path: Path) -> None:
    frames = {}
    for name in ("train", "validation_matched"):
        lines = (shared_data / "mnli" / f"{name}.jsonl").read_text().splitlines(keepends=True)[:600]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))
        frames[name] = pd.read_json(tmp_path / f"{name}.jsonl", lines=True)
    for settings in ({"max_train": 200, "max_validation": 100}, {"hold_out": 100}):
        of_files = everything(set_up(configured("mnli", str(tmp_path), **settings)))
        assert everything(set_up(configured("mnli", frames, **settings))) == of_files


@pytest.mark.slow
def test_all_of_mnli_in_every_container(shared_data: Path) -> None:
    folder = shared_data / "mnli"
    names = ("train", "validation_matched")
    of_files = everything(set_up(configured("mnli", str(folder))))
    listed = {name: [json.loads(line) for line in (folder / f"{name}.jsonl").open()] for name in names}
    for container in (list, pd.DataFrame, pa.Table.from_pylist, Dataset.from_list):
        assert everything(set_up(configured("mnli", {name: container(listed[name]) for name in names}))) == of_files
