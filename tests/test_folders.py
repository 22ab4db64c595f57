"""Where the commands write: a folder for each run and each set of settings, never into what others left."""

import json
import os
import re
import shutil
import time

import pytest
import torch

from heedful.assembly.folders import is_free
from heedful.assembly.job import Job
from heedful.assembly.named_folder import claim_named
from heedful.assembly.short_names import model_folder
from heedful.cli import evaluation as evaluate
from heedful.cli import training as train
from heedful.datamodules import Planted
from heedful.records import DataError, RunError, SettingError, read_json, write_json
from heedful.records.storage.claim import LOCK, claim, release
from heedful.records.storage.results import read_results

from commands import plan_of, run
from refusals import refused

pytestmark = pytest.mark.slow  # whole runs of train.py and evaluate.py

SMALL = ["--model.max_length", "64", "--data.n_train", "32", "--data.n_validation", "9"]


@pytest.fixture(scope="module")
def trained(tiny_bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    run(train.main, "--model.backbone", tiny_bert, *SMALL, "--trainer.max_epochs", "1", "--output", folder)
    return folder


@pytest.fixture
def checkpoint(trained, tmp_path):
    """best.ckpt of a run without evaluations."""
    shutil.copytree(trained, tmp_path / "run", ignore=shutil.ignore_patterns(LOCK))
    return tmp_path / "run" / "checkpoints" / "best.ckpt"


def evaluations(checkpoint):
    return sorted(path.name for path in (checkpoint.parents[1] / "evaluations").iterdir())


def files(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file() and p.name != LOCK}


@pytest.fixture
def of_another(tmp_path):
    """Claims a folder in another process, for the duration of the test."""
    children = []

    def hold(folder):
        read, write = os.pipe()
        children.append(os.fork())
        if not children[-1]:
            claim(folder, "x")
            os.write(write, b"1")
            time.sleep(120)
            os._exit(0)
        os.read(read, 1)

    yield hold
    for child in children:
        os.kill(child, 9)
        os.waitpid(child, 0)


# evaluations

SETTINGS = {  # what is set: what the name ends in
    "--data.swap": ("[premise, hypothesis]", "swap"),
    "--attentiveness.draws": ("2", "draws_2"),
    "--data.eval_batch_size": ("4", "eval_batch_size_4"),
    "--trainer.limit_val_batches": ("1", "limit_val_batches_1"),
    "--seed_everything": ("5", "seed_everything_5"),
    "--trainer.precision": ("bf16-true", "precision_bf16-true"),
    "--evaluations": ("accuracy", "accuracy"),
}


def test_each_set_of_settings_has_a_folder_of_its_own(checkpoint):
    """And none touches what another wrote."""
    run(evaluate.main, "--checkpoint", checkpoint)
    plain = checkpoint.parents[1] / "evaluations" / "planted-validation"
    assert evaluations(checkpoint) == [plain.name]
    assert read_json(plain / "run.json")["evaluation"]["settings"] == {}
    before = files(plain)
    for flag, (value, name) in SETTINGS.items():
        known = set(evaluations(checkpoint))
        run(evaluate.main, "--checkpoint", checkpoint, flag, value)
        (made,) = set(evaluations(checkpoint)) - known
        assert re.fullmatch(rf"planted-validation-{re.escape(name)}-[0-9a-f]{{8}}", made)
        (differs,) = read_json(plain.parent / made / "run.json")["evaluation"]["settings"]
        assert differs.rsplit(".", 1)[-1] == flag.rsplit(".", 1)[-1].removeprefix("--")
        assert read_results(plain.parent / made)
    assert files(plain) == before


def test_what_changes_no_number_changes_no_name(checkpoint):
    run(evaluate.main, "--checkpoint", checkpoint, "--trainer.devices", "1", "--data.num_workers", "1")
    run(evaluate.main, "--checkpoint", checkpoint.parent / ".." / "checkpoints" / "best.ckpt")
    assert evaluations(checkpoint) == ["planted-validation"]


def test_other_examples_under_the_same_settings_do_not_replace_results(checkpoint, monkeypatch):
    """As where a relative path leads elsewhere, or a file has changed."""
    run(evaluate.main, "--checkpoint", checkpoint)
    before = files(checkpoint.parents[1] / "evaluations" / "planted-validation")
    setup = Planted.setup

    def fewer(data, stage):
        first = data.pool is None
        setup(data, stage)
        if first:
            data.pool = data.pool.take([0, 1, 2])

    monkeypatch.setattr(Planted, "setup", fewer)
    run(evaluate.main, "--checkpoint", checkpoint)
    plain, other = evaluations(checkpoint)
    assert re.fullmatch(r"planted-validation-[0-9a-f]{8}", other)
    assert files(checkpoint.parents[1] / "evaluations" / plain) == before


def test_the_same_evaluation_again_replaces_all_of_its_results(checkpoint):
    run(evaluate.main, "--checkpoint", checkpoint)
    folder = checkpoint.parents[1] / "evaluations" / "planted-validation"
    told = ("run.json", "report.html")  # which say when it was
    first = {p: content for p, content in files(folder).items() if p.name not in told}
    for stale in (folder / "rows" / "challenge.parquet", folder / "figures" / "unchanged-other.md"):
        stale.write_text("old")
    (folder / "report.html").write_text("old")
    run(evaluate.main, "--checkpoint", checkpoint)
    assert {p: content for p, content in files(folder).items() if p.name not in told} == first
    assert "<h1>" in (folder / "report.html").read_text()


def test_a_checkpoint_of_the_same_name_after_more_steps_has_another_folder(checkpoint):
    """As that of a run that is not finished yet."""
    about = read_json(checkpoint.parents[1] / "run.json")
    write_json(checkpoint.parents[1] / "run.json", {k: v for k, v in about.items() if k not in ("finished", "files")})
    run(evaluate.main, "--checkpoint", checkpoint, "--evaluations", "accuracy")
    (first,) = evaluations(checkpoint)
    before = files(checkpoint.parents[1] / "evaluations" / first)
    saved = torch.load(checkpoint, weights_only=True)
    torch.save(saved | {"global_step": saved["global_step"] + 1}, checkpoint)
    run(evaluate.main, "--checkpoint", checkpoint, "--evaluations", "accuracy")
    assert len(evaluations(checkpoint)) == 2
    assert files(checkpoint.parents[1] / "evaluations" / first) == before


def test_an_evaluation_with_several_prompts_can_be_repeated(tmp_path):
    for k, sha256 in enumerate(("a", "a", "b")):
        assert is_free(tmp_path, "a")
        write_json(tmp_path / f"paper-plain-k1-seed{k}" / "run.json", {"evaluation": {"sha256": sha256}})
        (tmp_path / f"paper-plain-k1-seed{k}" / "results.json").touch()
    assert not is_free(tmp_path, "a")


def test_a_folder_of_an_older_version_is_left_alone(checkpoint):
    old = checkpoint.parents[1] / "evaluations" / "planted-validation"
    write_json(old / "results.json", {"format": 1})
    write_json(old / "run.json", {"command": []})
    before = files(old)
    run(evaluate.main, "--checkpoint", checkpoint)
    plain, other = evaluations(checkpoint)
    assert (plain, len(other)) == (old.name, len(old.name) + 9)
    assert files(old) == before
    (old.parent / other / "run.json").unlink()
    with refused(RunError, old.parent / other, "output"):
        run(evaluate.main, "--checkpoint", checkpoint)


def test_an_evaluation_that_was_killed_before_it_had_results_can_be_repeated(checkpoint):
    folder = checkpoint.parents[1] / "evaluations" / "planted-validation"
    folder.mkdir(parents=True)
    for name in ("config.yaml", LOCK, ".run.json.abcd1234.writing"):
        (folder / name).touch()
    run(evaluate.main, "--checkpoint", checkpoint)
    assert evaluations(checkpoint) == [folder.name]
    assert not list(folder.glob(".*"))
    assert read_results(folder)["data"] == "planted"


def test_two_at_once_cannot_have_one_folder(checkpoint, of_another):
    of_another(checkpoint.parents[1] / "evaluations" / "planted-validation")
    with refused(RunError, "planted-validation", "process "):
        run(evaluate.main, "--checkpoint", checkpoint)


# --output and --resume


def test_another_process_keeps_its_folder_and_nothing_is_read_before_that_is_said(
    checkpoint, of_another, monkeypatch, tmp_path
):
    def reading(job):
        raise AssertionError("something was read")

    monkeypatch.setattr(Job, "prepare", reading)
    of_another(tmp_path / "out")
    of_another(tmp_path / "run")
    before = files(tmp_path)
    for main, flags in (
        (train.main, ["--output", tmp_path / "out"]),
        (evaluate.main, ["--checkpoint", checkpoint, "--output", tmp_path / "out"]),
        (train.main, ["--ckpt_path", "last", "--output", tmp_path / "out"]),
        (train.main, ["--resume", tmp_path / "run"]),
        (train.main, ["--ckpt_path", "last", "--output", f"{tmp_path}/run/"]),
    ):
        with refused(RunError, tmp_path, "process "):
            run(main, *flags)
    assert files(tmp_path) == before


def test_other_ranks_are_not_refused(of_another, monkeypatch, tmp_path):
    of_another(tmp_path / "out")
    monkeypatch.setattr("heedful.assembly.named_folder.is_first", lambda: False)
    assert claim_named(plan_of(monkeypatch, ["--output", str(tmp_path / "out")])) is None


@pytest.mark.parametrize("main", [train.main, evaluate.main])
def test_a_folder_of_others_is_never_written_into(main, checkpoint, tmp_path):
    flags = ["--checkpoint", checkpoint] if main is evaluate.main else []
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "results.json").write_text("{}")
    before = [(p, p.stat().st_mtime_ns) for p in (tmp_path / "mine", tmp_path / "mine" / "results.json")]
    with refused(RunError, f"output {tmp_path / 'mine'} ", "results.json"):
        run(main, *flags, "--output", tmp_path / "mine")
    with refused(RunError, f"output {tmp_path / 'run'} ", *(["--resume"] if main is train.main else [])):
        run(main, *flags, "--output", tmp_path / "run")
    for path in (tmp_path / "mine" / "results.json", tmp_path / "mine" / "results.json" / "below"):
        with refused(RunError, f"output {path}", "results.json is"):
            run(main, *flags, "--output", path)
    assert [(p, p.stat().st_mtime_ns) for p, _ in before] == before


