"""Runs that are killed or stopped and then resumed, in forks of one process: see fork_runs.py."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

ROOT = Path(__file__).parents[2]
BATCH = "heedful.lightning_modules.classifier:Classifier.on_train_batch_start"
COUNTERFACTUAL = ["--augment", "counterfactual", "--data.resample_counterfactuals", "true"]
EVALUATING = "heedful.callbacks.engine.callback:EvaluationCallback.on_validation_epoch_end"
FINAL = "heedful.callbacks.outputs.board:Board.final"
KINDS = {  # name: (flags, processes); between 14 and 34 batches
    "plain": ([], 1),
    "workers": (["--data.num_workers", "1", *COUNTERFACTUAL], 1),
    "accumulated": (["--trainer.accumulate_grad_batches", "3", *COUNTERFACTUAL], 1),
    "both": (["--trainer.accumulate_grad_batches", "3", "--data.num_workers", "2"], 1),
    "two": (["--trainer.devices", "2", "--trainer.strategy", "ddp", *COUNTERFACTUAL], 2),
    "two_accumulated": (
        ["--trainer.devices", "2", "--trainer.strategy", "ddp", "--trainer.accumulate_grad_batches", "3"]
        + ["--data.num_workers", "2"],
        2,
    ),
    "twice_validated": (["--trainer.val_check_interval", "0.5", "--checkpoint.last_every_n_steps", "5"], 1),
    "twice_validated_accumulated": (
        ["--trainer.val_check_interval", "0.5", "--trainer.accumulate_grad_batches", "3"]
        + ["--checkpoint.last_every_n_steps", "1"],
        1,
    ),
    "ends_unvalidated": (["--trainer.val_check_interval", "0.4", "--data.n_train", "400"], 1),
    "by_steps": (["--trainer.max_steps", "17", "--trainer.max_epochs", "-1"], 1),
    "validated_by_steps": (
        ["--trainer.max_steps", "17", "--trainer.max_epochs", "-1", "--trainer.check_val_every_n_epoch", "null"]
        + ["--trainer.val_check_interval", "4"],
        1,
    ),
    "stopped_early": (
        ["--trainer.callbacks", "EarlyStopping", "--trainer.callbacks.monitor", "accuracy/planted"]
        + ["--trainer.callbacks.min_delta", "1", "--trainer.callbacks.patience", "1", "--trainer.max_epochs", "6"],
        1,
    ),
}


class Forks:
    """A process that has imported the libraries of runs and forks a process for each run: see fork_runs.py."""

    def __init__(self, folder):
        self.log, self.ended = folder / "log", 0
        env = {name: value for name, value in os.environ.items() if not name.startswith("PL_")}  # seeds of tests before
        env |= {"OMP_NUM_THREADS": "1", "COLUMNS": "80", "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "cache")}
        self.process = subprocess.Popen(
            [sys.executable, ROOT / "tests" / "helpers" / "fork_runs.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**env, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'helpers'}"},
        )
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=30)

    def run(self, *argv, log=None, **job):
        """(Exit statuses, output)."""
        while self.ended == int(time.time()) and {"--resume", "--ckpt_path"} & {*argv}:
            time.sleep(0.02)  # files of events of one second are read in the order of process ids, as text
        log = log or self.log
        log.unlink(missing_ok=True)
        self.process.stdin.write(json.dumps(job | {"argv": [*map(str, argv)], "log": str(log)}) + "\n")
        self.process.stdin.flush()
        statuses, self.ended = json.loads(self.process.stdout.readline()), int(time.time())
        return statuses, log.read_text()

    def script(self, code, *argv, **job):
        """The output of a script that must succeed."""
        statuses, out = self.run(*argv, command="script", script=code, **job)
        assert statuses == [0], out[-3000:]
        return out


class Lab:
    """Runs of train.py and evaluate.py on a small model, and undisturbed runs to compare them with."""

    def __init__(self, tiny_bert, folder, forks):
        self.folder, self.forks, self.references, self.kinds = folder, forks, {}, dict(KINDS)
        self.argv = ["--model.backbone", str(tiny_bert), "--model.max_length", "64", "--model.learning_rate", "0.003"]
        self.argv += ["--data.n_train", "300", "--data.n_validation", "37", "--trainer.accelerator", "cpu"]
        self.argv += ["--attentiveness.draws", "2", "--checkpoint.last_every_n_steps", "2"]
        self.argv += ["--trainer.log_every_n_steps", "1"]

    def run(self, *argv, processes=1, **job):
        """(Exit statuses, output)."""
        return self.forks.run(*argv, processes=processes, sketched=True, **job)

    def command(self, kind):
        """(Command line, number of processes) of a kind of run."""
        flags, processes, *argv = self.kinds[kind]
        return [*(argv[0] if argv else self.argv), *flags], processes

    def whole(self, kind):
        """The folder of an undisturbed run."""
        if kind not in self.references:
            argv, processes = self.command(kind)
            self.references[kind] = self.folder / f"whole-{kind}"
            statuses, out = self.run(*argv, f"--output={self.references[kind]}", processes=processes)
            assert statuses == [0] * processes, out
        return self.references[kind]

    def killed(self, kind, kill, name):
        """The folder of a run that is killed."""
        argv, processes = self.command(kind)
        folder = self.folder / name
        statuses, out = self.run(*argv, "--output", str(folder), kill=kill, processes=processes)
        assert statuses[0] == -9, out
        assert -14 not in statuses, f"a process outlived the other:\n{out}"
        return folder

    def stopped(self, kind, kill, name):
        """The folder of a run that is stopped by SIGTERM, and the sentence that it prints."""
        argv, processes = self.command(kind)
        folder = self.folder / name
        statuses, out = self.run(*argv, "--output", str(folder), kill=kill, processes=processes)
        assert statuses == [143] * processes, out
        assert "Traceback" not in out
        (sentence,) = [line for line in out.splitlines() if line.startswith("train.py: ")]
        return folder, sentence

    def resumed(self, kind, folder, *argv):
        """The output of a resumed run."""
        statuses, out = self.run("--resume", str(folder), *argv, processes=self.kinds[kind][1])
        assert statuses == [0] * self.kinds[kind][1], out
        return out


def tensors(value, path=""):
    """Yield the tensors in the weights or the optimizer state of a checkpoint, with their paths."""
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from tensors(inner, f"{path}/{key}")


def curves(folder):
    events = EventAccumulator(str(folder)).Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def assert_same(whole, other):
    for name in ("checkpoints/best.ckpt", "last.ckpt"):  # which the harness keeps
        a, b = (torch.load(run / name, weights_only=True) for run in (whole, other))
        assert (a["epoch"], a["global_step"]) == (b["epoch"], b["global_step"])
        assert a.get("lr_schedulers") == b.get("lr_schedulers")
        for part in ("state_dict", "optimizer_states"):
            of_a, of_b = dict(tensors(a.get(part, {}))), dict(tensors(b.get(part, {})))
            assert of_a.keys() == of_b.keys()
            different = [path for path, value in of_a.items() if not torch.equal(value, of_b[path])]
            assert not different, f"{name}: {different}"
    rows = [str(path.relative_to(whole)) for path in (whole / "rows").iterdir()]
    assert len(rows) == len(list((other / "rows").iterdir())) >= 2
    for name in ["results.json", "checkpoints/backbone/model.safetensors", *rows]:
        assert (whole / name).read_bytes() == (other / name).read_bytes(), name
    assert {p.name for p in (other / "checkpoints").iterdir()} == {p.name for p in (whole / "checkpoints").iterdir()}
    assert {p.name for p in other.iterdir() if p.name[0] == "."} == set()
