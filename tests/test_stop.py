"""SIGTERM stops a run where it can go on to the same bits, and ends an evaluation; neither looks finished."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pytorch_lightning.utilities import rank_zero_only

from heedful.cli import guard as mistakes
from heedful.records import stopping

from run_lab import BATCH, EVALUATING, KINDS, assert_same, curves

ROOT = Path(__file__).parents[1]
SWAPPING = "heedful.callbacks.engine.experiment:Experiment._changed"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "kill", "words"),
    [
        pytest.param(
            "plain",
            [BATCH, 3, "term"],
            "stopped by SIGTERM at step 3; step 3 is saved: continue with ",
            marks=pytest.mark.slow,
        ),
        pytest.param("workers", [BATCH, 12, "term"], "at step 12; step 12 is saved", marks=pytest.mark.slow),
        pytest.param("accumulated", [BATCH, 5, "term"], "at step 2; step 2 is saved", marks=pytest.mark.slow),
        ("two", [BATCH, 12, "term"], "at step 12; step 12 is saved"),
        pytest.param("plain", [EVALUATING, 1, "term"], "at step 10; step 8 is saved", marks=pytest.mark.slow),
        pytest.param("two", [SWAPPING, 2, "term"], "is saved", marks=pytest.mark.slow),
        pytest.param("twice_validated", [EVALUATING, 2, "term"], "at step 10; step 5 is saved", marks=pytest.mark.slow),
        ("twice_validated_accumulated", [SWAPPING, 3, "term"], "at step 5; step 5 is saved"),
        pytest.param("plain", [EVALUATING, 3, "term"], "at step 20; step 20 is saved", marks=pytest.mark.slow),
        pytest.param("two", [SWAPPING, 3, "term"], "is saved", marks=pytest.mark.slow),
    ],
)
def test_a_stopped_run_ends_in_the_same_bits(lab, kind, kill, words):
    folder, sentence = lab.stopped(kind, kill, f"stopped-{kind}-{kill[0][-8:]}-{kill[1]}")
    assert words in sentence
    assert sentence.endswith(f"continue with resume {folder}")
    assert not (folder / "results.json").exists()
    lab.resumed(kind, folder)
    assert_same(lab.whole(kind), folder)
    assert curves(folder) == curves(lab.whole(kind))


@pytest.mark.slow
def test_a_run_that_is_stopped_after_training_trains_no_more(lab):
    folder, _ = lab.stopped("plain", [EVALUATING, 3, "term"], "final")
    assert "Epoch " not in lab.resumed("plain", folder)


@pytest.mark.slow
def test_a_run_may_be_stopped_again_and_again(lab):
    folder, _ = lab.stopped("plain", [BATCH, 2, "term"], "often")
    for kill in ([BATCH, 4, "term"], [EVALUATING, 2, "term"], [EVALUATING, 1, "term"]):
        statuses, out = lab.run("--resume", str(folder), kill=kill)
        assert statuses == [143], out
    lab.resumed("plain", folder)
    assert_same(lab.whole("plain"), folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "where",
    [
        pytest.param("heedful.datamodules.base.paired_data:PairedData.setup", marks=pytest.mark.slow),
        "heedful.callbacks.outputs.run_folder:RunFolder.on_fit_start",
    ],
)
def test_a_run_that_is_stopped_before_its_first_step_has_nothing_to_save(lab, where):
    folder, sentence = lab.stopped("plain", [where, 1, "term"], f"begun-{where[-8:]}")
    assert "stopped by SIGTERM before there were results." in sentence or "nothing was saved yet" in sentence
    assert not list(folder.rglob("*.ckpt"))
    statuses, out = lab.run(*lab.argv, "--output", str(folder), "--ckpt_path", "last")
    assert statuses == [0], out
    assert_same(lab.whole("plain"), folder)


@pytest.mark.slow
def test_a_run_that_writes_its_results_finishes_first(lab):
    folder = lab.folder / "writing"
    statuses, out = lab.run(
        *lab.argv, "--output", str(folder), kill=["heedful.callbacks.outputs.board:Board.final", 1, "term"]
    )
    assert statuses == [0], out
    assert "is finished" in lab.resumed("plain", folder)
    assert_same(lab.whole("plain"), folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("processes", "kill"),
    [
        (1, ["heedful.datamodules.base.paired_data:PairedData.setup", 1, "term"]),
        (1, [SWAPPING, 1, "term"]),
        (2, [SWAPPING, 1, "term"]),
    ],
)
def test_a_stopped_evaluation_leaves_no_results(lab, processes, kill):
    folder = lab.folder / f"evaluated-{processes}-{kill[0][-5:]}"
    argv = ["--checkpoint", str(lab.whole("plain") / "checkpoints" / "best.ckpt"), "--output", str(folder)]
    argv += KINDS["two"][0][:4] if processes == 2 else []
    statuses, out = lab.run(*argv, "--trainer.accelerator", "cpu", kill=kill, processes=processes, command="evaluate")
    assert statuses == [143] * processes, out
    assert "Traceback" not in out
    assert out.count("evaluate.py: stopped by SIGTERM before there were results.") == 1
    assert {path.name for path in folder.rglob("*") if path.is_file()} <= {"config.yaml", "run.json"}


@pytest.mark.slow
@pytest.mark.parametrize("kill", [[BATCH, 5, "int"], pytest.param([EVALUATING, 3, "int"], marks=pytest.mark.slow)])
def test_ctrl_c_is_not_the_end_of_a_run(lab, kill):
    folder = lab.folder / f"interrupted-{kill[1]}"
    statuses, out = lab.run(*lab.argv, "--output", str(folder), kill=kill)
    assert statuses == [130], out
    assert "train.py: stopped by Ctrl-C." in out
    assert f"resume {folder}" in out
    assert "Traceback" not in out
    assert not (folder / "results.json").exists()
    lab.resumed("plain", folder)
    assert_same(lab.whole("plain"), folder)


def ended(work):
    """The exit status of a process that does some work; negative for a signal."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    try:
        work()
        os._exit(0)
    except SystemExit as stop:
        os._exit(stop.code)
    except BaseException:
        os._exit(99)


