"""Whole commands in this process, and trainers, that show no progress."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from heedful.callbacks.outputs import board

QUIET = ["--trainer.accelerator", "cpu", "--trainer.enable_progress_bar", "false", "--trainer.log_every_n_steps", "1"]
TRAINER = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False}
TRAINER |= {"enable_checkpointing": False, "use_distributed_sampler": False}


def run(main: Callable[[], None], *argv: Any) -> None:
    """Run a command with these arguments, quietly; figures of curves are drawn without curves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(board, "history_figure", lambda points, title: Figure(figsize=(1, 1)))
        patch.setattr(sys, "argv", ["heedful.py", *map(str, argv), *QUIET])
        main()


def results_of(folder: Path) -> dict[str, Any]:
    """What a command wrote into results.json."""
    return json.loads((folder / "results.json").read_text())
