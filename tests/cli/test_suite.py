"""Recipes: their steps, the steps that run, mistakes, signals, and shards.

A program stands in for the commands of the steps and leaves their files; the last test runs the real commands.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pytorch_lightning.plugins.environments import SLURMEnvironment, TorchElasticEnvironment

from heedful.cli import suite
from heedful.cli.suite import QUIET, Step, read_recipe, steps_of_shard
from heedful.records import RunError, SettingError
from heedful.records.storage.named_configs import CONFIGS

from refusals import refused

ROOT = Path(__file__).parents[2]
RECIPE = """
values:
  set: {one: "", two: "--where '{a: b}'"}
  model: [base, more]
steps:
  models/base: train --data.path $DATA/x --steps 0
  models/more: train --init_from @models/base --steps 2
  <set>/<model>: evaluate --checkpoint @models/<model> <set.value>
  ranking: rank --figures $OUT/figures --set one=@one/* @two/*
"""
RUNS = ["models/base", "models/more", "one/base", "one/more", "two/base", "two/more"]
CALLS = [f"train {name}" for name in RUNS[:2]] + [f"evaluate {name}" for name in RUNS[2:]]
COMMAND = """#!{python} -IS
import json, os, sys, time
from pathlib import Path
kind, *words = sys.argv[3:]
here = Path(__file__).parent
with (here / "calls").open("a") as calls:
    if kind == "rank":
        print(kind, file=calls)
        print("RANKED", *words)
        sys.exit()
    flag = "--resume" if "--resume" in words else "--output"
    folder = Path(words[words.index(flag) + 1])
    name = "/".join(folder.parts[-2:])
    print("resume" if folder.exists() else kind, name, file=calls)
folder.mkdir(exist_ok=kind == "train")
(here / "seen.json").write_text(json.dumps([words, dict(os.environ)]))
print("output of", kind, flush=True)
(folder / "config.yaml").write_text("")
if "slow" in words:
    time.sleep(60)
if "fails" in words:
    print("It does not work.")
    sys.exit(3)
source = words[words.index("--checkpoint") + 1] if kind == "evaluate" else None
weights = json.loads(Path(source, "results.json").read_text())["identity"]["weights"] if source else folder.name
(folder / "results.json").write_text(json.dumps({{"identity": {{"weights": weights}}}}))
"""
ORIGINAL = sys.executable
Lab = Callable[..., list[str]]


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """A program that replaces Python for the commands of the steps."""
    if os.name != "posix":
        pytest.skip("Windows starts no script by its first line")
    path = tmp_path / "command"
    path.write_text(COMMAND.format(python=sys.executable))
    path.chmod(0o755)
    return path


@pytest.fixture
def lab(tmp_path: Path, command: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """Runs a recipe; returns the commands that ran with the names of their steps."""
    monkeypatch.setattr(sys, "executable", str(command))

    def run(*argv: str, text: str = RECIPE) -> list[str]:
        (tmp_path / "own.yaml").write_text(text)
        (tmp_path / "calls").write_text("")
        suite.main([str(tmp_path / "own.yaml"), "--output", str(tmp_path / "out"), "--data_path", "/d", *argv])
        return calls(tmp_path)

    return run


def calls(tmp_path: Path) -> list[str]:
    """The commands that ran since the last start."""
    return (tmp_path / "calls").read_text().splitlines()


def read(tmp_path: Path, text: str, data: str | None = "/data dir") -> dict[str, Step]:
    """The steps of a recipe by their names."""
    path = tmp_path / "own.yaml"
    path.write_text(text)
    return {step.name: step for step in read_recipe(path, data, Path("/out"))}


def test_placeholders_and_references_are_replaced(tmp_path: Path) -> None:
    steps = read(tmp_path, RECIPE)
    assert [*steps] == [*RUNS, "ranking"]
    assert {name: [need.name for need in step.needs] for name, step in steps.items()} == {
        "models/base": [],
        "models/more": ["models/base"],
        **{f"{of}/{model}": [f"models/{model}"] for of in ("one", "two") for model in ("base", "more")},
        "ranking": RUNS[2:],
    }
    assert steps["models/base"].command == ["train", "--data.path", "/data dir/x", "--steps", "0", *QUIET]
    checkpoint = ["evaluate", "--checkpoint", "/out/models/more"]
    assert steps["one/more"].command == [*checkpoint, *QUIET]
    assert steps["two/more"].command == [*checkpoint, "--where", "{a: b}", *QUIET]
    figures = ["rank", "--figures", "/out/figures"]
    assert steps["ranking"].command == [
        *figures, "--set", "one=/out/one/base,/out/one/more", "/out/two/base", "/out/two/more"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [
        ("steps:", "stpes:", ["steps"]),
        (RECIPE[RECIPE.index("steps:") :], "", ["steps"]),
        ("values:", "vales:", ["values"]),
        ("<model>: evaluate", "<modle>: evaluate", ["<set>/<modle>", "<modle>"]),
        ("--steps 2", "--steps <model>", ["models/more", "<model>"]),
        ("models/more: train", "models/more: trian", ["models/more", "'trian'", "train"]),
        ("models/more: train", "models/../more: train", ["models/../more"]),
        ("<set>/<model>: evaluate", "same/<model>: evaluate <set>", ["<set>"]),
        ("<set>/<model>: evaluate --checkpoint @models/<model> <set.value>", "models/<model>: train", ["models/base"]),
        ("@models/base", "@models/bass", ["models/more", "models/bass", "models/base"]),
        ("--steps 2", "--steps '", ["models/more", "quotation"]),
        ("models/base: train --data.path $DATA/x --steps 0", "models/base:", ["models/base", "train"]),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, facts: list[str]) -> None:
    with refused(SettingError, "own.yaml", *facts):
        read(tmp_path, RECIPE.replace(old, new))


@pytest.mark.parametrize(
    ("name", "models", "sets", "shares"),
    [("msgs", 18, 3, [10, 10, 8, 8]), ("hans", 6, 2, [18, 0, 0, 0]), ("paws", 6, 1, [12, 0, 0, 0])],
)
def test_recipes_of_the_paper(name: str, models: int, sets: int, shares: list[int]) -> None:
    steps = read_recipe(CONFIGS / "recipe" / f"{name}.yaml", "/d", Path("/out"))
    kinds = [step.command[0] for step in steps]
    assert [kinds.count(kind) for kind in ("train", "evaluate", "rank")] == [models, 6 * sets, 1]
    assert [need.name for need in steps[-1].needs] == [step.name for step in steps if step.command[0] == "evaluate"]
    assert [len(steps_of_shard(steps, number, 4)) for number in (1, 2, 3, 4)] == shares


def test_finished_steps_are_skipped(lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    ranked = f"RANKED --figures {out}/figures --set one={out}/one/base,{out}/one/more {out}/two/base {out}/two/more\n"
    assert lab() == [*CALLS, "rank"]
    printed = capsys.readouterr().out
    assert printed.startswith("[1/7] train models/base: 0 s\n[2/7] train models/more: ")
    assert printed.endswith(ranked)
    assert (out / "ranking.txt").read_text() == ranked
    assert (out / "models" / "more.log").read_text() == "output of train\n"
    assert lab() == ["rank"]
    assert "[6/7] evaluate two/more: done before\n" in capsys.readouterr().out
    assert (out / "ranking.txt").read_text() == ranked


@pytest.mark.parametrize(
    ("words", "failed", "next_calls"),
    [
        ("--steps 2", "models/more", ["resume models/more", "evaluate one/more", "evaluate two/more"]),
        ("@models/<model>", "one/base", ["evaluate one/base", "evaluate two/base"]),
    ],
)
def test_a_stopped_training_resumes_and_a_stopped_evaluation_starts_again(
    lab: Lab, tmp_path: Path, words: str, failed: str, next_calls: list[str]
) -> None:
    with refused(RunError, "status 3"):
        lab(text=RECIPE.replace(words, f"{words} fails"))
    path = tmp_path / "out" / f"{failed}.json"
    record = json.loads(path.read_text())
    record["command"].remove("fails")
    path.write_text(json.dumps(record))
    assert lab("--only", failed.partition("/")[2]) == next_calls
    assert lab("--only", failed) == []


@pytest.mark.parametrize(
    ("old", "new", "facts"),
    [("{a: b}", "{a: c}", ("two/base", "{a: b}", "{a: c}")), ("--steps 0", "", ("models/base", "--steps"))],
)
def test_results_of_other_settings_are_refused_before_anything_runs(
    lab: Lab, tmp_path: Path, old: str, new: str, facts: tuple[str, ...]
) -> None:
    lab()
    shutil.rmtree(tmp_path / "out" / "models" / "base")
    with refused(RunError, *facts):
        lab(text=RECIPE.replace(old, new))
    assert calls(tmp_path) == []


def test_results_of_other_weights_are_refused(lab: Lab, tmp_path: Path) -> None:
    lab()
    (tmp_path / "out" / "models" / "base" / "results.json").write_text('{"identity": {"weights": "other"}}')
    with refused(RunError, "one/base", "weights", "models/base"):
        lab("--only", "evaluate")
    with refused(RunError, "models/more", "weights", "models/base"):
        lab()


def test_only_some_steps(lab: Lab) -> None:
    with refused(RunError, "one/base", "models/base", "only"):
        lab("--only", "evaluate")
    assert lab("--only", "base") == [CALLS[0], CALLS[2], CALLS[4]]
    assert lab("--only", "train") == [CALLS[1]]
    with refused(RunError, "ranking needs one/more, two/more"):
        lab("--only", "rank")
    assert lab("--only", "two,ranking,one") == [CALLS[3], CALLS[5], "rank"]
    with refused(SettingError, "only three"):
        lab("--only", "three")


def test_a_step_that_fails_ends_the_recipe(lab: Lab, tmp_path: Path) -> None:
    with refused(RunError, "more", "status 3", "It does not work", "models/more.log"):
        lab(text=RECIPE.replace("--steps 2", "--steps fails"))
    assert calls(tmp_path) == CALLS[:2]


def test_two_processes_never_run_one_step(lab: Lab, tmp_path: Path) -> None:
    lab("--only", "train")
    (tmp_path / "out" / "one").mkdir()
    hold = f"import filelock; lock = filelock.FileLock({str(tmp_path / 'out' / 'one' / '.more.lock')!r})"
    hold += "; lock.acquire(); print('held', flush=True); input()"
    with subprocess.Popen([ORIGINAL, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with refused(RunError, "one/more"):
            lab()
        assert calls(tmp_path) == ["evaluate one/base"]
        other.kill()
    assert lab() == [*CALLS[3:], "rank"]


def test_shards_and_then_a_report_leave_what_one_run_leaves(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = RECIPE.replace("[base, more]", "[base, more, other]").replace("  <set>", "  models/other: train\n  <set>")
    at_once = lab(text=text)
    before = tree(tmp_path / "out")
    shutil.rmtree(tmp_path / "out")
    assert lab("--shard", "3/3", text=text) == []
    capsys.readouterr()
    shards = [lab("--shard", f"{number}/3", text=text) for number in (2, 1)]
    assert "without --shard" in capsys.readouterr().out.splitlines()[-1]
    assert [len(shard) for shard in shards] == [3, 6]
    assert lab(text=text) == ["rank"]
    assert sorted([*shards[0], *shards[1], "rank"]) == sorted(at_once)
    assert tree(tmp_path / "out") == before


def tree(output: Path) -> dict[str, bytes]:
    """The contents of all files below a folder, except locks."""
    return {str(path.relative_to(output)): path.read_bytes() for path in output.rglob("[!.]*") if path.is_file()}


@pytest.mark.parametrize("seed", range(10))
def test_shards_partition_the_runs(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    lines = []
    for k in range(drawn.randint(1, 9)):
        begins = f"--init_from @models/m{drawn.randrange(k)}" if k and drawn.random() < 0.5 else ""
        lines += [f"  models/m{k}: train {begins} --steps {k}"]
        lines += [f"  s{j}/m{k}: evaluate --checkpoint @models/m{k}" for j in range(drawn.randint(1, 3))]
    steps = [*read(tmp_path, "\n".join(["steps:", *lines, "  table: compare @s0/*"])).values()]
    count = drawn.randint(1, 6)
    shares = [steps_of_shard(steps, number, count) for number in range(1, count + 1)]
    assert sorted((step for each in shares for step in each), key=steps.index) == steps[:-1]
    for each in shares:
        assert each == sorted(each, key=steps.index)
        assert all(need in each for step in each for need in step.needs)
    lengths = sorted(map(len, shares))
    begins_anew = [step for step in steps if not step.needs]
    assert lengths.count(0) == max(0, count - len(begins_anew))  # no shard is idle while another has two groups


LAUNCHERS = {  # as srun and torchrun set them in the second of two processes
    "SLURM_NTASKS": "2", "SLURM_PROCID": "1", "SLURM_LOCALID": "1", "SLURM_NTASKS_PER_NODE": "2",
    "RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "node1", "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "none", "GROUP_RANK": "0", "LOCAL_WORLD_SIZE": "2",
}  # fmt: skip
KEPT = {"SLURM_JOB_ID": "1234567", "SLURM_ARRAY_TASK_ID": "3", "CUDA_VISIBLE_DEVICES": "1", "OMP_NUM_THREADS": "1"}


def test_a_step_is_not_one_of_the_processes_of_a_launcher(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (LAUNCHERS | KEPT).items():
        monkeypatch.setenv(name, value)
    assert TorchElasticEnvironment.detect()  # a step would wait for others
    assert SLURMEnvironment.detect()
    lab("--only", "train")
    _, environment = json.loads((tmp_path / "seen.json").read_text())
    assert not LAUNCHERS.keys() & environment.keys()
    assert KEPT.items() <= environment.items()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status", "name"), [(signal.SIGINT, 130, "Ctrl-C"), (signal.SIGTERM, 143, "SIGTERM")]
)
def test_a_signal_ends_the_step_and_then_the_recipe(
    tmp_path: Path, command: Path, number: int, status: int, name: str
) -> None:
    (tmp_path / "own.yaml").write_text("steps: {models/base: train --steps slow}")
    main = f"import sys; sys.executable = {str(command)!r}; sys.argv[0] = 'heedful'"
    main += "; from heedful.cli import command; command.run()"
    argv = [sys.executable, "-c", main, "suite", str(tmp_path / "own.yaml"), "--output", str(tmp_path / "out")]
    listens = partial(signal.signal, number, signal.SIG_DFL)  # a shell's background jobs ignore Ctrl-C
    with subprocess.Popen(argv, cwd=ROOT, preexec_fn=listens, stderr=subprocess.PIPE, text=True) as started:
        log = tmp_path / "out" / "models" / "base.log"
        while not (log.is_file() and log.read_text()):
            assert started.poll() is None
            time.sleep(0.01)
        os.kill(started.pid, number)
        _, err = started.communicate(timeout=120)
    assert started.returncode == status
    assert err.strip() == f"heedful suite: stopped by {name}: the same command resumes."


REAL = """
steps:
  models/one: >-
    train --model.backbone {backbone} --model.max_length 32 --data.n_train 64 --data.n_validation 37
    --trainer.max_epochs 1 --trainer.accelerator cpu --trainer.devices 2
  models/two: >-
    train --init_from @models/one --data planted --data.n_train 32 --data.n_validation 37 --trainer.max_epochs 1
    --trainer.accelerator cpu
  own/one: evaluate --checkpoint @models/one --evaluations accuracy --trainer.accelerator cpu --trainer.devices 2
  own/two: evaluate --checkpoint @models/two --evaluations accuracy --trainer.accelerator cpu
  table: compare @own/*
"""


@pytest.mark.slow
def test_real_commands(tiny_bert: Path, tmp_path: Path) -> None:
    """The environment has the variables of srun."""
    (tmp_path / "own.yaml").write_text(REAL.format(backbone=tiny_bert))
    argv = [sys.executable, "-m", "heedful", "suite", str(tmp_path / "own.yaml"), "--output", str(tmp_path / "out")]
    subprocess.run(argv, cwd=ROOT, env=os.environ | LAUNCHERS | KEPT, timeout=1500, check=True)
    out = tmp_path / "out"
    processes = [json.loads((out / name / "run.json").read_text())["processes"] for name in ("models/one", "own/one")]
    assert processes == [2, 2]
    assert all(name in (out / "table.txt").read_text() for name in ("one", "two"))
    identities = [json.loads((out / f"{of}/two/results.json").read_text())["identity"] for of in ("models", "own")]
    assert identities[0]["weights"] == identities[1]["weights"]
