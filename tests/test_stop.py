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

from heedful import stopping

from commands import guarded
from run_lab import BATCH, EVALUATING, FINAL, assert_same, curves

ROOT = Path(__file__).parents[1]
CHANGING = "heedful.callbacks.engine.experiment:Experiment._prepare"
TWO = ["--trainer.devices", "2", "--trainer.strategy", "ddp"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "kill", "words"),
    [
        ("workers", [BATCH, 12, "term"], "at step 12; step 12 is saved"),
        ("accumulated", [BATCH, 5, "term"], "at step 2; step 2 is saved"),
        ("two", [BATCH, 12, "term"], "at step 12; step 12 is saved"),
        ("plain", [EVALUATING, 1, "term"], "at step 10; step 8 is saved"),
        ("plain", [EVALUATING, 3, "term"], "at step 20; step 20 is saved"),
        ("two", [CHANGING, 2, "term"], "is saved"),
        ("twice_validated_accumulated", [CHANGING, 3, "term"], "at step 5; step 5 is saved"),
    ],
)
def test_a_stopped_run_ends_in_the_same_bits(lab, kind, kill, words):
    folder, sentence = lab.stopped(kind, kill, f"stopped-{kind}-{kill[0][-8:]}-{kill[1]}")
    assert words in sentence
    assert f"train --resume {folder}" in sentence or f"train.py --resume {folder}" in sentence
    assert not (folder / "results.json").exists()
    trains = "Epoch " in lab.resumed(kind, folder)
    assert trains == (words != "at step 20; step 20 is saved")  # the last step
    assert_same(lab.whole(kind), folder)
    assert curves(folder) == curves(lab.whole(kind))


@pytest.mark.slow
def test_a_run_that_is_stopped_before_its_first_step_has_nothing_to_save(lab):
    kill = ["heedful.callbacks.outputs.run_folder:RunFolder.on_fit_start", 1, "term"]
    folder, sentence = lab.stopped("plain", kill, "begun")
    assert "nothing was saved yet" in sentence
    assert not list(folder.rglob("*.ckpt"))
    statuses, out = lab.run(*lab.argv, "--output", str(folder), "--ckpt_path", "last")
    assert statuses == [0], out
    assert_same(lab.whole("plain"), folder)


@pytest.mark.slow
def test_a_run_that_writes_its_results_finishes_first(lab):
    folder = lab.folder / "writing"
    statuses, out = lab.run(*lab.argv, "--output", str(folder), kill=[FINAL, 1, "term"])
    assert statuses == [0], out
    assert "is finished" in lab.resumed("plain", folder)
    assert_same(lab.whole("plain"), folder)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_a_stopped_evaluation_leaves_no_results(lab, processes):
    folder = lab.folder / f"evaluated-{processes}"
    argv = ["--checkpoint", str(lab.whole("plain") / "checkpoints" / "best.ckpt"), "--output", str(folder)]
    argv += ["--trainer.accelerator", "cpu", *(TWO if processes == 2 else [])]
    statuses, out = lab.run(*argv, kill=[CHANGING, 1, "term"], processes=processes, command="evaluate")
    assert statuses == [143] * processes, out
    assert "Traceback" not in out
    assert out.count("evaluate.py: stopped by SIGTERM before there were results.") == 1
    assert {path.name for path in folder.rglob("*") if path.is_file()} <= {"config.yaml", "run.json"}


@pytest.mark.slow
def test_ctrl_c_is_not_the_end_of_a_run(lab):
    folder = lab.folder / "interrupted"
    statuses, out = lab.run(*lab.argv, "--output", str(folder), kill=[BATCH, 5, "int"])
    assert statuses == [130], out
    assert "train.py: stopped by Ctrl-C." in out
    assert f"resume {folder}" in out
    assert "Traceback" not in out
    assert not (folder / "results.json").exists()
    lab.resumed("plain", folder)
    assert_same(lab.whole("plain"), folder)


@pytest.mark.parametrize(("repeated", "status"), [(0, -signal.SIGTERM), (100, 7)])
def test_a_second_signal_ends_the_process_at_once(repeated, status):
    """Unless it follows so soon that it is the same one, sent twice."""
    child = os.fork()
    if not child:
        stopping.REPEATED = repeated
        stopping.listen()
        stopping.postpone()
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
        os._exit(7 if stopping.requested() else 8)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == status


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [(stopping.Stopped("stopped here."), 143, "stopped here."), (KeyboardInterrupt(), 130, "stopped by Ctrl-C.")],
)
def test_a_signal_is_one_sentence(monkeypatch, capsys, error, status, sentence):
    def main():
        raise error

    monkeypatch.setattr(sys, "argv", ["train.py"])
    for rank, printed in ((0, f"train.py: {sentence}\n"), (1, "")):
        monkeypatch.setattr(rank_zero_only, "rank", rank)
        with pytest.raises(SystemExit) as stop:
            guarded(main)
        assert stop.value.code == status
        assert capsys.readouterr().err == printed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("launcher", "kill", "status"),
    [([], os.killpg, 143), (["torch.distributed.run", "--nproc_per_node", "2"], os.kill, 1)],
    ids=["all processes of Lightning", "torchrun alone"],
)
def test_processes_that_others_start_stop_together(lab, tmp_path, launcher, kill, status):
    output = ["--data.n_train", "20000", "--output", str(tmp_path / "run")]
    module = ["-m", *launcher, "--master_port", "29613"] if launcher else []
    process = subprocess.Popen(
        [sys.executable, *module, ROOT / "train.py", *lab.argv, *TWO, *output],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    while not (tmp_path / "run" / "checkpoints" / "last.ckpt").is_file() and process.poll() is None:
        time.sleep(0.1)
    kill(process.pid, signal.SIGTERM)
    out, _ = process.communicate(timeout=300)
    assert process.returncode == status, out
    assert len(re.findall("stopped by SIGTERM at step .* is saved", out)) == 1, out
    assert not (tmp_path / "run" / "results.json").exists()
