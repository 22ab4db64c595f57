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


def describe(about: Mapping[str, Any], trainer: Any = None) -> dict[str, Any]:
    """The content of run.json.

    Args:
        about: Further facts.
        trainer: The Trainer; None for a measurement on a CPU without a Trainer.
    """
    return {
        "command": command(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "python": platform.python_version(),
        "packages": packages(),
        "accelerator": "CPUAccelerator" if trainer is None else type(trainer.accelerator).__name__,
        "device": platform.processor() or platform.machine(),
        "processes": 1 if trainer is None else trainer.world_size,
        "threads": torch.get_num_threads(),
        "precision": "32-true" if trainer is None else str(trainer.precision),
        **about,
    }
