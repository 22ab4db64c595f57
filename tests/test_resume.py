"""A run that is killed, or ended at random, and resumed has the same bits as an undisturbed run.

HEEDFUL_KILLS=1000 python -m pytest -m slow tests/test_resume.py -k random     as many random ends as one likes
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from heedful.assembly.saved import remove_unfinished_files
from heedful.callbacks.checkpoints.files import AtomicCheckpointIO, outline
from heedful.records import RunError, SettingError

from commands import job_of
from refusals import refused, refused_output
from run_lab import BATCH, EVALUATING, FINAL, KINDS, assert_same, curves

ROOT = Path(__file__).parents[1]
KILLS = int(os.environ.get("HEEDFUL_KILLS", len(KINDS)))
FINISH = "heedful.callbacks.outputs.run_folder:RunFolder.finish"
CHANGING = "heedful.callbacks.engine.experiment:Experiment._prepare"
FROM_LAST = " from last.ckpt (epoch 2, step "


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "kill", "words"),
    [
        ("both", [BATCH, 17, "before"], FROM_LAST),
        ("two", [BATCH, 13, "before"], FROM_LAST),
        ("plain", ["pathlib:Path.replace", 7, "before", "last.ckpt"], FROM_LAST),
        ("plain", [BATCH, 2, "before"], "no checkpoint"),
        ("by_steps", [BATCH, 12, "before"], " from last.ckpt"),  # of the end of an epoch
        ("twice_validated", [EVALUATING, 3, "before"], " from last.ckpt"),
        ("twice_validated_accumulated", [BATCH, 8, "before"], " from last.ckpt"),
        ("twice_validated_accumulated", [BATCH, 12, "before"], " from last.ckpt"),
        ("ends_unvalidated", [BATCH, 26, "before"], " from last.ckpt"),  # the last batch
        ("stopped_early", [BATCH, 20, "before"], " from last.ckpt"),
    ],
)
def test_a_killed_and_moved_run_ends_in_the_same_bits(lab, kind, kill, words):
    killed = lab.killed(kind, kill, f"killed-{kind}-{kill[1]}")
    folder = killed.rename(killed.with_name(f"moved-{kind}-{kill[1]}"))
    assert words in lab.resumed(kind, folder)
    assert_same(lab.whole(kind), folder)
    assert curves(folder) == curves(lab.whole(kind))
    described = json.loads((folder / "run.json").read_text())
    assert "--resume" not in described["command"]
    assert [start["command"][1] for start in described["resumed"]] == ["--resume"]


HOOKS = [
    (BATCH, 30, ""),
    (EVALUATING, 6, ""),
    (CHANGING, 8, ""),
    ("torch.optim:AdamW.step", 20, ""),
    ("torch:save", 10, ""),
    ("pathlib:Path.replace", 5, "last.ckpt"),
    ("pathlib:Path.replace", 5, "best.ckpt"),
    ("pathlib:Path.replace", 3, "results.json"),
    ("pathlib:Path.unlink", 6, ""),
    (FINAL, 1, ""),
    (FINISH, 1, ""),
]


def random_end(rng, processes):
    """How a run is ended, as a job of fork_runs.py."""
    if rng.random() < 0.5:
        where, most, word = rng.choice(HOOKS)
        return {"kill": [where, rng.randint(1, most), rng.choice(["before", "after", "term"]), word]}
    ranks = list(range(processes))  # a rank that ends alone before they are connected is for its launcher to notice
    return {"signals": [rng.choice([signal.SIGKILL, signal.SIGTERM]), rng.uniform(0, 4), ranks]}


@pytest.mark.slow
@pytest.mark.parametrize("nth", range(KILLS))
def test_a_run_that_ends_at_random_moments(lab, nth):
    rng, kind = random.Random(nth), list(KINDS)[nth % len(KINDS)]
    argv, processes = lab.command(kind)
    folder, ends = lab.folder / f"random-{nth}", []

    def go_on(**end):
        begun = (folder / "config.yaml").is_file()
        command = ["--resume", str(folder)] if begun else [*argv, "--output", str(folder), "--ckpt_path", "last"]
        statuses, out = lab.run(*command, **end, processes=processes)
        ends.append((end, statuses))
        assert -14 not in statuses, f"{ends}: a process outlived the other:\n{out}"
        return statuses, out

    for _ in range(rng.choice([1, 1, 2, 3])):
        had_results = (folder / "results.json").is_file()
        statuses, out = go_on(**random_end(rng, processes))
        described = folder / "run.json"
        is_finished = described.is_file() and "finished" in json.loads(described.read_text())
        assert is_finished or statuses[0], f"{ends}\n{out}"
        if statuses[0] == 143 and not is_finished:
            assert (folder / "results.json").exists() == had_results, ends
        assert processes > 1 or statuses[0] in (0, 143, -9, -15), f"{ends}\n{out}"
    has_last = (folder / "checkpoints" / "last.ckpt").is_file()
    statuses, out = go_on()
    assert statuses == [0] * processes, f"{ends}\n{out}"
    assert (" from last.ckpt" in out) == has_last, f"{ends}\n{out}"
    assert_same(lab.whole(kind), folder)
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ends_unvalidated", "two"])
def test_a_kill_after_training_is_followed_by_no_more_training(lab, kind):
    folder = lab.killed(kind, [FINAL, 1, "before"], f"trained-{kind}")
    assert "Epoch " not in lab.resumed(kind, folder)
    assert_same(lab.whole(kind), folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kill",
    [
        [FINISH, 1, "before"],
        ["heedful.callbacks.outputs.run_folder:remove_last", 1, "before"],
        ["pathlib:Path.unlink", 1, "after", "checkpoints/last.ckpt"],
    ],
)
def test_a_run_that_is_killed_as_it_ends_is_finished_or_can_go_on(lab, kill):
    folder = lab.killed("plain", kill, f"ending-{kill[0][-6:]}")
    assert ("is finished" in lab.resumed("plain", folder)) == (kill[0] != FINISH)
    assert sorted(p.name for p in (folder / "checkpoints").iterdir()) == ["backbone", "best.ckpt"]
    for name in ("results.json", "checkpoints/backbone/model.safetensors"):
        assert (folder / name).read_bytes() == (lab.whole("plain") / name).read_bytes()


def stamps(folder):
    """Every file of a run, with its content and the time of its last change."""
    return {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.slow
def test_one_command_for_a_requeue_loop_and_a_finished_run_is_left_alone(lab):
    folder = lab.folder / "loop"
    argv = [*lab.argv, "--output", str(folder), "--ckpt_path", "last"]
    statuses, _ = lab.run(*argv, kill=["pathlib:Path.replace", 1, "before", "config.yaml"])
    assert statuses == [-9]
    statuses, out = lab.run(*argv, kill=["heedful.lightning_modules.text.encoder:Encoder.export", 2, "before"])
    assert statuses == [-9], out
    statuses, out = lab.run(*argv)  # the weights were not exported yet
    assert statuses == [0], out
    assert " from last.ckpt (epoch 2, step 20)" in out
    assert_same(lab.whole("plain"), folder)
    table, before = out[out.index("planted, validation") : out.index("in /")], stamps(folder)
    for again in (argv, ["--resume", str(folder), "--data.num_workers", "1"]):
        statuses, out = lab.run(*again)
        assert statuses == [0], out
        assert f"{folder} is finished" in out
        assert set(table.splitlines()) <= set(out.splitlines())
    for flags, *facts in (
        (["--trainer.max_epochs", "5"], "trainer.max_epochs 5", " 2"),
        (["--attentiveness.draws", "3"], "attentiveness.draws 3", " 2"),
    ):
        statuses, out = lab.run("--resume", str(folder), *flags)
        assert statuses == [2]
        refused_output(out, *facts, folder, f"init_from {folder}")
    assert stamps(folder) == before


@pytest.mark.slow
def test_a_finished_run_keeps_its_weights_once(lab):
    folder = lab.whole("plain")
    assert sorted(p.name for p in (folder / "checkpoints").iterdir()) == ["backbone", "best.ckpt"]
    best = torch.load(folder / "checkpoints" / "best.ckpt", weights_only=True)
    assert not {"optimizer_states", "lr_schedulers", "callbacks"} & best.keys()
    assert {"state_dict", "hyper_parameters", "task"} <= best.keys()


@pytest.mark.slow
@pytest.mark.parametrize("where", [[BATCH, 4, "raise"], [CHANGING, 1, "raise"]], ids=["training", "evaluation"])
def test_a_rank_that_fails_ends_the_run_with_its_error(lab, where):
    argv, processes = lab.command("two")
    output = ["--data.n_train", "80", "--output", str(lab.folder / f"failed-{where[0][-8:]}")]
    statuses, out = lab.run(*argv, *output, kill=where, processes=processes)
    assert statuses[1] == 1
    assert statuses[0] not in (0, -14), out
    assert "the disk of rank 1 is on fire" in out


@pytest.mark.slow
def test_a_rank_that_lightning_started_ends_the_run_with_its_error(lab, tmp_path):
    script = tmp_path / "fails.py"
    script.write_text(
        f"import os, sys\nsys.path.insert(0, {str(ROOT / 'tests' / 'helpers')!r})\nimport fork_runs\n"
        f"if os.environ.get('LOCAL_RANK') == '1':\n    fork_runs.watch(*{[CHANGING, 1, 'raise']!r})\n"
        "fork_runs.guarded(lambda: fork_runs.command.train(sys.argv[1:]))\n"
    )
    few = ["--data.n_train", "32", "--data.n_validation", "9", "--trainer.max_epochs", "1"]
    argv = [sys.executable, script, *lab.command("two")[0], *few, "--output", str(tmp_path / "run")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=300, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode != 0
    assert "the disk of rank 1 is on fire" in done.stderr


@pytest.mark.slow
def test_mistakes_are_refused(lab, tmp_path):
    whole = lab.whole("plain")
    best, last = whole / "checkpoints" / "best.ckpt", tmp_path / "checkpoints" / "last.ckpt"
    for argv, error, *facts in [
        (["--resume"], SettingError, "resume"),
        (["--resume", str(whole), "--output", "x"], SettingError, "output"),
        (["--ckpt_path", "last"], SettingError, "ckpt_path last", "output RUN"),
        ([f"--resume={best}"], RunError, best, f"resume {whole}", "init_from"),
    ]:
        with refused(error, *facts):
            job_of(argv)
    for argv in (["--ckpt_path=last", "--output", str(tmp_path)], ["--resume", str(tmp_path)]):
        assert (job_of(argv).output, job_of(argv).resumes) == (str(tmp_path), True)
    last.parent.mkdir()
    shutil.copy(whole / "last.ckpt", last)
    shutil.copy(whole / "config.yaml", tmp_path)
    with refused(RunError, f"resume {last}", "run.json"):
        job_of([f"--resume={last}"])
    shutil.copy(whole / "run.json", tmp_path)
    job = job_of([f"--resume={last}"])
    assert (job.output, job.checkpoint) == (str(tmp_path), str(last))


def test_damaged_checkpoints_and_those_with_other_objects_are_refused(tmp_path):
    path = tmp_path / "last.ckpt"
    content = {"state_dict": {"a": torch.arange(300.0)}, "task": {}, "epoch": 0, "global_step": 1}
    content |= {"pytorch-lightning_version": "2.6"}
    torch.save(content | {"value": np.float64(3)}, path)
    with refused(RunError, path, "cannot be read"):
        AtomicCheckpointIO().load_checkpoint(path)
    torch.save(content, path)
    stored = path.read_bytes()
    place = stored.index(torch.arange(300.0).numpy().tobytes())
    path.write_bytes(stored[: place + 8] + b"?" + stored[place + 9 :])
    with refused(RunError, path, "damaged"):
        AtomicCheckpointIO().load_checkpoint(path)
    for damaged in (stored[: len(stored) // 2], b"", b"damaged"):
        path.write_bytes(damaged)
        with refused(RunError, "checkpoint x ", "cannot be read"):
            outline(path, "checkpoint x")


def test_unfinished_files_of_a_killed_process_are_removed(tmp_path):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "rows").mkdir()
    stale = [".results.json.abcd1234", "rows/.accuracy.parquet.x_y12345", "checkpoints/.last.ckpt.a1b2c3d4"]
    mine = [".hidden", ".results.json.20240101", "checkpoints/.nfs.json"]
    for name in [*(f"{name}.writing" for name in stale), *mine]:
        (tmp_path / name).touch()
    remove_unfinished_files(tmp_path)
    remaining = [str(p.relative_to(tmp_path)) for p in sorted(tmp_path.rglob("*")) if p.is_file()]
    assert sorted(remaining) == sorted(mine)
