"""Detect whether this process is rank 0, and restore global random generators."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from heedful.records.messages import rank


def is_first() -> bool:
    """Whether this process has rank 0, which creates folders; known even before Lightning connects processes."""
    return rank() == 0 and int(os.environ.get("NODE_RANK", os.environ.get("GROUP_RANK", 0))) == 0


@contextmanager
def restored_generators() -> Iterator[None]:
    """Context manager that, at its end, restores the states of the global random generators of Python, numpy, torch and
    CUDA.
    """
    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002
