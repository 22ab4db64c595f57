"""Log messages and warnings on rank 0 only, and detect notebooks."""

import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TextIO

LOGGER = logging.getLogger("heedful")
RANK_VARIABLES = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")  # in the order of Lightning


class StderrHandler(logging.StreamHandler):
    """Log handler that writes to the current ``sys.stderr``, which progress bars may replace.

    It writes nothing if the root logger has handlers.
    """

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        return sys.stderr

    def filter(self, record: logging.LogRecord) -> bool:
        return not logging.getLogger().handlers and bool(super().filter(record))


LOGGER.setLevel(logging.INFO)
LOGGER.addHandler(StderrHandler())


def rank() -> int:
    """Return the rank of this process: from torch.distributed, else from Lightning, else from the environment variables
    of a launcher, else 0.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    lightning = sys.modules.get("lightning_utilities.core.rank_zero")
    if (number := getattr(getattr(lightning, "rank_zero_only", None), "rank", None)) is not None:
        return number
    return next((int(os.environ[name]) for name in RANK_VARIABLES if name in os.environ), 0)


def is_first() -> bool:
    """Whether this process has rank 0, which creates folders; known even before Lightning connects processes."""
    return rank() == 0 and int(os.environ.get("NODE_RANK", os.environ.get("GROUP_RANK", 0))) == 0


def inform(message: str) -> None:
    """Log a message on rank 0, with level INFO and the logger "heedful"."""
    if rank() == 0:
        LOGGER.info(message, stacklevel=2)


@contextmanager
def quiet_log(is_quiet: bool = True) -> Iterator[None]:
    """Context manager in which :func:`inform` logs nothing, if ``is_quiet``."""
    level = LOGGER.level
    LOGGER.setLevel(logging.WARNING if is_quiet else level)
    try:
        yield
    finally:
        LOGGER.setLevel(level)


def warn(message: str) -> None:
    """Issue a Python warning on rank 0."""
    if rank() == 0:
        warnings.warn(message, stacklevel=2)


def in_notebook() -> bool:
    """Whether the code runs in a notebook, which displays HTML."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


def has_bars() -> bool:
    """Whether progress bars can be drawn: always outside notebooks; in a notebook, only if ipywidgets is installed."""
    return not in_notebook() or find_spec("ipywidgets") is not None
