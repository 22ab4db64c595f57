"""Models are not measured on examples that they were trained on: files in another order, folds, further training."""

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from heedful.cli import command
from heedful.lightning_modules.learned import FILE
from heedful.records import DataError
from heedful.records.rows import read_rows

from commands import results_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

SHORT = ["--model.max_length", 64, "--model.learning_rate", 0.003, "--model.max_unknown", 1]
SHORT += ["--trainer.max_epochs", 1, "--attentiveness.draws", 1, "--data.batch_size", 16]
FOLDS = ["--data", "planted", "--data.n_train", 80, "--data.folds", 4]
OWN = """class_path: PairedText
init_args:
  name: own
  parts: {premise: premise, hypothesis: hypothesis}
  labels: {entailment: [], neutral: [], contradiction: []}
  default_label: neutral
"""


def write(folder: Path, rows: list[dict[str, str]]) -> Path:
    folder.mkdir()
    (folder / "train.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A run that holds out 20 of 100 pairs; next to it, the pairs in another order, and the pairs with blanks."""
    folder = tmp_path_factory.mktemp("own")
    labels = ("entailment", "neutral", "contradiction")
    rows = [{"premise": f"the man {i}", "hypothesis": f"a man {i}", "label": labels[i % 3]} for i in range(100)]
    write(folder / "pairs", rows)
    random.Random(0).shuffle(rows)
    write(folder / "shuffled", rows)
    write(folder / "blanks", [row | {"premise": f"{row['premise']} "} for row in rows])
    (folder / "own.yaml").write_text(OWN)
    data = ["--data", folder / "own.yaml", "--data.path", folder / "pairs", "--data.hold_out", 20]
    run(command.train, *data, "--model.backbone", tiny_bert, *SHORT, "--output", folder / "run")
    return folder


@pytest.fixture(scope="module")
def fold(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A run that holds out the first of four folds."""
    folder = tmp_path_factory.mktemp("fold") / "run"
    run(command.train, *FOLDS, "--data.fold", 0, "--model.backbone", tiny_bert, *SHORT, "--output", folder)
    return folder


def evaluated(own: Path, name: str, *argv: object) -> Path:
    run(command.evaluate, "--checkpoint", own / "run", *argv, "--output", own / name)
    return own / name


def test_the_order_of_the_file_decides_nothing(own: Path) -> None:
    first = evaluated(own, "first")
    other = evaluated(own, "other", "--data.path", own / "shuffled")
    assert (first / "results.json").read_bytes() == (other / "results.json").read_bytes()
    for path in (first / "rows").iterdir():
        assert path.read_bytes() == (other / "rows" / path.name).read_bytes()
    assert results_of(first)["counts"]["trained_on"] == 0
    blanks = evaluated(own, "blanks_too", "--data.path", own / "blanks")
    assert results_of(blanks)["counts"]["trained_on"] == 0
    contents = [set(read_rows(f / "rows" / "accuracy.parquet")[0]["content"].to_pylist()) for f in (first, blanks)]
    assert contents[0] == contents[1]


def test_training_does_not_depend_on_the_order_either(own: Path, tiny_bert: Path) -> None:
    data = ["--data", own / "own.yaml", "--data.path", own / "shuffled", "--data.hold_out", 20]
    run(command.train, *data, "--model.backbone", tiny_bert, *SHORT, "--output", own / "again")
    saved = [torch.load(own / name / "checkpoints" / "best.ckpt", weights_only=True) for name in ("run", "again")]
    for name, weights in saved[0]["state_dict"].items():
        assert torch.equal(weights, saved[1]["state_dict"][name]), name
    assert results_of(own / "run") == results_of(own / "again")


def test_training_examples_among_the_evaluated_are_refused_or_counted(own: Path, capsys: pytest.CaptureFixture) -> None:
    with refused(DataError, "data.hold_out 50", "30 of these 50"):
        evaluated(own, "more", "--data.hold_out", 50)
    assert not (own / "more").exists()
    capsys.readouterr()
    whole = ["--data.hold_out", "null", "--data.splits", "{validation: train}", "--data.path", own / "blanks"]
    for name, seen, of, settings in (
        ("allowed", 30, 50, ["--data.hold_out", 50, "--data.validate_on_train", "true"]),
        ("whole", 80, 100, whole),
    ):
        assert results_of(evaluated(own, name, *settings))["counts"]["trained_on"] == seen
        assert f"{seen} of {of} examples were trained on." in capsys.readouterr().out


def test_another_fold_is_refused_by_name(fold: Path, tmp_path: Path) -> None:
    with refused(DataError, "data.folds 4 data.fold 1", "20 of these 20"):
        run(command.evaluate, "--checkpoint", fold, "--data.fold", 1)
    exported = ["--model", fold / "checkpoints" / "backbone", "--model.max_length", 64]
    with refused(DataError, "data.fold 1", "model ", "20 of these 20"):
        run(command.evaluate, *exported, *FOLDS, "--data.fold", 1, "--output", tmp_path / "exported")


def test_a_model_that_goes_on_learning_remembers(fold: Path, tmp_path: Path) -> None:
    more = ["--init_from", fold, "--trainer.max_epochs", 1, "--attentiveness.draws", 1]
    with refused(DataError, "data.fold 1", "20 of these 20"):
        run(command.train, *more, *FOLDS, "--data.fold", 1, "--output", tmp_path / "other")
    run(command.train, *more, "--data.n_train", 32, "--data.grammar_seed", 7, "--output", tmp_path / "on")
    with (
        np.load(fold / "checkpoints" / "backbone" / FILE) as before,
        np.load(tmp_path / "on" / "checkpoints" / "backbone" / FILE) as after,
    ):
        assert len(before["keys"]) == 60
        assert len(after["keys"]) == 60 + 32
        assert set(before["keys"]) < set(after["keys"])
    with refused(DataError, "data.fold 1", "20 of these 20"):
        run(command.evaluate, "--checkpoint", tmp_path / "on", *FOLDS, "--data.fold", 1)


def test_a_model_with_unknown_training_examples_is_not_measured_on_held_out_ones(
    fold: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    exported = shutil.copytree(fold / "checkpoints" / "backbone", tmp_path / "exported")
    (exported / FILE).unlink()
    model = ["--model", exported, "--model.max_length", 64, "--attentiveness.draws", 1, *FOLDS[:4]]
    with refused(DataError, "data.fold 1", "unknown training examples"):
        run(command.evaluate, *model, *FOLDS[4:], "--data.fold", 1)
    with caplog.at_level("INFO"):
        run(command.evaluate, *model, "--output", tmp_path / "same")
    assert "has unknown training examples" in caplog.text
    assert "trained_on" not in results_of(tmp_path / "same")["counts"]
