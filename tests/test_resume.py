"""A run that is killed with SIGKILL and taken up again ends in the same bits as one that was left alone."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from heedful.assembly.saved import tidy
from heedful.callbacks.checkpoints.files import AtomicCheckpointIO, outline
from heedful.records import RunError, SettingError

from commands import config_of
from refusals import refused, refused_output
from run_lab import BATCH, KINDS, assert_same, curves

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "kill", "words"),
    [
        ("both", [BATCH, 17, "before"], "resuming from last.ckpt (epoch 2, step "),
        ("plain", ["pathlib:Path.replace", 7, "before", "last.ckpt"], "resuming from last.ckpt (epoch 2, step "),
        ("two", [BATCH, 13, "before"], "resuming from last.ckpt (epoch 2, step "),
    ],
)
def test_a_killed_run_ends_in_the_same_bits(lab, kind, kill, words):
    whole = lab.whole(kind)
    folder = lab.killed(kind, kill, f"killed-{kind}")
    assert words in lab.resumed(kind, folder)
    assert_same(whole, folder)
    described = json.loads((folder / "run.json").read_text())
    assert "--resume" not in described["command"]
    assert [start["command"][1] for start in described["resumed"]] == ["--resume"]


HOOKS = [
    [BATCH, 9, "before", ""],
    ["torch.optim:AdamW.step", 3, "after", ""],
    ["torch:save", 2, "after", ""],
    ["pathlib:Path.replace", 2, "before", "last.ckpt"],
    ["pathlib:Path.replace", 1, "after", "last.ckpt"],
    ["heedful.callbacks.engine.engine:Engine.on_validation_epoch_end", 2, "before", ""],
]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_ten_random_kill_points(lab, seed):
    rng = random.Random(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    where, most, when, word = rng.choice(HOOKS)
    folder = lab.killed(kind, [where, rng.randint(1, most), when, word], f"random-{seed}")
    lab.resumed(kind, folder)
    assert_same(lab.whole(kind), folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_kill_before_the_last_batch(lab, kind):
    whole = lab.whole(kind)
    steps = torch.load(whole / "last.ckpt", weights_only=True)["loops"]["fit_loop"]
    batches = steps["epoch_loop.batch_progress"]["total"]["ready"]
    folder = lab.killed(kind, [BATCH, batches, "before"], f"late-{kind}")
    lab.resumed(kind, folder)
    assert_same(whole, folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "ends_unvalidated",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("two", "by_steps", "stopped_early")),
    ],
)
def test_a_kill_after_training_is_followed_by_no_more_training(lab, kind):
    folder = lab.killed(kind, ["heedful.callbacks.outputs.board:Board.final", 1, "before"], f"trained-{kind}")
    assert "Epoch " not in lab.resumed(kind, folder)
    assert_same(lab.whole(kind), folder)


@pytest.mark.slow
@pytest.mark.parametrize("nth", [8, 10, 12, 15])
def test_a_validation_within_an_accumulation_saves_nothing_that_is_inexact(lab, nth):
    kind = "twice_validated_accumulated"
    folder = lab.killed(kind, [BATCH, nth, "before"], f"within-{nth}")
    lab.resumed(kind, folder)
    assert_same(lab.whole(kind), folder)


@pytest.mark.slow
def test_a_kill_within_a_validation_does_not_skip_it(lab):
    kill = ["heedful.callbacks.engine.engine:Engine.on_validation_epoch_end", 3, "before"]
    folder = lab.killed("twice_validated", kill, "validating")
    lab.resumed("twice_validated", folder)
    assert_same(lab.whole("twice_validated"), folder)
    assert curves(folder) == curves(lab.whole("twice_validated"))


@pytest.mark.slow
def test_a_run_killed_before_its_first_checkpoint_begins_again(lab):
    folder = lab.killed("plain", [BATCH, 2, "before"], "early")
    assert "no checkpoint was saved yet, so the run starts from the beginning" in lab.resumed("plain", folder)
    assert_same(lab.whole("plain"), folder)
    assert curves(folder) == curves(lab.whole("plain"))


def stamps(folder):
    """Every file of a run, with its content and the time of its last change."""
    return {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.slow
def test_one_command_for_a_requeue_loop_and_a_finished_run_is_left_alone(lab):
    folder = lab.folder / "loop"
    argv = [*lab.argv, "--output", str(folder), "--ckpt_path", "last"]
    statuses, _ = lab.run(*argv, kill=["heedful.lightning_modules.text.encoder:Encoder.export", 2, "before"])
    assert statuses == [-9]
    statuses, out = lab.run(*argv)  # killed before the weights were exported
    assert statuses == [0], out
    assert "resuming from last.ckpt (epoch 2, step 20)" in out
    assert "Epoch 1/" not in out
    assert_same(lab.whole("plain"), folder)
    assert curves(folder) == curves(lab.whole("plain"))
    table, before = out[out.index("planted, validation") : out.index("in /")], stamps(folder)
    for again in (argv, ["--resume", str(folder)], ["--resume", str(folder), "--data.num_workers", "1"]):
        statuses, out = lab.run(*again)
        assert statuses == [0], out
        assert f"{folder} is finished, and stays as it is." in out
        assert set(table.splitlines()) <= set(out.splitlines())
        assert stamps(folder) == before


@pytest.mark.slow
def test_a_callback_whose_default_no_file_can_hold(lab):
    folder = lab.folder / "timed"
    timed = ["--trainer.callbacks", "Timer", "--trainer.callbacks.duration", "00:01:00:00"]
    timed += ["--trainer.max_epochs", "1", "--data.n_train", "40"]
    statuses, out = lab.run(*lab.argv, "--output", str(folder), *timed)
    assert statuses == [0], out
    statuses, out = lab.run("--resume", str(folder))
    assert statuses == [0]
    assert "is finished, and stays as it is." in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "given", "had"),
    [
        (["--trainer.max_epochs", "5"], "trainer.max_epochs 5", 2),
        (["--data.batch_size=8"], "data.batch_size 8", 32),
        (["--attentiveness.draws", "3"], "attentiveness.draws 3", 2),
    ],
)
def test_a_finished_run_takes_no_other_settings(lab, flags, given, had):
    folder = lab.whole("plain")
    before = stamps(folder)
    statuses, out = lab.run("--resume", str(folder), *flags)
    assert statuses == [2]
    refused_output(out, given, folder, f" {had}", f"init_from {folder}")
    assert stamps(folder) == before


@pytest.mark.slow
def test_a_finished_run_keeps_its_weights_once(lab):
    folder = lab.whole("plain")
    assert sorted(p.name for p in (folder / "checkpoints").iterdir()) == ["backbone", "best.ckpt"]
    best = torch.load(folder / "checkpoints" / "best.ckpt", weights_only=True)
    assert not {"optimizer_states", "lr_schedulers", "callbacks"} & best.keys()
    assert {"state_dict", "hyper_parameters", "task"} <= best.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    "kill",
    [
        ["heedful.callbacks.outputs.run_folder:RunFolder.finish", 1, "before"],
        pytest.param(["heedful.callbacks.outputs.run_folder:remove_last", 1, "before"], marks=pytest.mark.slow),
        pytest.param(["pathlib:Path.unlink", 1, "after", "checkpoints/last.ckpt"], marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_killed_as_it_ends_is_finished_or_can_go_on(lab, kill):
    folder = lab.killed("plain", kill, f"ending-{kill[0][-6:]}")
    out = lab.resumed("plain", folder)
    finished = "is finished" in out
    assert finished == (kill[0] != "heedful.callbacks.outputs.run_folder:RunFolder.finish")
    assert sorted(p.name for p in (folder / "checkpoints").iterdir()) == ["backbone", "best.ckpt"]
    for name in ("results.json", "checkpoints/backbone/model.safetensors"):
        assert (folder / name).read_bytes() == (lab.whole("plain") / name).read_bytes()


@pytest.mark.slow
def test_a_run_killed_as_it_writes_its_configuration_leaves_nothing_behind(lab):
    folder = lab.killed("plain", ["pathlib:Path.replace", 1, "before", "config.yaml"], "unwritten")
    assert len(list(folder.glob(".config.yaml.*"))) == 1
    statuses, out = lab.run(*lab.argv, "--output", str(folder), "--ckpt_path", "last")
    assert statuses == [0], out
    assert_same(lab.whole("plain"), folder)


@pytest.mark.slow
def test_a_run_that_was_moved_resumes_to_the_same_bits(lab):
    folder = lab.killed("plain", [BATCH, 16, "before"], "here")
    moved = folder.rename(folder.with_name("there"))
    lab.resumed("plain", moved)
    assert_same(lab.whole("plain"), moved)


def saved(path, **more):
    """A checkpoint of a run, with other content beside the weights."""
    content = {"state_dict": {"a": torch.arange(300.0)}, "task": {}, "epoch": 0, "global_step": 1}
    torch.save(content | {"pytorch-lightning_version": "2.6"} | more, path)
    return path


def test_a_damaged_checkpoint_is_named(tmp_path):
    path = saved(tmp_path / "last.ckpt")
    content = path.read_bytes()
    place = content.index(torch.arange(300.0).numpy().tobytes())
    path.write_bytes(content[: place + 8] + b"?" + content[place + 9 :])
    with refused(RunError, path, "damaged"):
        AtomicCheckpointIO().load_checkpoint(path)
    for damaged in (content[: len(content) // 2], b"", b"damaged"):
        path.write_bytes(damaged)
        with refused(RunError, "checkpoint x ", "cannot be read"):
            outline(path, "checkpoint x")


def test_a_checkpoint_with_other_objects_is_not_loaded(tmp_path):
    path = saved(tmp_path / "last.ckpt", value=np.float64(3))
    with refused(RunError, path, "cannot be read"):
        AtomicCheckpointIO().load_checkpoint(path)


@pytest.mark.slow
def test_flags_after_resume_override_the_configuration(lab):
    folder = lab.killed("plain", [BATCH, 16, "before"], "longer")
    out = lab.resumed("plain", folder, "--trainer.max_epochs", "3", "--data.batch_size", "30")
    assert "batch_size was 32, so this run does not repeat one that was never stopped" in out
    assert "`max_epochs=3` reached" in out
    assert torch.load(folder / "last.ckpt", weights_only=True)["global_step"] == 30
    assert "max_epochs: 3" in (folder / "config.yaml").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "where",
    [[BATCH, 4, "raise"], ["heedful.callbacks.engine.experiment:Experiment._changed", 1, "raise"]],
    ids=["training", "evaluation"],
)
def test_a_rank_that_fails_ends_the_run_with_its_error(lab, where):
    folder = lab.folder / f"failed-{where[0][-8:]}"
    flags, processes = KINDS["two"]
    flags = [*lab.argv, *flags, "--data.n_train", "80"]
    statuses, out = lab.run(*flags, "--output", str(folder), kill=where, processes=processes)
    assert statuses[1] == 1
    assert statuses[0] not in (0, -14), out
    assert "the disk of rank 1 is on fire" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    "where", [[BATCH, 4, "raise"], ["heedful.callbacks.engine.experiment:Experiment._changed", 1, "raise"]]
)
def test_a_rank_that_lightning_started_ends_the_run_with_its_error(lab, where, tmp_path):
    flags, _ = KINDS["two"]
    script = tmp_path / "fails.py"
    script.write_text(
        f"import os, sys\nsys.path.insert(0, {str(ROOT / 'tests' / 'helpers')!r})\nimport fork_runs\n"
        f"if os.environ.get('LOCAL_RANK') == '1':\n    fork_runs.watch(*{where!r})\n"
        "fork_runs.guarded(lambda: fork_runs.train.main(sys.argv[1:]))\n"
    )
    argv = [sys.executable, script, *lab.argv, *flags, "--output", str(tmp_path / "run")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=120, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode != 0
    assert "the disk of rank 1 is on fire" in done.stderr


@pytest.mark.slow
def test_mistakes_are_one_sentence(lab, tmp_path):
    whole = lab.whole("plain")
    for argv, error, *facts in [
        (["--resume", str(tmp_path / "no")], RunError, f"resume {tmp_path / 'no'} "),
        (["--resume", str(tmp_path)], RunError, f"resume {tmp_path} ", "config.yaml"),
        (["--resume"], SettingError, "resume"),
        (["--resume", str(whole), "--output", "x"], SettingError, "output"),
        (["--ckpt_path", "last"], SettingError, "ckpt_path last", "output RUN"),
    ]:
        with refused(error, *facts):
            config_of(argv)
    assert config_of(["--ckpt_path=last", "--output", str(tmp_path)]).values.output == str(tmp_path)
    assert config_of(["--ckpt_path", "x.ckpt"]).values.ckpt_path == "x.ckpt"
    best = whole / "checkpoints" / "best.ckpt"
    with refused(RunError, best, f"resume {whole}", "init_from"):
        config_of([f"--resume={best}"])
    last = tmp_path / "checkpoints" / "last.ckpt"
    last.parent.mkdir()
    shutil.copy(whole / "last.ckpt", last)
    shutil.copy(whole / "config.yaml", tmp_path)
    config = config_of([f"--resume={last}"])
    assert (config.resume, config.values.ckpt_path) == (str(tmp_path), str(last))


def test_what_a_killed_process_was_writing_is_removed(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "rows").mkdir()
    stale = [".results.json.abcd1234", "rows/.accuracy.parquet.x_y12345", "checkpoints/.last.ckpt.a1b2c3d4"]
    mine = [".hidden", ".results.json.20240101", "checkpoints/.nfs.json"]
    for name in [*(f"{name}.writing" for name in stale), *mine]:
        (tmp_path / name).touch()
    tidy(tmp_path)
    left = [str(p.relative_to(tmp_path)) for p in sorted(tmp_path.rglob("*")) if p.is_file()]
    assert sorted(left) == sorted(mine)
