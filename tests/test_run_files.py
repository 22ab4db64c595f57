"""Numbers that were edited are refused, and numbers of a run that had not ended say how far it was."""

import shutil
from pathlib import Path

import pytest
import torch
from pytorch_lightning import Callback, LightningModule, Trainer

from heedful.cli import command
from heedful.lightning_modules.weights import weights_hash
from heedful.records import RunError, read_json, write_json
from heedful.records.storage.results import LOCK

from commands import results_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

EVALUATED = ["--model.max_length", "64", "--data.n_validation", "30", "--attentiveness.draws", "1"]
SMALL = [*EVALUATED, "--data.n_train", "96"]
EPOCHS = 2
BACKBONE = "checkpoints/backbone"


@pytest.fixture(scope="module")
def argv(tiny_bert: Path) -> list[str | Path]:
    return ["--model.backbone", tiny_bert, "--model.learning_rate", "0.003", *SMALL, "--trainer.logger", "false"]


@pytest.fixture(scope="module")
def finished(argv: list[str | Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "finished"
    run(command.train, *argv, "--trainer.max_epochs", EPOCHS, "--output", folder)
    return folder


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run", ignore=shutil.ignore_patterns(LOCK)))


def test_a_copy_of_a_run_and_notes_beside_its_model_are_no_hindrance(copied: Path, finished: Path) -> None:
    (copied / BACKBONE / "NOTES.md").write_text("Mine.")
    run(command.evaluate, "--checkpoint", copied)
    (folder,) = (copied / "evaluations").glob("*/*")
    assert folder.parent.name == "planted-validation"
    assert results_of(folder)["identity"]["weights"] == results_of(finished)["identity"]["weights"]
    assert results_of(folder)["unfinished"] is None


def test_an_export_has_the_weights_of_the_run(
    copied: Path, finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(command.evaluate, "--model", copied / BACKBONE, *EVALUATED, "--output", tmp_path / "out")
    assert results_of(tmp_path / "out")["identity"]["weights"] == results_of(finished)["identity"]["weights"]
    command.main(["compare", str(finished), str(tmp_path / "out")])
    assert "Note: (1) and (2) have the same weights." in capsys.readouterr().out


def end_in_the_second(self: Callback, trainer: Trainer, pl_module: LightningModule) -> None:
    """End a run as a kill does, when its second epoch begins."""
    if trainer.current_epoch == 1:
        raise MemoryError("killed")


@pytest.fixture(scope="module")
def killed(argv: list[str | Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "killed"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heedful.callbacks.RunFolder.on_train_epoch_start", end_in_the_second)
        with pytest.raises(MemoryError):
            run(command.train, *argv, "--trainer.max_epochs", 4, "--output", folder)
    return folder


def test_a_run_that_had_not_ended_is_no_equal_of_one_that_had(
    killed: Path, finished: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(command.evaluate, "--checkpoint", killed)
    assert "a run that had not ended: epoch 1 of 4, step 3." in capsys.readouterr().out
    (folder,) = (killed / "evaluations").glob("*/*")
    assert results_of(folder)["unfinished"] == "epoch 1 of 4, step 3"
    command.main(["compare", str(finished), str(folder)])
    assert "are from a run that had not ended: epoch 1 of 4" in " ".join(capsys.readouterr().out.split())
    command.main(["matrix", str(finished), str(folder)])
    assert "epoch 1 of 4, step 3" in " ".join(capsys.readouterr().out.split())


READERS = [["compare"], ["compare", "--require", "accuracy > 50 %"], ["page"], ["rescore"]]


@pytest.mark.parametrize("described", [True, False])
@pytest.mark.parametrize("words", READERS, ids=" ".join)
def test_numbers_that_were_edited_are_refused(
    copied: Path, tmp_path: Path, words: list[str], described: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where no run.json is beside them."""
    monkeypatch.chdir(tmp_path)
    if not described:
        (copied / "run.json").unlink()
    path = copied / "results.json"
    found = read_json(path)
    found["metrics"]["accuracy/planted"]["value"] = 0.95
    write_json(path, found)
    with refused(RunError, path, "was edited"):
        command.main([words[0], str(copied), *words[1:]])


def test_results_say_who_was_measured(finished: Path, argv: list[str | Path]) -> None:
    """And an evaluation of a checkpoint says the same; nothing in them is a place of this machine."""
    who = results_of(finished)["identity"]
    best = torch.load(finished / "checkpoints" / "best.ckpt", weights_only=True)["state_dict"]
    assert who["weights"] == weights_hash(best)
    assert (who["data"], who["split"], who["regime"], who["seeds"]) == ("planted", "validation", "plain", [0])
    assert (who["model"], who["trained"]) == (Path(argv[1]).name, True)
    assert who["interventions"] == {"null": 1, "swap": 3}
    run(command.evaluate, "--checkpoint", finished)
    (folder,) = (finished / "evaluations").glob("*/*")
    again = results_of(folder)["identity"]
    same = ("model", "regime", "seeds", "weights", "trained", "interventions")
    assert [again[name] for name in same] == [who[name] for name in same]
    for file in (finished / "results.json", folder / "results.json"):
        assert str(finished.parent) not in file.read_text()
        assert str(Path(argv[1]).parent) not in file.read_text()
