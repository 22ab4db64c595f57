"""ViLT from the command line: it learns a planted task of one picture, and reads two; runs go on and are evaluated."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.cli.guard import guarded
from heedful.records.rows import read_rows, select

from commands import results_of
from commands import run as run_command
from refusals import refused_output

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

COLORS = ("red", "green", "blue")
LEARNING = ["--model.learning_rate", "0.006", "--data.batch_size", "16", "--trainer.max_epochs", "6"]
LEARNING += ["--trainer.check_val_every_n_epoch", "6"]


def run(main: Callable[[], None], *argv: str | Path) -> None:
    run_command(main, *argv, "--attentiveness.draws", "2")


def square(path: Path, color: int, rng: np.random.Generator) -> str:
    """Draws a square of some shade of a color; returns the name of its file."""
    shade = rng.integers(0, 90, 3, dtype=np.uint8)
    shade[color] = rng.integers(160, 256)
    Image.fromarray(np.full((8, 8, 3), shade)).save(path)
    return path.name


@pytest.fixture(scope="module")
def squares(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Files like those of easy-VQA: "is it red?" of one square each, which takes picture and question to answer."""
    folder, rng = tmp_path_factory.mktemp("squares"), np.random.default_rng(0)
    for split, size in (("train", 240), ("test", 40)):
        (folder / split / "images").mkdir(parents=True)
        rows = []
        for i in range(size):
            color, answer = int(rng.integers(3)), i % 2
            asked = color if answer else (color + int(rng.integers(1, 3))) % 3
            square(folder / split / "images" / f"{i}.png", color, rng)
            rows.append([f"is it {COLORS[asked]}?", ("no", "yes")[answer], i])
        (folder / split / "questions.json").write_text(json.dumps(rows))
    (folder / "answers.txt").write_text("no\nyes\n")
    return ["--data", "easy_vqa", "--data.path", str(folder), "--data.eval_batch_size", "16"]