def test_an_evaluation_that_was_stopped_is_taken_up_by_its_own_command_alone(checkpoint, tmp_path):
    out = tmp_path / "out"
    argv = ["--checkpoint", checkpoint, "--evaluations", "accuracy", "--output", out]
    run(evaluate.main, *argv)
    results = (out / "results.json").read_bytes()
    with refused(RunError, f"output {out} "):
        run(evaluate.main, *argv)
    (out / "results.json").unlink()
    with refused(RunError, "data.eval_batch_size 7", f"output {out} "):
        run(evaluate.main, *argv, "--data.eval_batch_size", "7")
    other = shutil.copy(checkpoint, checkpoint.with_name("other.ckpt"))
    with refused(RunError, f"checkpoint {other}", f"output {out} "):
        run(evaluate.main, *argv[2:], "--checkpoint", other)
    run(evaluate.main, *argv)
    assert (out / "results.json").read_bytes() == results


def test_what_a_killed_start_left_is_no_hindrance(tiny_bert, tmp_path):
    board = tmp_path / "events.out.tfevents.1234567890.host.1.0"
    board.write_bytes(bytes(500))  # curves of something else
    with refused(RunError, f"output {tmp_path} ", board.name):
        run(train.main, "--model.backbone", tiny_bert, *SMALL, "--output", tmp_path)
    board.write_bytes(bytes(88))
    (tmp_path / LOCK).write_text("process 1 on somewhere")
    (tmp_path / ".config.yaml.abcd1234").touch()
    argv = ["--model.backbone", tiny_bert, *SMALL, "--trainer.max_steps", "1", "--evaluations"]
    run(train.main, *argv[:-1], "--output", tmp_path)
    assert read_results(tmp_path)["data"] == "planted"


