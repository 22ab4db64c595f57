"""Commands, run in this process without progress bars."""

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from heedful.assembly import evaluation, training
from heedful.assembly.config import Config
from heedful.assembly.plan import Plan, prepare
from heedful.callbacks.outputs import board
from heedful.cli.words import split_words

QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false", "--trainer.log_every_n_steps", "1"]


def run(main: Callable[[Sequence[str]], None], *argv: Any) -> None:
    """Run a command; figures of curves stay empty, which is faster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(board, "history_figure", lambda points, title: Figure(figsize=(1, 1)))
        quiet = QUIET[2:] if QUIET[0] in argv else QUIET  # the arguments may name a device
        words = [*map(str, argv), *quiet]
        patch.setattr(sys, "argv", ["heedful.py", *words])
        main(words)


def config_of(argv: Sequence[str], evaluating: bool = False) -> Config:
    """The configuration of a command line, before objects are built."""
    options, call = split_words(evaluating, argv)
    if evaluating:
        return evaluation.configured(call, options.config, options.checkpoint)
    start = options.output, options.init_from, options.resume, options.ckpt_path
    return training.configured(call, options.config, *start)


def plan_of(monkeypatch: pytest.MonkeyPatch, argv: Sequence[str], evaluating: bool = False) -> Plan:
    """The plan of a command line."""
    monkeypatch.setattr(sys, "argv", ["evaluate.py" if evaluating else "train.py", *argv])
    return prepare(config_of(argv, evaluating))


def results_of(folder: Path) -> dict[str, Any]:
    """The content of results.json."""
    return json.loads((folder / "results.json").read_text())