@pytest.fixture(scope="module")
def trained(squares: list[str], tiny_vilt: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run on the squares."""
    folder = tmp_path_factory.mktemp("runs") / "squares"
    run(train.main, *squares, "--model", "vilt", "--model.backbone", tiny_vilt, *LEARNING, "--output", folder)
    return folder


def test_it_learns_to_read_picture_and_question(trained: Path) -> None:
    found = results_of(trained)["metrics"]
    assert found["accuracy/easy_vqa"]["value"] >= 0.9
    assert found["accuracy/easy_vqa/majority"]["value"] == 0.5
    assert found["null/easy_vqa/flips"]["value"] == 0
    assert found["null/easy_vqa/max_change"]["value"] < 1e-5
    rows, _ = read_rows(trained / "rows" / "attentiveness.parquet")
    for part in ("image", "question"):
        swapped = select(rows, intervention="swap", part=part).to_pylist()
        base = {row["uid"]: row["y"] for row in select(rows, intervention="base").to_pylist()}
        changed = np.mean([row["y2"] != base[row["uid"]] for row in swapped])
        assert found[f"attentiveness/easy_vqa/{part}"]["value"] == pytest.approx(changed)
        assert changed > 0.3


def test_an_evaluation_repeats_the_numbers_of_the_run(squares: list[str], trained: Path, tmp_path: Path) -> None:
    """Of its checkpoint, and of what it exported."""
    run(evaluate.main, "--checkpoint", trained / "checkpoints" / "best.ckpt", "--output", tmp_path / "checkpoint")
    backbone = trained / "checkpoints" / "backbone"
    run(evaluate.main, *squares, "--model", "vilt", "--model.backbone", backbone, "--output", tmp_path / "exported")
    assert (tmp_path / "checkpoint" / "results.json").read_bytes() == (trained / "results.json").read_bytes()
    assert results_of(tmp_path / "exported")["metrics"] == results_of(trained)["metrics"]


def test_each_part_alone_says_something_else(trained: Path, tmp_path: Path) -> None:
    checkpoint = trained / "checkpoints" / "best.ckpt"
    naive = ["--evaluations", "naive_partial", "--output", tmp_path / "naive"]
    run_command(evaluate.main, "--checkpoint", checkpoint, *naive)
    found = results_of(tmp_path / "naive")["metrics"]
    for part in ("image", "question"):
        assert 0.1 < found[f"naive_partial/easy_vqa/{part}"]["value"] < 0.9


def test_learning_goes_on_with_other_data(squares: list[str], trained: Path, tmp_path: Path) -> None:
    start = ["--init_from", trained, "--model.learning_rate", "1e-6", "--trainer.max_epochs", "1"]
    run(train.main, *squares, *start, "--data.max_train", "16", "--output", tmp_path / "more")
    assert results_of(tmp_path / "more")["metrics"]["accuracy/easy_vqa"]["value"] >= 0.9  # it knows what it had learned
    run(train.main, *squares, *start, "--data.max_train", "16", "--partial", "question", "--output", tmp_path / "blind")
    assert results_of(tmp_path / "blind")["metrics"]["accuracy/easy_vqa"]["value"] < 0.8


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Files like those of NLVR2: a sentence about two squares."""
    folder, rng = tmp_path_factory.mktemp("sides"), np.random.default_rng(0)
    for split, size in (("train", 32), ("dev", 20)):
        rows = []
        for i in range(size):
            colors = [int(color) for color in rng.integers(3, size=2)]
            said = int(rng.integers(3))
            row = {"identifier": f"{split}-{i}", "sentence": f"both are {COLORS[said]}."}
            for side, color in zip(("left", "right"), colors, strict=True):
                row[side] = square(folder / f"{split}-{i}-{side}.png", color, rng)
            rows.append(row | {"label": str(colors == [said, said])})
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = {
        "name": "sides",
        "parts": {"left": "left", "right": "right", "sentence": "sentence"},
        "pictures": ["left", "right"],
        "label": "label",
        "labels": {"False": [], "True": []},
        "default_label": "False",
        "uid": "identifier",
        "splits": {"train": "train", "validation": "dev"},
        "path": str(folder),
    }
    config = folder / "sides.yaml"
    config.write_text(yaml.safe_dump({"class_path": "heedful.datamodules.PairedImages", "init_args": settings}))
    return ["--data", str(config), "--data.eval_batch_size", "8"]


@pytest.mark.parametrize("partial", [None, "sentence"])
def test_two_pictures_and_each_part_of_them(
    sides: list[str], tiny_vilt: Path, tmp_path: Path, partial: str | None
) -> None:
    argv = [*sides, "--model", "vilt", "--model.backbone", tiny_vilt, "--trainer.max_epochs", "1"]
    run(train.main, *argv, *(["--partial", partial] if partial else []), "--output", tmp_path / "run")
    found = results_of(tmp_path / "run")["metrics"]
    assert found["null/sides/flips"]["value"] == 0
    swapped = {name for name in found if name.startswith("attentiveness/sides/") and name.count("/") == 2}
    assert swapped == (set() if partial else {"attentiveness/sides/left+right", "attentiveness/sides/sentence"})
    config = json.loads((tmp_path / "run" / "checkpoints" / "backbone" / "config.json").read_text())
    assert config["modality_type_vocab_size"] == (2 if partial == "sentence" else 3)
    again = ["--checkpoint", tmp_path / "run" / "checkpoints" / "best.ckpt", "--output", tmp_path / "again"]
    (run_command if partial else run)(evaluate.main, *again)  # a part alone is not swapped
    assert (tmp_path / "again" / "results.json").read_bytes() == (tmp_path / "run" / "results.json").read_bytes()


def test_a_model_of_one_picture_does_not_answer_for_two(
    sides: list[str], trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backbone = trained / "checkpoints" / "backbone"
    argv = [*sides, "--model", "vilt", "--model.backbone", str(backbone), "--output", str(tmp_path / "run")]
    with pytest.raises(SystemExit):
        run(lambda words: guarded(lambda: evaluate.main(words)), *argv)
    refused_output(capsys.readouterr().err, "image and question", "left and right and sentence")
    assert not (tmp_path / "run").exists()
