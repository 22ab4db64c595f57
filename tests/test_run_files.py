"""Whoever reads a run compares its files with those that it wrote, and says how far a run was that had not ended."""

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import torch
from pytorch_lightning import Callback, LightningModule, Trainer
from safetensors.torch import load_file, save_file

from heedful.cli import command
from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.cli.model_forms import initialised
from heedful.cli.runs import continued
from heedful.lightning_modules.pretrained.weights import weights_hash
from heedful.records import read_json, write_json
from heedful.records.storage.claim import LOCK

from commands import results_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

EVALUATED = ["--model.max_length", "64", "--data.n_validation", "30", "--attentiveness.draws", "1"]
SMALL = [*EVALUATED, "--data.n_train", "96"]
EPOCHS = 2


@pytest.fixture(scope="module")
def argv(tiny_bert: Path) -> list[str | Path]:
    return ["--model.backbone", tiny_bert, "--model.learning_rate", "0.003", *SMALL, "--trainer.logger", "false"]


@pytest.fixture(scope="module")
def finished(argv: list[str | Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "finished"
    run(train.main, *argv, "--trainer.max_epochs", EPOCHS, "--output", folder)
    return folder


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run", ignore=shutil.ignore_patterns(LOCK)))


def rewrite_best(folder: Path) -> None:
    path = folder / "checkpoints" / "best.ckpt"
    saved = torch.load(path, weights_only=True)
    saved["state_dict"]["network.classifier.bias"] += 1
    torch.save(saved, path)


def permute_words(folder: Path) -> None:
    path = folder / "checkpoints" / "backbone" / "tokenizer.json"
    content = json.loads(path.read_text())
    words = [word for word in content["model"]["vocab"] if word.isalpha()]
    ids = [content["model"]["vocab"][word] for word in words]
    content["model"]["vocab"] |= dict(zip(words, [*ids[1:], ids[0]], strict=True))
    path.write_text(json.dumps(content))


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


def rewrite_weights(folder: Path) -> None:
    path = folder / "checkpoints" / "backbone" / "model.safetensors"
    weights = load_file(path)
    weights["classifier.bias"] += 1
    save_file(weights, path, {"format": "pt"})


BACKBONE = "checkpoints/backbone"
TAMPERED: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "tokenizer": (permute_words, "changed-run-file", "tokenizer.json"),
    "config": (
        edit(f"{BACKBONE}/config.json", '"layer_norm_eps": 1e-12', '"layer_norm_eps": 0.1'),
        "changed-run-file",
        "config.json",
    ),
    "weights": (rewrite_weights, "changed-run-file", "model.safetensors"),
    "half copied": (
        lambda f: (f / BACKBONE / "tokenizer_config.json").unlink(),
        "missing-run-file",
        "tokenizer_config.json",
    ),
    "no weights": (lambda f: (f / BACKBONE / "model.safetensors").unlink(), "missing-run-file", "model.safetensors"),
    "added": (lambda f: (f / BACKBONE / "added_tokens.json").write_text("{}"), "changed-run-file", "added_tokens.json"),
    "no description": (lambda f: (f / "run.json").unlink(), "missing-run-file", "run.json"),
}
OF_RUN: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "settings": (edit("config.yaml", "max_length: 64", "max_length: 32"), "changed-run-file", "config.yaml"),
    "checkpoint": (rewrite_best, "changed-run-file", "best.ckpt"),
}


def some(cases: Iterable[str], *first: str) -> list[Any]:
    """The cases, of which all but the first are marked slow."""
    return [pytest.param(case, marks=[pytest.mark.slow] * (case not in first)) for case in cases]


@pytest.mark.parametrize("case", some(TAMPERED | OF_RUN, "tokenizer", "settings", "checkpoint"))
def test_another_file_than_that_of_the_run_is_not_measured(copied: Path, case: str) -> None:
    change, *refusal = (TAMPERED | OF_RUN)[case]
    change(copied)
    with refused(*refusal):
        run(evaluate.main, "--checkpoint", copied)
    assert not (copied / "evaluations").exists()


