"""Commands, run in this process without progress bars."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from heedful.assembly import evaluation, training
from heedful.assembly.job import Job
from heedful.callbacks.outputs import board
from heedful.cli import command

QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false", "--trainer.log_every_n_steps", "1"]


def run(main: Callable[[Sequence[str]], None], *argv: Any) -> None:
    """Run a command; figures of curves stay empty, which is faster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(board, "history_figure", lambda points, title: Figure(figsize=(1, 1)))
        quiet = QUIET[2:] if QUIET[0] in argv else QUIET  # the arguments may name a device
        words = [*map(str, argv), *quiet]
        patch.setattr(sys, "argv", ["heedful.py", *words])
        main(words)


def guarded(main: Callable[[], object]) -> None:
    """Call a function as a command does, which turns errors of the user into a message and an exit status."""
    with command.explaining_errors():
        main()


def job_of(argv: Sequence[str], evaluating: bool = False) -> Job:
    """The training or the evaluation of a command line, before its data are read."""
    module, jobs = (evaluation if evaluating else training), list[Job]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "run", jobs.append)
        command.main(["evaluate" if evaluating else "train", *argv])
    return jobs[0]


def prepared_job(monkeypatch: pytest.MonkeyPatch, argv: Sequence[str], evaluating: bool = False) -> Job:
    """The training or the evaluation of a command line, with its data read and its model bound."""
    monkeypatch.setattr(sys, "argv", ["evaluate.py" if evaluating else "train.py", *argv])
    job = job_of(argv, evaluating)
    (evaluation if evaluating else training).prepare(job)
    return job


def results_of(folder: Path) -> dict[str, Any]:
    """The content of results.json."""
    return json.loads((folder / "results.json").read_text())
