"""What is held out stays held out: in a shuffled file, in another fold, and for a model that goes on learning."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
import torch

from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.lightning_modules.pretrained.trained_on import FILE
from heedful.records import DataError, read_json, write_json
from heedful.records.rows import read_rows

from commands import results_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

SHORT = [
    "--model.max_length",
    64,
    "--model.learning_rate",
    0.003,
    "--trainer.max_epochs",
    1,
    "--attentiveness.draws",
    1,
]
SHORT += ["--model.max_unknown", 1, "--data.batch_size", 16]
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
    """A run that holds out 20 of 100 pairs without ids, and beside it these pairs in another order, with blanks."""
    folder = tmp_path_factory.mktemp("own")
    labels = ("entailment", "neutral", "contradiction")
    rows = [{"premise": f"the man {i}", "hypothesis": f"a man {i}", "label": labels[i % 3]} for i in range(100)]
    write(folder / "pairs", rows)
    random.Random(0).shuffle(rows)
    write(folder / "shuffled", rows)
    write(folder / "blanks", [row | {"premise": f"{row['premise']} "} for row in rows])
    (folder / "own.yaml").write_text(OWN)
    data = ["--data", folder / "own.yaml", "--data.path", folder / "pairs", "--data.hold_out", 20]
    run(train.main, *data, "--model.backbone", tiny_bert, *SHORT, "--output", folder / "run")
    return folder


@pytest.fixture(scope="module")
def fold(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """A run that holds out the first of four folds."""
    folder = tmp_path_factory.mktemp("fold") / "run"
    run(train.main, *FOLDS, "--data.fold", 0, "--model.backbone", tiny_bert, *SHORT, "--output", folder)
    return folder


def evaluated(own: Path, name: str, *argv: object) -> Path:
    run(evaluate.main, "--checkpoint", own / "run", *argv, "--output", own / name)
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
    run(train.main, *data, "--model.backbone", tiny_bert, *SHORT, "--output", own / "again")
    saved = [torch.load(own / name / "checkpoints" / "best.ckpt", weights_only=True) for name in ("run", "again")]
    for name, weights in saved[0]["state_dict"].items():
        assert torch.equal(weights, saved[1]["state_dict"][name]), name
    assert results_of(own / "run") == results_of(own / "again")


def test_more_than_was_held_out_is_refused_by_name_or_counted(own: Path, capsys: pytest.CaptureFixture) -> None:
    with refused(DataError, "data.hold_out 50", "30 of these 50"):
        evaluated(own, "more", "--data.hold_out", 50)
    assert not (own / "more").exists()
    capsys.readouterr()
    asked = evaluated(own, "asked", "--data.hold_out", 50, "--data.validate_on_train", "true")
    assert results_of(asked)["counts"]["trained_on"] == 30
    assert "30 of 50 examples were trained on." in capsys.readouterr().out


def test_a_split_that_was_trained_on_is_measured_and_said(own: Path, capsys: pytest.CaptureFixture) -> None:
    whole = ["--data.hold_out", "null", "--data.splits", "{validation: train}", "--data.path", own / "blanks"]
    found = evaluated(own, "whole", *whole)
    assert results_of(found)["counts"]["trained_on"] == 80
    assert "80 of 100 examples were trained on." in capsys.readouterr().out


def test_another_fold_is_refused_by_name(fold: Path, tmp_path: Path) -> None:
    with refused(DataError, "data.folds 4 data.fold 1", "20 of these 20"):
        run(evaluate.main, "--checkpoint", fold, "--data.fold", 1)
    exported = ["--model", fold / "checkpoints" / "backbone", "--model.max_length", 64]
    with refused(DataError, "data.fold 1", "model ", "20 of these 20"):
        run(evaluate.main, *exported, *FOLDS, "--data.fold", 1, "--output", tmp_path / "exported")


def test_a_model_that_goes_on_learning_remembers(fold: Path, tmp_path: Path) -> None:
    more = ["--init_from", fold, "--trainer.max_epochs", 1, "--attentiveness.draws", 1]
    with refused(DataError, "data.fold 1", "20 of these 20"):
        run(train.main, *more, *FOLDS, "--data.fold", 1, "--output", tmp_path / "other")
    run(train.main, *more, "--data.n_train", 32, "--data.grammar_seed", 7, "--output", tmp_path / "on")
    with (
        np.load(fold / "checkpoints" / "backbone" / FILE) as before,
        np.load(tmp_path / "on" / "checkpoints" / "backbone" / FILE) as after,
    ):
        assert len(before["keys"]) == 60
        assert len(after["keys"]) == 60 + 32
        assert set(before["keys"]) < set(after["keys"])
    with refused(DataError, "data.fold 1", "20 of these 20"):
        run(evaluate.main, "--checkpoint", tmp_path / "on", *FOLDS, "--data.fold", 1)


def test_a_checkpoint_that_does_not_say_it_holds_out_nothing_but_what_it_validated_on(
    fold: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As those of earlier versions, which split otherwise."""
    copy = tmp_path / "run"
    copy.mkdir()
    for name in ("config.yaml", "run.json", "results.json"):
        (copy / name).write_bytes((fold / name).read_bytes())
    (copy / "checkpoints" / "backbone").mkdir(parents=True)
    for path in (fold / "checkpoints" / "backbone").iterdir():
        if path.name != FILE:
            (copy / "checkpoints" / "backbone" / path.name).write_bytes(path.read_bytes())
    saved = torch.load(fold / "checkpoints" / "best.ckpt", weights_only=True)
    del saved["trained_on"]
    torch.save(saved, copy / "checkpoints" / "best.ckpt")
    about = read_json(copy / "run.json")
    write_json(copy / "run.json", {key: about[key] for key in about if key != "files"} | {"schema": 6})
    with refused(DataError, "data.fold 1", "unknown training examples"):
        run(evaluate.main, "--checkpoint", copy, "--data.fold", 1)
    with caplog.at_level("INFO"):
        run(evaluate.main, "--checkpoint", copy, "--attentiveness.draws", 1, "--output", tmp_path / "same")
    assert "has unknown training examples" in caplog.text
    assert "trained_on" not in results_of(tmp_path / "same")["counts"]