@pytest.mark.parametrize("there", [True, False])
def test_a_mistake_after_the_claim_leaves_no_folder_and_frees_it(tmp_path, there):
    if there:
        (tmp_path / "a" / "out").mkdir(parents=True)
    with refused(DataError, f"data.path {tmp_path / 'none'}"):
        run(train.main, "--data", "mnli", "--data.path", tmp_path / "none", "--output", tmp_path / "a" / "out")
    assert [p.name for p in tmp_path.rglob("*")] == (["a", "out"] if there else [])


def test_run_json_says_what_was_typed_whatever_the_names(checkpoint, tmp_path):
    odd = checkpoint.parents[1].rename(tmp_path / "new run\n\x1b[31mé")
    run(evaluate.main, "--checkpoint", odd / "checkpoints" / "best.ckpt")
    (folder,) = (odd / "evaluations").iterdir()
    assert read_results(f"{folder}/")["data"] == "planted"
    assert str(odd) in json.loads((folder / "run.json").read_text())["command"][2]


@pytest.fixture(autouse=True)
def _claims_end_with_the_test():
    yield
    release()


def test_paths_are_shown_in_one_line(tmp_path):
    with refused(DataError, r"a\nb\x1b[31m/best.ckpt") as caught:
        run(evaluate.main, "--checkpoint", tmp_path / "a\nb\x1b[31m" / "best.ckpt")
    assert str(caught.value).isprintable()