@pytest.mark.parametrize("case", some(TAMPERED, "half copied", "added", "no description"))
def test_another_export_than_that_of_the_run_is_not_measured(copied: Path, tmp_path: Path, case: str) -> None:
    change, *refusal = TAMPERED[case]
    change(copied)
    with refused(*refusal):
        run(evaluate.main, "--model", copied / BACKBONE, *EVALUATED, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("case", some(TAMPERED, "tokenizer"))
def test_nothing_begins_with_another_export_than_that_of_the_run(copied: Path, tmp_path: Path, case: str) -> None:
    change, *refusal = TAMPERED[case]
    change(copied)
    with refused(*refusal):
        run(train.main, "--init_from", copied, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_settings_that_were_edited_are_read_by_nobody(copied: Path) -> None:
    edit("config.yaml", "learning_rate: 0.003", "learning_rate: 0.03")(copied)
    for take in (continued, initialised):
        with refused("changed-run-file", copied / "config.yaml"):
            take(["--resume" if take is continued else "--init_from", str(copied)])
    with refused("changed-run-file", copied / "config.yaml"):
        command.main(["matrix", str(copied)])


def test_a_copy_of_a_run_and_notes_beside_its_model_are_no_hindrance(copied: Path, finished: Path) -> None:
    (copied / BACKBONE / "NOTES.md").write_text("Mine.")
    run(evaluate.main, "--checkpoint", copied)
    (folder,) = (copied / "evaluations").iterdir()
    assert folder.name == "planted-validation"
    best = torch.load(finished / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
    assert results_of(folder)["weights"] == results_of(finished)["weights"] == weights_hash(best)
    assert results_of(folder)["unfinished"] is None


def test_an_export_has_the_weights_of_the_run(
    copied: Path, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(evaluate.main, "--model", copied / BACKBONE, *EVALUATED, "--output", tmp_path / "out")
    assert results_of(tmp_path / "out")["weights"] == results_of(finished)["weights"]
    command.main(["compare", str(finished), str(tmp_path / "out")])
    assert "Note: (1) and (2) are of the same weights." in capsys.readouterr().out


def end_in_the_second(self: Callback, trainer: Trainer, pl_module: LightningModule) -> None:
    """End a run as a kill does, when its second epoch begins."""
    if trainer.current_epoch == 1:
        raise MemoryError("killed")


@pytest.fixture(scope="module")
def killed(argv: list[str | Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "killed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heedful.callbacks.WordSheet.on_train_epoch_start", end_in_the_second)
        with pytest.raises(MemoryError):
            run(train.main, *argv, "--trainer.max_epochs", 4, "--output", folder)
    return folder


@pytest.fixture
def stopped(killed: Path, tmp_path: Path) -> Path:
    """The folder of a run that was killed in its second epoch."""
    return Path(shutil.copytree(killed, tmp_path / "run", ignore=shutil.ignore_patterns(LOCK, "evaluations")))


def test_a_run_that_had_not_ended_is_no_equal_of_one_that_had(
    killed: Path, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(evaluate.main, "--checkpoint", killed)
    assert "These numbers are of a run that had not ended: epoch 1 of 4, step 3." in capsys.readouterr().out
    (folder,) = (killed / "evaluations").iterdir()
    assert folder.name.startswith("planted-validation-unfinished-")
    assert results_of(folder)["unfinished"] == "epoch 1 of 4, step 3"
    command.main(["compare", str(finished), str(folder)])
    assert "The numbers of (2) are of a run that had not ended: epoch 1 of 4" in " ".join(
        capsys.readouterr().out.split()
    )
    command.main(["matrix", str(finished), str(folder)])
    assert "epoch 1 of 4, step 3" in " ".join(capsys.readouterr().out.split())


def test_the_plain_folder_is_left_to_the_end_of_the_run(stopped: Path) -> None:
    run(evaluate.main, "--checkpoint", stopped)
    write_json(stopped / "run.json", read_json(stopped / "run.json") | {"finished": "2026-01-01T00:00:00+00:00"})
    run(evaluate.main, "--checkpoint", stopped)
    names = sorted(path.name for path in (stopped / "evaluations").iterdir())
    assert names[0] == "planted-validation"
    assert len(names) == 2


def test_another_tokenizer_of_a_run_that_had_not_ended_is_not_measured(stopped: Path) -> None:
    permute_words(stopped)
    with refused("changed-run-file", stopped / BACKBONE / "tokenizer.json"):
        run(evaluate.main, "--checkpoint", stopped)


def test_a_checkpoint_of_another_run_is_neither_measured_nor_gone_on_with(stopped: Path) -> None:
    for name in ("best.ckpt", "last.ckpt"):
        path = stopped / "checkpoints" / name
        torch.save(torch.load(path, weights_only=True) | {"run": "of another"}, path)
    for main, flag in ((evaluate.main, "--checkpoint"), (train.main, "--resume")):
        with refused("other-checkpoint", "best.ckpt" if flag == "--checkpoint" else "last.ckpt", stopped):
            run(main, flag, stopped)
    assert not (stopped / "evaluations").exists()


def test_a_learning_rate_that_was_edited_is_not_gone_on_with(stopped: Path) -> None:
    edit("config.yaml", "learning_rate: 0.003", "learning_rate: 0.03")(stopped)
    for flags in (["--resume", stopped], ["--ckpt_path", stopped / "checkpoints" / "last.ckpt"]):
        with refused("changed-run-file", stopped / "config.yaml"):
            run(train.main, *flags)


def test_each_start_may_write_settings_of_its_own(stopped: Path) -> None:
    before = (stopped / "config.yaml").read_bytes()
    run(train.main, "--resume", stopped, "--trainer.max_epochs", 2)
    assert (stopped / "config.yaml").read_bytes() != before
    run(evaluate.main, "--checkpoint", stopped, "--evaluations", "accuracy")
    (stopped / "config.yaml").write_bytes(before)  # as after a kill just before the second was written
    continued(["--resume", str(stopped)])


@pytest.mark.parametrize(
    "name", some(["EMAWeightAveraging", "LearningRateFinder", "BatchSizeFinder"], "EMAWeightAveraging")
)
def test_a_callback_by_which_a_run_is_not_what_its_folder_says_is_refused(
    argv: list[str | Path], tmp_path: Path, name: str
) -> None:
    more = ["--trainer.callbacks.swa_lrs", 0.01] if name == "StochasticWeightAveraging" else []
    with refused("unfit-trainer", f"--trainer.callbacks {name} "):
        run(train.main, *argv, "--trainer.callbacks", name, *more, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("setting", some(["max_epochs", "max_steps", "limit_train_batches"], "max_epochs"))
def test_training_of_nothing_is_refused(argv: list[str | Path], tmp_path: Path, setting: str) -> None:
    with refused("bad-setting", f"--trainer.{setting} 0 ", "evaluate.py"):
        run(train.main, *argv, f"--trainer.{setting}", 0, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_numbers_that_were_edited_or_are_of_another_run_are_refused(
    copied: Path, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = copied / "results.json"
    found = read_json(path)
    accuracy = found["metrics"]["accuracy/planted"]
    accuracy["value"] = accuracy["ci95"][1]  # still within its interval
    write_json(path, found)
    for name in ("compare", "rescore"):
        with refused("changed-run-file", path):
            command.main([name, str(copied)])
    command.main(["rescore", "--accept_rows", str(copied)])
    assert (
        read_json(path)["metrics"]["accuracy/planted"]["value"]
        == results_of(finished)["metrics"]["accuracy/planted"]["value"]
    )
    command.main(["compare", str(copied)])
    assert "not known to be those that were recorded" in " ".join(capsys.readouterr().out.split())
    run(evaluate.main, "--checkpoint", finished, "--evaluations", "accuracy", "--output", tmp_path / "other")
    for name in ("results.json", "rows/accuracy.parquet"):
        shutil.copy(finished / name, tmp_path / "other" / name)
    with refused("changed-run-file", tmp_path / "other" / "results.json"):
        command.main(["compare", str(tmp_path / "other")])
