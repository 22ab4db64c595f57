"""The first process at work as if it were alone, while the other processes of somebody else's run wait for it."""

import os
import pickle
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
from torch import nn

from heedful.datamodules.base.processes import is_alone, is_first
from heedful.records import SettingError
from heedful.records.launchers import OF_LAUNCHERS

T = TypeVar("T")
PATIENCE = timedelta(days=7)  # for which the others wait; those of NCCL would give up after ten minutes
OF_LIGHTNING = "PL_"  # begins the names of variables that Lightning sets, such as its seed


def by_first_alone(make: Callable[[], T]) -> T:
    """Have the first process make something, as if there were no other one, and give it to every process.

    Args:
        make: What is called there, with no process group and no variables of a launcher to be seen. What it returns is
            pickled.

    Raises:
        Exception: Whatever it raises, on every process.
    """
    if is_alone() or torch.distributed.get_world_size() == 1:
        with alone():
            return make()
    told: list[Any] = [None, None]  # what was made, or why it was not
    group = torch.distributed.new_group(backend="gloo", timeout=PATIENCE)  # whatever the run has for its tensors
    try:
        if is_first():
            _make(make, told)
        torch.distributed.broadcast_object_list(told, src=0, group=group)
    finally:
        torch.distributed.destroy_process_group(group)
    if told[1] is not None:
        raise told[1]
    made: T = told[0]
    return made


def _make(make: Callable[[], T], told: list[Any]) -> None:
    """Fill in what was made, or the error instead of it; of an error that cannot be sent, what it says."""
    try:
        with alone():
            told[0] = make()
    except BaseException as error:
        told[1] = error
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            told[1] = RuntimeError(f"{type(error).__name__}: {error}")


@contextmanager
def alone() -> Iterator[None]:
    """Hide other processes from what is called until the context ends, and give the environment back as it was."""
    before = dict(os.environ)
    has_group = not is_alone()
    group = torch.distributed.group.WORLD if has_group else None
    try:
        for name in before:
            if OF_LAUNCHERS.fullmatch(name) or name.startswith(OF_LIGHTNING):
                del os.environ[name]
        if has_group:  # torch and Lightning tell by it whether there are other processes
            torch.distributed.group.WORLD = None
        yield
    finally:
        if has_group:
            torch.distributed.group.WORLD = group
        for name in os.environ.keys() - before.keys():
            del os.environ[name]
        os.environ.update(before)


@contextmanager
def undisturbed(model: nn.Module) -> Iterator[None]:
    """Have a model evaluate, and give its modes and all generators of random numbers back as they were."""
    modes = [(module, module.training) for module in model.modules()]
    accelerator = torch.accelerator.current_accelerator()
    kind = "cpu" if accelerator is None else accelerator.type
    is_in_use = kind != "cpu" and (kind != "cuda" or torch.cuda.is_initialized())
    devices = range(torch.accelerator.device_count()) if is_in_use else []
    of_python = random.getstate()
    of_numpy = np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices, device_type=kind if is_in_use else "cuda"):
            model.eval()
            yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002
        for module, mode in modes:
            module.training = mode


def require_whole(model: nn.Module, do: str) -> None:
    """Refuse a model of which each process has a share of the weights: one process cannot ask it.

    Raises:
        HeedfulError: It is one, as of FSDP, tensor parallelism or DeepSpeed's third stage.
    """
    split = {"DTensor", "FlatParameter"}
    for weights in model.parameters():
        if type(weights).__name__ in split or type(weights.data).__name__ in split or hasattr(weights, "ds_shape"):
            raise SettingError(
                f"The weights of {type(model).__name__} are split between processes, and one alone measures. {do}"
            )
