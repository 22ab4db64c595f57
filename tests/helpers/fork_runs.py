"""Runs train.py, evaluate.py and scripts of tests in forked processes, which need not import libraries again.

Reads jobs from stdin, one JSON object a line, and answers each with the exit statuses of its processes.

    command     "train", "evaluate" or "script"
    script      the code of a script
    argv        its command line
    log         file of stdout and stderr of all processes
    env         environment variables; null removes a variable
    cwd         folder to work in
    limit       maximum size of a file in bytes: a longer write fails as on a full disk
    sketched    whether figures of curves stay empty, which is faster
    processes   number of processes, connected as by torchrun
    kill        null, or [function, nth, when, word]: SIGKILL to rank 0 "before" or "after" its nth call of the function
                with the word among the arguments; or to the last rank and its workers SIGTERM ("term") or SIGINT
                ("int"), or an error ("raise")
    signals     null, or [number, seconds, ranks]: a signal to ranks and their workers some seconds after the start

The last.ckpt of a finished run is kept beside its checkpoints/, for comparison.
"""

import gc
import importlib
import io
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[2]))

import matplotlib.backends.backend_agg  # noqa: F401
import pandas  # noqa: F401
import timm
import torch
from matplotlib.figure import Figure
from pytorch_lightning.utilities import rank_zero_only
from ranks import exit_after, free_port
from transformers import BertConfig, BertModel, logging

from heedful.callbacks.checkpoints.files import LAST, remove_last
from heedful.callbacks.outputs import board, run_folder
from heedful.cli import command

from commands import guarded


def watch(where: str, nth: int, when: str, word: str = "") -> None:
    """Replace a function by one that ends this process at its nth call."""
    module, _, path = where.partition(":")
    owner = importlib.import_module(module)
    *names, last = path.split(".")
    for name in names:
        owner = getattr(owner, name)
    original, left = getattr(owner, last), [nth]

    def replacement(*args, **kwargs):
        if word in " ".join(map(str, args[:3] if word else ())):
            left[0] -= 1
        if left[0] == 0 and when == "raise":
            raise RuntimeError("the disk of rank 1 is on fire")
        if left[0] == 0 and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        if left[0] == 0 and when in ("term", "int"):
            left[0] -= 1  # the process may go on
            os.killpg(0, signal.SIGTERM if when == "term" else signal.SIGINT)
        result = original(*args, **kwargs)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, last, replacement)


def keep_last(folder: Path) -> None:
    """Remove the last checkpoints of a finished run, but keep a link to last.ckpt."""
    if (folder / LAST).exists():
        (folder.parent / LAST).unlink(missing_ok=True)
        os.link(folder / LAST, folder.parent / LAST)
    remove_last(folder)


def without_hub() -> None:
    """Make timm build networks with random weights."""
    create = timm.create_model
    timm.create_model = lambda name, pretrained, **kwargs: create(name, **kwargs)


def child(job: dict, rank: int, port: int) -> None:
    """Run a rank of a job in this process, and exit."""
    with open(job["log"], "a") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have made children ignore it
    for name, value in (job.get("env") or {}).items():
        os.environ.pop(name, None) if value is None else os.environ.update({name: value})
    os.chdir(job.get("cwd") or ".")
    if job.get("limit"):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (job["limit"], job["limit"]))
    exit_after(prepared(job, rank, port))


def prepared(job: dict, rank: int, port: int) -> Callable[[], None]:
    """A function that runs the script or the command of a job."""
    if job.get("command") == "script":
        sys.argv = ["-c", *job["argv"]]
        return lambda: exec(compile(job["script"], "<script>", "exec"), {"__name__": "__main__"})
    words = [job.get("command", "train"), *job["argv"]]
    sys.argv = [f"{job.get('command', 'train')}.py", *job["argv"]]
    world = job.get("processes", 1)
    if world > 1:
        os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), GROUP_RANK="0", WORLD_SIZE=str(world))
        os.environ.update(LOCAL_WORLD_SIZE=str(world), TORCHELASTIC_RUN_ID="test")
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        rank_zero_only.rank = rank  # Lightning set it at import
    run_folder.remove_last = keep_last
    without_hub()
    if job.get("sketched"):
        board.history_figure = lambda points, title: Figure(figsize=(1, 1))
    if job.get("kill") and rank == (world - 1 if job["kill"][2] in ("raise", "term", "int") else 0):
        watch(*job["kill"])
    return lambda: guarded(lambda: command.main(words))


def run(job: dict) -> list[int]:
    """Exit statuses of the ranks; minus a signal, or -14 for a rank that outlives another by half a minute."""
    port = free_port()
    pids = []
    for rank in range(job.get("processes", 1)):
        pids.append(os.fork())
        if not pids[-1]:
            child(job, rank, port)
    statuses: dict[int, int] = {}
    end = time.monotonic() + 240
    number, seconds, ranks = job.get("signals") or (0, 1e9, [])
    due = time.monotonic() + seconds
    while len(statuses) < len(pids):
        for pid in pids:
            done, status = (0, 0) if pid in statuses else os.waitpid(pid, os.WNOHANG)
            if done:
                statuses[pid] = os.waitstatus_to_exitcode(status)
                end = min(end, time.monotonic() + 30)
            elif pid not in statuses and time.monotonic() > end:
                os.kill(pid, signal.SIGALRM)
        if time.monotonic() > due:
            due = float("inf")
            for rank in ranks:
                if pids[rank] not in statuses:
                    os.killpg(pids[rank], number)
        time.sleep(0.02)
    return [statuses[pid] for pid in pids]


def warm() -> None:
    """Do what every run would do first: build the parser and load a model."""
    logging.disable_progress_bar()
    config = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    with TemporaryDirectory() as folder, torch.inference_mode():
        BertModel(config).save_pretrained(folder)
        BertModel.from_pretrained(folder)(torch.zeros(1, 4, dtype=torch.long))
    sys.argv = ["train.py", "--print_config"]
    with redirect_stdout(io.StringIO()), suppress(SystemExit):
        command.train(["--print_config"])


if __name__ == "__main__":
    warm()
    gc.collect()
    gc.freeze()  # forks neither collect nor copy imported objects
    print("ready", flush=True)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