# what a run writes lies in its folder

ELSEWHERE = {
    "logger": "trainer: {logger: {class_path: CSVLogger, init_args: {save_dir: %s}}}",
    "name of a logger": "trainer: {logger: {class_path: CSVLogger, init_args: {save_dir: x, name: ../../x}}}",
    "profiler": "trainer: {profiler: {class_path: SimpleProfiler, init_args: {dirpath: %s, filename: x}}}",
    "file of a profiler": "trainer: {profiler: {class_path: SimpleProfiler, init_args: {filename: ../../x}}}",
    "folder": "trainer: {default_root_dir: %s}",
    "callback": "trainer: {callbacks: [{class_path: ModelCheckpoint, init_args: {dirpath: %s}}]}",
    "several loggers": "trainer: {logger: [{class_path: CSVLogger, init_args: {save_dir: %s}}]}",
}


@pytest.mark.parametrize("what", ELSEWHERE)
@pytest.mark.parametrize("main", [train.main, evaluate.main])
def test_a_file_of_settings_names_no_place_to_write_to(main, checkpoint, tmp_path, what):
    away = tmp_path / "away"
    (tmp_path / "own.yaml").write_text(ELSEWHERE[what].replace("%s", str(away)))
    begin = ["--checkpoint", checkpoint] if main is evaluate.main else ["--output", tmp_path / "out"]
    before = files(tmp_path)
    with refused(SettingError, "trainer."):
        run(main, *begin, "--config", tmp_path / "own.yaml")
    assert files(tmp_path) == before
    assert not away.exists()


def test_what_is_typed_may_lie_elsewhere_and_what_names_no_place_lies_in_the_folder(checkpoint, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text(ELSEWHERE["profiler"].replace("dirpath: %s, ", ""))
    run(evaluate.main, "--checkpoint", checkpoint, "--config", "own.yaml", "--output", "out")
    assert list((tmp_path / "out").glob("validate-x.*"))
    flags = ["--trainer.profiler", "SimpleProfiler", "--trainer.profiler.filename", "x"]
    run(evaluate.main, "--checkpoint", checkpoint, *flags, "--trainer.profiler.dirpath", "away", "--output", "two")
    assert list((tmp_path / "away").glob("validate-x.*"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["away", "out", "own.yaml", "run", "two"]


@pytest.mark.parametrize("name", ["..", ".", ".hidden", "-x", "a/../../b"])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text(f"data: {{init_args: {{name: '{name}'}}}}")
    with refused(SettingError, f"data.name {name!r}"):
        run(train.main, *SMALL, "--data", "planted", "--config", "own.yaml")
    assert [path.name for path in tmp_path.iterdir()] == ["own.yaml"]


@pytest.mark.parametrize(
    ("backbone", "name"),
    [("..", "encoder"), ("../..", "encoder"), ("./a/b", "a-b"), ("../x", "x"), ("Org/X.1", "org-x.1")],
)
def test_no_model_has_a_name_that_leads_out_of_the_folder(backbone, name):
    assert model_folder(backbone, "heedful.lightning_modules.Encoder") == name
