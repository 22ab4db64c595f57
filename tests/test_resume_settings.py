"""A run goes on with the settings and the examples that it began with, or says what is not the same."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from heedful.cli import command
from heedful.datamodules import Planted
from heedful.lightning_modules import Classifier
from heedful.records import DataError, ModelError, SettingError
from heedful.records.storage.results import LOCK

from commands import guarded
from commands import run as run_command
from refusals import refused

pytestmark = pytest.mark.slow  # runs that end early and go on


def run(*argv: str | Path) -> None:
    run_command(command.train, *argv, "--attentiveness.draws", "2", "--trainer.logger", "false")


def write_pairs(folder: Path, change: Callable[[str, list[dict]], None] | None = None) -> Path:
    """Planted pairs as files of MNLI."""
    folder.mkdir(parents=True)
    data = Planted(n_train=96, n_validation=24)
    for split, file in (("train", "train"), ("validation", "validation_matched")):
        rows = [{**e.parts, "label": e.label} for e in data.load(split)]
        if change is not None:
            change(split, rows)
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


class StoppedError(Exception):
    """What stops a run here."""


def stopped_run(folder: Path, batch: int, *argv: str | Path) -> Path:
    """The folder of a run that is stopped at a batch, counted over the epochs."""
    left, original = [batch], Classifier.on_train_batch_start

    def stop(*args):
        left[0] -= 1
        if not left[0]:
            raise StoppedError
        return original(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Classifier, "on_train_batch_start", stop)
        with pytest.raises(StoppedError):
            run(*argv, "--output", folder)
    return folder


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("pairs") / "whole")


@pytest.fixture(scope="module")
def argv(pairs: Path, tiny_bert: Path) -> list[str | Path]:
    model = ["--model.backbone", tiny_bert, "--model.max_length", 64]
    return ["--data", "mnli", "--data.path", pairs, *model, "--trainer.max_epochs", 2]


@pytest.fixture(scope="module")
def stopped_once(argv: list[str | Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stopped_run(tmp_path_factory.mktemp("runs") / "stopped", 5, *argv)  # an epoch has three batches


@pytest.fixture
def stopped(stopped_once: Path, tmp_path: Path) -> Path:
    """The folder of a run that was stopped in its second epoch."""
    return Path(shutil.copytree(stopped_once, tmp_path / "stopped"))


def content(folder: Path) -> dict[str, bytes]:
    """But for the lock, which this process keeps."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != LOCK]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


FURTHER = [
    (["--model.weight_decay", 0], SettingError, "model.weight_decay", " 0.01"),
    (["--model.warmup", 0.5], SettingError, "model.warmup"),
    (["--model.max_length", 32], SettingError, "model.max_length", " 64"),
    (["--model.backbone", "elsewhere"], SettingError, "model.backbone", " elsewhere"),
    (["--checkpoint.monitor", "loss/train"], SettingError, "checkpoint.monitor"),
    (["--trainer.limit_train_batches", 2], SettingError, "trainer.limit_train_batches"),
    (["--data.max_train", 90], DataError, "mnli", "train"),
    (["--data.max_validation", 20], DataError, "mnli", "validation"),
]


@pytest.mark.parametrize(
    "case",
    [
        (["--model.learning_rate", 0.01], SettingError, "model.learning_rate", " 0.0001", " 0.01"),
        (["--model", "heedful.lightning_modules.Reader"], SettingError, "model"),
        (["--seed_everything", 7], SettingError, "seed 7", " 0"),
        (
            ["--trainer.callbacks", "EarlyStopping", "--trainer.callbacks.monitor", "loss/train"],
            SettingError,
            "trainer.callbacks",
        ),
        (["--augment", "counterfactual"], DataError, "mnli", "train"),
        (["--partial", "hypothesis"], ModelError, "premise and hypothesis"),
        (["--data.template", "{premise} so {hypothesis}"], DataError, "mnli", "train"),
        *(pytest.param(case, marks=pytest.mark.slow) for case in FURTHER),
    ],
)
def test_a_setting_that_would_not_be_followed_is_refused_and_nothing_is_written(stopped, case):
    settings, *refusal = case
    before = content(stopped)
    with refused(*refusal):
        run("--resume", stopped, *settings)
    assert content(stopped) == before


def swap_labels(split, rows):
    if split == "train":
        rows[7]["label"] = "neutral" if rows[7]["label"] != "neutral" else "entailment"


def drop_a_row(split, rows):
    if split == "train":
        del rows[-1]


def exchange_rows(split, rows):
    rows[3], rows[50 if split == "train" else 10] = rows[50 if split == "train" else 10], rows[3]


def change_a_word(split, rows):
    if split == "validation":
        rows[5]["premise"] += " Really."


@pytest.mark.parametrize(
    ("change", "splits"),
    [
        (swap_labels, "train"),
        pytest.param(drop_a_row, "train", marks=pytest.mark.slow),
        pytest.param(change_a_word, "validation", marks=pytest.mark.slow),
    ],
)
def test_other_examples_are_refused_unless_they_are_allowed(stopped, tmp_path, change, splits):
    before, other = content(stopped), write_pairs(tmp_path / "other", change)
    with refused(DataError, "mnli", f"{splits} ", "allow_changed_data true"):
        run("--resume", stopped, "--data.path", other)
    assert content(stopped) == before
    run("--resume", stopped, "--data.path", other, "--allow_changed_data", "true")
    (resumed,) = json.loads((stopped / "run.json").read_text())["resumed"]
    assert sorted(resumed["changed_data"]) == splits.split(" and ")
    config = yaml.safe_load((stopped / "config.yaml").read_text())
    assert (config["data"]["init_args"]["path"], config["allow_changed_data"]) == (str(other), False)
    assert (stopped / "results.json").is_file()


def test_the_order_of_the_rows_is_not_another_example(stopped, tmp_path):
    run("--resume", stopped, "--data.path", write_pairs(tmp_path / "other", exchange_rows))
    (resumed,) = json.loads((stopped / "run.json").read_text())["resumed"]
    assert "changed_data" not in resumed


def test_settings_that_are_followed_are_recorded(stopped, tmp_path, capsys, caplog):
    moved = write_pairs(tmp_path / "moved")
    with caplog.at_level("INFO"):
        run("--resume", stopped, "--data.path", moved, "--trainer.max_epochs", 3, "--data.batch_size", 24)
    assert "batch_size was 32, so this run does not repeat one that was never stopped" in caplog.text
    assert "`max_epochs=3` reached" in caplog.text
    config = yaml.safe_load((stopped / "config.yaml").read_text())
    assert (config["trainer"]["max_epochs"], config["data"]["init_args"]["path"]) == (3, str(moved))
    described = json.loads((stopped / "run.json").read_text())
    assert [start["command"][1] for start in described["resumed"]] == ["--resume"]
    assert "changed_data" not in described["resumed"][0]


def test_an_error_of_our_own_keeps_its_traceback(capsys):
    def broken():
        raise ValueError("not a setting")

    with pytest.raises(ValueError, match="not a setting"):
        guarded(broken)
