"""One small run from the shell of each kind: of task, on two processes, killed, stopped. All others are slow tests."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from heedful.cli.command import evaluate, train
from heedful.records import KINDS
from heedful.records.rows import read_rows
from heedful.reports.rescore import rescored

import fork_runs
from commands import QUIET, results_of, run
from run_lab import BATCH, assert_same

PLANTED = ["--data.n_train", "16", "--data.n_validation", "9", "--model.max_length", "64"]
DRAWS = ["--attentiveness.draws", "2"]
READER = ["--model.max_length", "24", "--model.overlap", "6", "--model.longest_answer", "4"]
GOLD = [["entailment"], ["entailment", "neutral"], ["neutral", "contradiction"], ["contradiction"]]


def write_ambiguous(folder: Path) -> None:
    """Pairs of which several labels may be right."""
    folder.mkdir()
    for split, n in (("train", 16), ("validation", 9)):
        rows = [
            {"premise": f"the dog {split[0]} {i}", "hypothesis": f"a boy {i % 3}", "label": GOLD[i % 4]}
            for i in range(n)
        ]
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def command(
    tmp_path: Path, request: pytest.FixtureRequest, write_squad: Callable[[Path, int], Path]
) -> Callable[[str], tuple[list[str], str]]:
    """The command line of a run of a kind of task, and the name of its data."""

    def command(kind: str) -> tuple[list[str], str]:
        if kind == "classification":
            return ["--model.backbone", str(request.getfixturevalue("tiny_bert")), *PLANTED], "planted"
        if kind == "soft":
            write_ambiguous(tmp_path / "ambiguous")
            argv = ["--data", "mnli", "--data.path", str(tmp_path / "ambiguous"), "--data.several", "list"]
            argv += ["--data.splits", "{train: train, validation: validation}", "--data.groups", "[]"]
            argv += ["--model.max_length", "32", "--model.max_unknown", "0.9"]
            return [*argv, "--model.backbone", str(request.getfixturevalue("tiny_bert"))], "mnli"
        argv = [
            "--data",
            "squad2",
            "--data.path",
            str(write_squad(tmp_path / "squad.json", 3)),
            "--data.hold_out",
            "20",
        ]
        if kind == "text":
            return [
                *argv,
                "--model",
                "t5",
                "--model.longest_answer",
                "4",
                "--model.backbone",
                str(request.getfixturevalue("tiny_t5")),
            ], "squad2"
        return [*argv, *READER, "--model.backbone", str(request.getfixturevalue("tiny_bert"))], "squad2"

    return command


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_and_its_evaluation_have_the_same_numbers(
    kind: str, command: Callable[[str], tuple[list[str], str]], tmp_path: Path
) -> None:
    argv, data = command(kind)
    run(train, *argv, *DRAWS, "--trainer.max_epochs", "1", "--output", tmp_path / "run")
    metrics = results_of(tmp_path / "run")["metrics"]
    assert metrics[f"null/{data}/flips"]["value"] == 0
    assert any(name.startswith(f"attentiveness/{data}/") for name in metrics)
    rows, _ = read_rows(tmp_path / "run" / "rows" / "attentiveness.parquet")
    assert {"base", "swap"} <= {*rows["intervention"].to_pylist()}
    assert rescored(tmp_path / "run") == (tmp_path / "run" / "results.json").read_text()
    checkpoint = tmp_path / "run" / "checkpoints" / "best.ckpt"
    run(evaluate, "--checkpoint", checkpoint, *DRAWS, "--output", tmp_path / "evaluation")
    assert results_of(tmp_path / "evaluation")["metrics"] == metrics


def started(log: Path, *argv: str, **job: object) -> tuple[list[int], str]:
    """Exit statuses of a command in forks of this process, and what they print, without threads of tokenizers."""
    job = {"argv": [*argv, *QUIET], "log": str(log), "sketched": True, "env": {"TOKENIZERS_PARALLELISM": "false"}} | job
    return fork_runs.run(job), log.read_text()


@pytest.fixture(scope="module")
def whole(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path]:
    """The command line of a run of four batches, and its folder."""
    folder = tmp_path_factory.mktemp("whole")
    argv = ["--model.backbone", str(tiny_bert), *PLANTED, *DRAWS, "--data.batch_size", "4"]
    argv += ["--trainer.max_epochs", "1", "--checkpoint.last_every_n_steps", "1"]
    statuses, out = started(folder / "log", *argv, "--output", str(folder / "run"))
    assert statuses == [0], out
    return argv, folder / "run"


def test_two_processes_write_the_same_bytes(whole: tuple[list[str], Path], tmp_path: Path) -> None:
    argv = ["--checkpoint", str(whole[1] / "checkpoints" / "best.ckpt"), *DRAWS, "--output", str(tmp_path / "two")]
    argv += ["--trainer.devices", "2", "--trainer.strategy", "ddp"]
    statuses, out = started(tmp_path / "log", *argv, command="evaluate", processes=2)
    assert statuses == [0, 0], out
    for name in ("results.json", "rows/accuracy.parquet", "rows/attentiveness.parquet"):
        assert (tmp_path / "two" / name).read_bytes() == (whole[1] / name).read_bytes(), name


@pytest.mark.parametrize(("when", "status"), [("before", -9), ("term", 143)])
def test_a_run_that_is_ended_goes_on_to_the_same_bits(
    whole: tuple[list[str], Path], when: str, status: int, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    ended, out = started(tmp_path / "log", *whole[0], "--output", str(folder), kill=[BATCH, 3, when])
    assert ended == [status], out
    assert not (folder / "results.json").exists()
    statuses, out = started(tmp_path / "log", "--resume", str(folder))
    assert statuses == [0], out
    assert_same(whole[1], folder)
