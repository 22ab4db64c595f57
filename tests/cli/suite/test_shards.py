"""Shards of a suite: their shares, who is kept out meanwhile, and that together they leave what one run leaves."""

import errno
import fcntl
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pytorch_lightning.plugins.environments import (
    LightningEnvironment,
    LSFEnvironment,
    SLURMEnvironment,
    TorchElasticEnvironment,
)

from heedful.cli import evaluation
from heedful.cli.suite import command, running, shards
from heedful.cli.suite.plan import EVALUATE, RANK, TRAIN, Suite
from heedful.cli.suite.shards import Shard
from heedful.records import HeedfulError
from heedful.records.storage.claim import claim, owner_of, release
from heedful.reports import ranking
from heedful.rooms import folder

import ranking_suites
from commands import run as run_quietly
from forked import in_child
from refusals import refused, told

ROOT = Path(__file__).parents[3]
QUALITIES = {"base": 0.9, "more": 0.8, "other": 0.7, "fourth": 0.6}
SUITE = """
evaluate: --data d
ranking: --n 3 --samples 20
sets:
  one: {}
  two: {evaluate: --where x}
models:
  base: --steps 0
  more: {from: base, train: --steps 2}
  other: --steps 3
  fourth: --steps 4
"""
SRUN = {  # as srun sets them in the second of two tasks
    "SLURM_NTASKS": "2",
    "SLURM_NPROCS": "2",
    "SLURM_NTASKS_PER_NODE": "2",
    "SLURM_TASKS_PER_NODE": "2",
    "SLURM_STEP_NUM_TASKS": "2",
    "SLURM_STEP_TASKS_PER_NODE": "2",
    "SLURM_PROCID": "1",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "0",
}
TORCHRUN = {
    "RANK": "1",
    "LOCAL_RANK": "1",
    "GROUP_RANK": "0",
    "ROLE_RANK": "1",
    "ROLE_NAME": "default",
    "WORLD_SIZE": "2",
    "LOCAL_WORLD_SIZE": "2",
    "ROLE_WORLD_SIZE": "2",
    "MASTER_ADDR": "node1",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "none",
}
KEPT = {
    "SLURM_JOB_ID": "1234567",
    "SLURM_ARRAY_TASK_ID": "3",
    "SLURM_JOB_NUM_NODES": "1",
    "SLURM_CPUS_PER_TASK": "4",
    "SLURM_STEP_ID": "0",
    "CUDA_VISIBLE_DEVICES": "1",
    "OMP_NUM_THREADS": "1",
}


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> Iterator[None]:
    yield
    release()


