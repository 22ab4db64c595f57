"""Where the commands write: a new folder for each run and each evaluation, never into what others left."""

import shutil

import pytest

from heedful.assembly import evaluation, training
from heedful.cli import command
from heedful.records import DataError, RunError
from heedful.records.storage.results import LOCK, read_results

from commands import run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

SMALL = ["--model.max_length", "64", "--data.n_train", "32", "--data.n_validation", "9"]


@pytest.fixture(scope="module")
def trained(tiny_bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    run(command.train, "--model.backbone", tiny_bert, *SMALL, "--trainer.max_epochs", "1", "--output", folder)
    return folder


@pytest.fixture
def checkpoint(trained, tmp_path):
    """best.ckpt of a run without evaluations."""
    shutil.copytree(trained, tmp_path / "run", ignore=shutil.ignore_patterns(LOCK))
    return tmp_path / "run" / "checkpoints" / "best.ckpt"


def evaluations(checkpoint):
    folder = checkpoint.parents[1] / "evaluations"
    return sorted(str(path.relative_to(folder)) for path in folder.glob("*/version_*"))


def files(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != LOCK}


# evaluations


def test_each_evaluation_has_a_new_folder_and_leaves_the_others_alone(checkpoint):
    run(command.evaluate, "--checkpoint", checkpoint)
    plain = checkpoint.parents[1] / "evaluations" / "planted-validation" / "version_0"
    assert evaluations(checkpoint) == ["planted-validation/version_0"]
    before = files(plain)
    run(command.evaluate, "--checkpoint", checkpoint, "--data.eval_batch_size", "4")
    run(command.evaluate, "--checkpoint", checkpoint, "--evaluations", "accuracy")
    assert evaluations(checkpoint) == [
        "planted-validation-accuracy/version_0", "planted-validation/version_0", "planted-validation/version_1"
    ]  # fmt: skip
    assert files(plain) == before
    assert read_results(plain.parent / "version_1")["metrics"] == read_results(plain)["metrics"]


# --output and --resume


def test_another_process_keeps_its_folder_and_nothing_is_read_before_that_is_said(
    checkpoint, lock_elsewhere, monkeypatch, tmp_path
):
    def reading(config):
        raise AssertionError("something was read")

    for module in (evaluation, training):
        monkeypatch.setattr(module, "prepare", reading)
    lock_elsewhere(tmp_path / "out")
    lock_elsewhere(tmp_path / "run")
    before = files(tmp_path)
    for main, flags in (
        (command.train, ["--output", tmp_path / "out"]),
        (command.evaluate, ["--checkpoint", checkpoint, "--output", tmp_path / "out"]),
        (command.train, ["--ckpt_path", "last", "--output", tmp_path / "out"]),
        (command.train, ["--resume", tmp_path / "run"]),
        (command.train, ["--ckpt_path", "last", "--output", f"{tmp_path}/run/"]),
    ):
        with refused(RunError, tmp_path, "another process "):
            run(main, *flags)
    assert files(tmp_path) == before


@pytest.mark.parametrize("main", [command.train, command.evaluate])
def test_a_named_folder_that_exists_is_never_written_into(main, checkpoint, tmp_path):
    flags = ["--checkpoint", checkpoint] if main is command.evaluate else []
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    before = [(p, p.stat().st_mtime_ns) for p in (tmp_path / "mine", tmp_path / "mine" / "notes.txt")]
    with refused(RunError, f"output {tmp_path / 'mine'} is not empty", "notes.txt"):
        run(main, *flags, "--output", tmp_path / "mine")
    remedy = [f"resume {tmp_path / 'run'}"] if main is command.train else []
    with refused(RunError, f"output {tmp_path / 'run'} is not empty", "Name another folder", *remedy):
        run(main, *flags, "--output", tmp_path / "run")
    for path in (tmp_path / "mine" / "notes.txt", tmp_path / "mine" / "notes.txt" / "below"):
        with refused(RunError, f"output {path}", "notes.txt is a file"):
            run(main, *flags, "--output", path)
    assert [(p, p.stat().st_mtime_ns) for p, _ in before] == before


def test_a_run_that_was_stopped_before_it_wrote_its_settings_begins_again(tiny_bert, tmp_path):
    """As a cluster does, which repeats the command."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "events.out.tfevents.1.host.1.0").touch()
    (tmp_path / "out" / LOCK).touch()
    argv = ["--model.backbone", tiny_bert, *SMALL, "--trainer.max_steps", "1", "--output", tmp_path / "out"]
    with refused(RunError, f"output {tmp_path / 'out'} is not empty"):
        run(command.train, *argv)
    run(command.train, *argv, "--ckpt_path", "last")
    assert read_results(tmp_path / "out")["data"] == "planted"


@pytest.mark.parametrize("there", [True, False])
def test_a_mistake_leaves_no_folder_and_no_lock(tmp_path, there):
    if there:
        (tmp_path / "a" / "out").mkdir(parents=True)
    with refused(DataError, f"data.path {tmp_path / 'none'}"):
        run(command.train, "--data", "mnli", "--data.path", tmp_path / "none", "--output", tmp_path / "a" / "out")
    assert [p.name for p in tmp_path.rglob("*")] == (["a", "out"] if there else [])


# what a run writes lies in its folder


def test_what_is_typed_may_lie_elsewhere_and_what_names_no_place_lies_in_the_folder(checkpoint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text("trainer: {profiler: {class_path: SimpleProfiler, init_args: {filename: x}}}")
    run(command.evaluate, "--checkpoint", checkpoint, "--config", "own.yaml", "--output", "out")
    assert list((tmp_path / "out").glob("validate-x.*"))
    flags = ["--trainer.profiler", "SimpleProfiler", "--trainer.profiler.filename", "x"]
    run(command.evaluate, "--checkpoint", checkpoint, *flags, "--trainer.profiler.dirpath", "away", "--output", "two")
    assert list((tmp_path / "away").glob("validate-x.*"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["away", "out", "own.yaml", "run", "two"]
