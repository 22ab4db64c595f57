"""Runs Python programs in forks of a process that has imported libraries, but not Heedful, for tests/matrix.py.

Reads jobs from stdin, one JSON object a line, and answers each with its exit status.

    argv        a file and its arguments, or "-m", a module and its arguments
    env         further variables of the environment
    cwd         folder to work in
    out, err    files of its output
    limit       seconds after which it and its children are killed
"""

import gc
import importlib
import json
import os
import runpy
import signal
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn

from ranks import exit_after

LIBRARIES = """torch.optim torch.utils.tensorboard pytorch_lightning torchmetrics transformers
transformers.modeling_utils transformers.models.bert.modeling_bert tokenizers safetensors.torch jsonargparse numpy
scipy.stats scipy.special pandas pyarrow.parquet pyarrow.compute matplotlib.figure matplotlib.backends.backend_agg
PIL.Image timm yaml""".split()


def program(argv: list[str]) -> None:
    """Run a file, or a module after "-m", with its arguments."""
    importlib.reload(sys.modules["sitecustomize"])  # it reads the environment
    is_module = argv[0] == "-m"
    sys.argv = argv[1:] if is_module else argv
    if is_module:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")


def child(job: dict[str, Any]) -> NoReturn:
    """Be the program of a job."""
    os.setsid()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, name in enumerate(("out", "err"), 1):
        os.dup2(os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.environ.update(job["env"])
    os.chdir(job["cwd"])
    exit_after(lambda: program(job["argv"]))


def run(job: dict[str, Any]) -> int:
    """The exit status, negative for a signal."""
    pid = os.fork()
    if not pid:
        child(job)
    end = time.monotonic() + job["limit"]
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done or time.monotonic() > end:
            with suppress(ProcessLookupError):  # its children may still run
                os.killpg(pid, signal.SIGKILL)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)


if __name__ == "__main__":
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        print(run(json.loads(line)), flush=True)