class Lab:
    """Runs suites whose steps are made in this process: trainings take no time, evaluations write real results."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder = tmp_path
        self.steps: list[str] = []
        self.environments: list[dict[str, str]] = []
        self.now = 0

    def run(self, *argv: str, text: str = SUITE) -> list[str]:
        """The steps that a run of the suite took; what it claimed is free again."""
        (self.folder / "own.yaml").write_text(text)
        self.steps.clear()
        command.main([str(self.folder / "own.yaml"), "--output", str(self.folder / "out"), *argv])
        release()
        return list(self.steps)

    def start(self, words: list[str], stdout: Any, env: dict[str, str], **_: Any) -> SimpleNamespace:
        """Do one step, as ``subprocess.Popen`` starts it."""
        kind, *words = words[words.index("heedful") + 1 :]
        self.environments.append(env)
        if kind == RANK:
            self.steps.append(RANK)
            with redirect_stdout(StringIO()) as printed, pytest.MonkeyPatch.context() as patch:
                patch.setenv("COLUMNS", "80")
                ranking.main(words)
            stdout.write(printed.getvalue().encode())
        else:
            self._make(kind, words, Path(words[words.index("--output") + 1]))
        return SimpleNamespace(wait=lambda: 0)

    def _make(self, kind: str, words: list[str], output: Path) -> None:
        self.steps.append(f"{kind} {output.parent.name}/{output.name.removeprefix('.')}")
        self.now += 1
        output.mkdir(parents=True, exist_ok=True)
        if kind == EVALUATE:
            name = output.name.removeprefix(".")
            ranking_suites.save(output, QUALITIES[name], output.parent.name, examples=60, population=20)
        when = f"2030-01-01T00:00:{self.now:02}"
        about = {"command": ["heedful", kind, *words], "started": when, "finished": when}
        (output / "run.json").write_text(json.dumps(about))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    lab = Lab(tmp_path)
    monkeypatch.setattr(running, "subprocess", SimpleNamespace(Popen=lab.start, STDOUT=None))
    return lab


def left(output: Path) -> dict[str, bytes]:
    """What a suite leaves for its readers, by path."""
    named = [*output.rglob("results.json"), *output.rglob("*.parquet"), *output.rglob("*.png"), output / "ranking.txt"]
    return {str(path.relative_to(output)): path.read_bytes() for path in named}


@pytest.mark.slow
def test_shards_and_then_a_ranking_leave_what_one_run_leaves(lab: Lab, tmp_path: Path) -> None:
    at_once = lab.run()
    whole = left(tmp_path / "out")
    assert {"ranking.txt", "one/base/results.json", "two/fourth/rows/attributions.parquet"} < set(whole)
    assert any(name.endswith(".png") for name in whole)
    shutil.rmtree(tmp_path / "out")
    shares = [lab.run("--shard", f"{number}/4") for number in (2, 4, 1, 3)]
    assert [len(share) for share in shares] == [3, 0, 6, 3]
    assert RANK not in [step for share in shares for step in share]
    assert not (tmp_path / "out" / "ranking.txt").exists()
    assert lab.run() == [RANK]
    assert Counter(at_once) == Counter([*(step for share in shares for step in share), RANK])
    assert left(tmp_path / "out") == whole
    assert not [path.name for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


def reference(models: dict[str, str | None], sets: int, count: int) -> list[set[str]]:
    """The models of each shard: of families, the largest first, each to the shard with the least work."""
    families: list[list[str]] = []
    for name in models:  # in the order of their first model's first mention among the steps
        ancestor = name
        while (parent := models[ancestor]) is not None:
            ancestor = parent
        family = next((family for family in families if ancestor in family), None)
        if family is None:
            families.append([ancestor])
            family = families[-1]
        if name not in family:
            family.append(name)
    shares: list[set[str]] = [set() for _ in range(count)]
    work = [0] * count
    for family in sorted(families, key=lambda family: -len(family)):
        lightest = work.index(min(work))
        shares[lightest] |= set(family)
        work[lightest] += len(family) * (1 + sets)
    return shares


@pytest.mark.parametrize("seed", range(30))
def test_a_share_is_a_function_of_the_suite_and_the_number_of_shards(tmp_path: Path, seed: int) -> None:
    drawn = random.Random(seed)
    models: dict[str, str | None] = {}
    for k in range(drawn.randint(1, 9)):
        models[f"m{k}"] = drawn.choice([*models]) if models and drawn.random() < 0.5 else None
    order = drawn.sample([*models], len(models))  # a model may stand before the one that it begins from
    lines = [f"  {name}: {{from: {models[name]}, train: --steps {name}}}" for name in order if models[name]]
    lines += [f"  {name}: --steps {name}" for name in order if not models[name]]
    sets = [f"  s{k}: {{}}" for k in range(drawn.randint(1, 3))]
    file = tmp_path / "own.yaml"
    file.write_text("\n".join(["sets:", *sets, "models:", *lines, ""]))
    written = {name: models[name] for name in [line.split()[0][:-1] for line in lines]}
    count = drawn.randint(1, 6)
    steps = Suite(file, None).steps(Path("out"))
    elsewhere = Suite(file, None).steps(Path("other"), "accuracy")
    shares = [Shard(number, count).share(steps) for number in range(1, count + 1)]
    assert sorted((step for share in shares for step in share), key=steps.index) == steps[:-1]
    assert [{step.name for step in share if step.kind == TRAIN} for share in shares] == reference(
        written, len(sets), count
    )
    for number, share in enumerate(shares, 1):
        folders = {step.folder for step in share}
        assert all(step.needs is None or step.needs in folders for step in share)
        assert share == sorted(share, key=steps.index)
        again = Shard(number, count).share(elsewhere)
        assert [(step.kind, step.name) for step in again] == [(step.kind, step.name) for step in share]


@pytest.mark.parametrize(
    ("name", "count", "sizes"), [("msgs", 4, [10, 10, 8, 8]), ("msgs", 36, [2] * 18 + [0] * 18), ("hans", 2, [18, 0])]
)
def test_shares_of_the_suites_of_the_paper(name: str, count: int, sizes: list[int]) -> None:
    steps = Suite(folder("configs") / "suite" / f"{name}.yaml", "/d").steps(Path("out"))
    assert [len(Shard(number, count).share(steps)) for number in range(1, count + 1)] == sizes


@pytest.mark.parametrize(
    "written", ["0/8", "9/8", "x", "1/0", "-1/8", "1", "1/2/3", "1.5/8", "", "1/", "٣/٨", "1/9999999"]
)
def test_what_is_not_a_shard_is_refused(lab: Lab, tmp_path: Path, written: str) -> None:
    with refused("bad-setting", f"--shard {written} ".strip(), "3/8"):
        lab.run(f"--shard={written}")
    assert not (tmp_path / "out").exists()


def test_only_chooses_among_the_steps_of_a_shard(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.run("--shard", "2/2", "--only", "train") == ["train models/other", "train models/fourth"]
    assert lab.run("--shard", "2/2", "--only", "two") == ["evaluate two/other", "evaluate two/fourth"]
    capsys.readouterr()
    assert lab.run("--shard", "1/2", "--only", "fourth") == []
    assert capsys.readouterr().out.startswith("Shard 1/2 has nothing to do. ")
    with refused("clashing-settings", "--only rank", "--shard 1/2"):
        lab.run("--shard", "1/2", "--only", "train,rank")
    with refused("unknown-name", "--only fifth"):
        lab.run("--shard", "1/2", "--only", "fifth")


def test_a_shard_says_how_the_ranking_is_reached(lab: Lab, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    lab.run("--shard", "2/2", "--only", "train", "--data_path", "a folder")
    *_, last, hint = capsys.readouterr().out.splitlines()
    assert last == "Shard 2/2 has ended. This ranks, when all have ended:"
    assert hint == f"    heedful suite {tmp_path / 'own.yaml'} --data_path 'a folder' --output {tmp_path / 'out'}"
    lab.run("--shard", "2/2", "--evaluations", "accuracy", "--only", "train")
    assert capsys.readouterr().out.splitlines()[-1] == "Shard 2/2 has ended."  # and without attributions nothing ranks
    lab.run("--shard", "2/2", "--evaluations", "attributions", "--only", "train")
    assert capsys.readouterr().out.endswith("--evaluations attributions\n")


def test_a_shard_without_models_ends_well_and_leaves_nothing(
    lab: Lab, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert lab.run("--shard", "4/4") == []
    assert capsys.readouterr().out.splitlines()[0] == "Shard 4/4 has nothing to do. This ranks, when all have ended:"
    assert not (tmp_path / "out").exists()


def claims(output: Path, shard: str | None) -> None:
    """Claim a folder as a run of a shard does, or of the whole suite."""
    if shard is None:
        claim(output, f"--output {output}")
    else:
        Shard.read(shard).claim(output)


@pytest.mark.parametrize(
    ("runs", "starts", "facts"),
    [
        ("1/2", "2/2", None),
        ("10/12", "1/12", None),
        ("1/2", "1/2", ("--shard 1/2", "process {pid} on ")),
        ("1/2", "1/3", ("--shard 1/3", "process {pid} on ", "1/2", "of 2")),
        ("3/3", "2/2", ("--shard 2/2", "process {pid} on ", "3/3")),
        ("1/2", None, ("--output", "a shard")),
        (None, "1/2", ("--output", "process {pid} on ")),
    ],
)
def test_who_is_kept_out(tmp_path: Path, runs: str | None, starts: str | None, facts: tuple[str, ...] | None) -> None:
    output = tmp_path / "out"
    output.mkdir()
    claims(output, runs)
    status, message = in_child(lambda: claims(output, starts))
    assert status == (facts is not None)
    if facts is not None:
        told(message, "folder-taken", *(fact.format(pid=os.getpid()) for fact in facts))
    release()
    assert in_child(lambda: claims(output, starts)) == (0, "")


def test_a_shard_that_ends_leaves_the_others_their_claim(tmp_path: Path) -> None:
    claims(tmp_path, "1/2")

    def come_and_go() -> None:
        claims(tmp_path, "2/2")
        release()

    assert in_child(come_and_go) == (0, "")
    assert in_child(lambda: claims(tmp_path, None))[0] == 1
    assert in_child(lambda: claims(tmp_path, "1/2"))[0] == 1
    assert in_child(lambda: claims(tmp_path, "2/2"))[0] == 0


@pytest.mark.parametrize("starts", ["1/2", "2/2", "1/3", None])
def test_a_killed_shard_stops_nobody(tmp_path: Path, starts: str | None) -> None:
    read, write = os.pipe()
    shard = os.fork()
    if not shard:
        claims(tmp_path, "1/2")
        os.write(write, b"1")
        time.sleep(60)
        os._exit(0)
    os.read(read, 1)
    os.kill(shard, signal.SIGKILL)
    os.waitpid(shard, 0)
    assert (tmp_path / ".shard-1-of-2" / ".lock").exists()
    assert in_child(lambda: claims(tmp_path, starts)) == (0, "")


@pytest.mark.slow
def test_of_many_that_start_together_those_that_run_share_nothing(tmp_path: Path) -> None:
    starting = ["1/2", "2/2", "1/2", "1/3", "2/3", "3/3", None, None]
    for turn in range(5):
        (go, start), (answers, answer), (held, let_go) = os.pipe(), os.pipe(), os.pipe()
        children = []
        for place, shard in enumerate(starting):
            children.append(os.fork())
            if not children[-1]:
                os.close(start)
                os.close(let_go)
                os.read(go, 1)  # until the parent closes the other end
                has_claimed = True
                try:
                    claims(tmp_path / str(turn), shard)
                except HeedfulError:
                    release()  # as when the process ends
                    has_claimed = False
                os.write(answer, bytes([place, has_claimed]))
                os.read(held, 1)  # all keep what they have until each has tried
                os._exit(0)
        os.close(start)
        pairs = [os.read(answers, 2) for _ in children]
        os.close(let_go)
        for child in children:
            os.waitpid(child, 0)
        for end in (go, answers, answer, held):
            os.close(end)
        at_work = [starting[place] for place, has_claimed in pairs if has_claimed]
        assert len(set(at_work)) == len(at_work)
        assert len({shard and shard[-1] for shard in at_work}) <= 1, at_work


def test_a_shard_claims_its_own_before_it_looks_for_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or two that look at the same moment see nobody."""
    (tmp_path / ".shard-1-of-3").mkdir()
    seen: list[str | None] = []

    def look(folder: Path) -> None:
        seen.append(owner_of(tmp_path / ".shard-1-of-2"))

    monkeypatch.setattr(shards, "owner_of", look)
    claims(tmp_path, "1/2")
    assert [owner and owner.partition(" on ")[0] for owner in seen] == [f"process {os.getpid()}"]


