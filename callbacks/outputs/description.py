"""Collect the content of run.json: facts that may differ between runs with equal results, such as host and time."""

import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import Any

from heedful.command_lines import command_name
from heedful.records.storage.schema import VERSION

PACKAGES = ("torch", "pytorch-lightning", "transformers", "torchmetrics", "datasets", "pyarrow", "numpy", "scipy")


def command() -> list[str]:
    """Return the command line of this process as words."""
    return [command_name().partition(" ")[0], *sys.argv[1:]]


@cache
def packages() -> dict[str, str]:
    """Return the versions of Heedful and of the packages on which numbers may depend, by name."""
    return {"heedful": VERSION} | {name: version(name) for name in PACKAGES}


def describe(about: Mapping[str, Any], trainer: Any = None) -> dict[str, Any]:
    """Return the content of run.json, such as command, start, host, packages and device.

    Args:
        about: Further entries.
        trainer: The Trainer; None for a measurement on a CPU without a Trainer.
    """
    torch = sys.modules.get("torch")  # a measured function may compute without torch
    return {
        "command": command(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "python": platform.python_version(),
        "packages": packages(),
        "accelerator": "CPUAccelerator" if trainer is None else type(trainer.accelerator).__name__,
        "device": platform.processor() or platform.machine(),
        "processes": 1 if trainer is None else trainer.world_size,
        **({} if torch is None else {"threads": torch.get_num_threads()}),
        "precision": "32-true" if trainer is None else str(trainer.precision),
        **about,
    }
