"""The content of run.json: facts that may differ between runs with equal results."""

import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

import torch

from heedful.records.command_lines import called
from heedful.records.version import VERSION

PACKAGES = ("torch", "pytorch-lightning", "transformers", "torchmetrics", "datasets", "pyarrow", "numpy", "scipy")


def command() -> list[str]:
    """The command line of this process."""
    return [called().partition(" ")[0], *sys.argv[1:]]


@cache
def packages() -> dict[str, str]:
    """Versions of the packages on which numbers may depend."""
    return {"heedful": VERSION} | {name: version(name) for name in PACKAGES}


def describe(
    about: Mapping[str, Any], accelerator: str = "CPUAccelerator", processes: int = 1, precision: str = "32-true"
) -> dict[str, Any]:
    """The content of run.json.

    Args:
        about: Further facts.
        accelerator: Name of the class of Lightning's accelerator.
        processes: Number of processes.
        precision: Precision of the Trainer.
    """
    return {
        "command": command(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "python": platform.python_version(),
        "packages": packages(),
        "accelerator": accelerator,
        "device": platform.processor() or platform.machine(),
        "processes": processes,
        "threads": torch.get_num_threads(),
        "precision": precision,
        **about,
    }


def describe_trainer(trainer: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    """The content of run.json, with the accelerator, processes and precision of a Trainer."""
    return describe(about, type(trainer.accelerator).__name__, trainer.world_size, str(trainer.precision))