def test_without_locks_a_word_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def unsupported(handle: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", unsupported)
    (tmp_path / ".shard-1-of-3").mkdir()
    (tmp_path / ".shard-1-of-3" / ".lock").touch()
    claims(tmp_path, "1/2")
    reason = "no locks (No locks available)"
    assert capsys.readouterr().err.splitlines() == [
        f"{tmp_path}: {reason}, so let no other process but a shard write there.",
        f"{tmp_path}/.shard-1-of-2: {reason}, so let no other process write there.",
    ]


@pytest.mark.parametrize("of_launcher", [SRUN, TORCHRUN, SRUN | TORCHRUN], ids=["srun", "torchrun", "both"])
def test_a_step_is_not_one_of_the_processes_of_a_launcher(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, of_launcher: dict[str, str]
) -> None:
    for name, value in (of_launcher | KEPT).items():
        monkeypatch.setenv(name, value)
    kind = TorchElasticEnvironment if "RANK" in of_launcher else SLURMEnvironment
    assert kind.detect()  # a step would wait for others
    before = dict(os.environ)
    lab.run("--shard", "2/2")
    assert dict(os.environ) == before
    for environment in lab.environments:
        assert {name for name in before if name not in environment} == set(of_launcher)
        assert KEPT.items() <= environment.items()
    for name in of_launcher:
        monkeypatch.delenv(name)
    assert not any(other.detect() for other in (TorchElasticEnvironment, SLURMEnvironment, LSFEnvironment))
    assert not LightningEnvironment().creates_processes_externally  # so that Lightning starts the second of two itself


REAL = """
train: >-
  --model.backbone {backbone} --model.max_length 32 --data.n_train 64 --data.n_validation 37 --trainer.max_epochs 1
  --trainer.accelerator cpu --trainer.devices 2
evaluate: --data planted --data.n_validation 37 --data.eval_batch_size 4 --trainer.accelerator cpu --trainer.devices 2
sets:
  own:
models:
  one: --model.learning_rate 1e-3
  two: --model.learning_rate 2e-3
"""


@pytest.mark.slow
def test_two_shards_at_once_whose_steps_have_two_processes_each(tiny_bert: Path, tmp_path: Path) -> None:
    """Under srun, and with a port in the environment that only one of them could have."""
    (tmp_path / "own.yaml").write_text(REAL.format(backbone=tiny_bert))
    argv = [sys.executable, "-m", "heedful", "suite", tmp_path / "own.yaml", "--output", tmp_path / "out"]
    argv += ["--evaluations", "accuracy,attentiveness,naive_partial"]
    started = []
    for number in (1, 2):
        of_task = {"SLURM_PROCID": str(number - 1), "SLURM_LOCALID": str(number - 1)}
        environment = os.environ | KEPT | SRUN | of_task | {"MASTER_PORT": "29500"}
        shard = [*argv, "--shard", f"{number}/2"]
        started.append(
            subprocess.Popen(shard, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        )
    for shard in started:
        printed, _ = shard.communicate(timeout=300)
        assert shard.returncode == 0, printed.decode()
    for name in ("one", "two"):
        several = tmp_path / "out" / "own" / name
        assert json.loads((several / "run.json").read_text())["processes"] == 2
        assert json.loads((tmp_path / "out" / "models" / name / "run.json").read_text())["processes"] == 2
        alone = tmp_path / "alone" / name
        words = "--data planted --data.n_validation 37 --data.eval_batch_size 4 --trainer.devices 1".split()
        words += ["--evaluations", "accuracy,attentiveness,naive_partial", "--output", str(alone)]
        run_quietly(evaluation.main, "--checkpoint", tmp_path / "out" / "models" / name, *words)
        files = ["results.json", *(f"rows/{path.name}" for path in (several / "rows").iterdir())]
        assert len(files) == 4
        for file in files:
            assert (several / file).read_bytes() == (alone / file).read_bytes(), file