def test_a_second_signal_ends_the_process_at_once():
    def work(repeated):
        stopping.REPEATED = repeated
        stopping.listen()
        stopping.postpone()
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
        os._exit(7 if stopping.requested() else 8)

    assert ended(lambda: work(0)) == -signal.SIGTERM
    assert ended(lambda: work(100)) == 7  # the same signal, twice


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        (stopping.Stopped("stopped here."), 143, "stopped here."),
        (KeyboardInterrupt(), 130, "stopped by Ctrl-C."),
    ],
)
def test_a_signal_is_one_sentence(monkeypatch, capsys, error, status, sentence):
    monkeypatch.setattr(sys, "argv", ["train.py"])

    def main():
        raise error

    for rank, printed in ((0, f"train.py: {sentence}\n"), (1, "")):
        monkeypatch.setattr(rank_zero_only, "rank", rank)
        with pytest.raises(SystemExit) as stop:
            mistakes.guarded(main)
        assert stop.value.code == status
        assert capsys.readouterr().err == printed


def process_of(*argv, folder):
    """A command that trains on two processes, once it has begun."""
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*map(str, argv)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    while not (folder / "checkpoints" / "last.ckpt").is_file() and process.poll() is None:
        time.sleep(0.1)
    return process


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["lightning", "torchrun"])
@pytest.mark.parametrize("to", ["first", "all"])
def test_processes_that_others_start_stop_together(lab, tmp_path, launcher, to):
    flags, _ = KINDS["two"]
    flags = [*lab.argv, *flags, "--data.n_train", "20000", "--output", str(tmp_path / "run")]
    start = [sys.executable]
    if launcher == "torchrun":
        start += ["-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", "29613"]
    process = process_of(*start, ROOT / "train.py", *flags, folder=tmp_path / "run")
    (os.killpg if to == "all" else os.kill)(process.pid, signal.SIGTERM)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == (143 if launcher == "lightning" else 1), out
    assert len(re.findall("stopped by SIGTERM at step .* is saved", out)) == 1, out
    assert not (tmp_path / "run" / "results.json").exists()
