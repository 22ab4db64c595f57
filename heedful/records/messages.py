"""Messages to the user while something runs: one line on stderr, by the first process alone."""

import logging
import os
import sys
import warnings
from typing import TextIO

LOGGER = logging.getLogger("heedful")
RANK_VARIABLES = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "JSM_NAMESPACE_RANK")  # as Lightning reads them, in this order


class StderrHandler(logging.StreamHandler):
    """Writes to the ``sys.stderr`` of the moment, which a progress bar replaces while it is shown.

    It leaves records to the handlers of the root logger where there are any, as of ``logging.basicConfig``.
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
    """Rank of this process, as far as it is known by now.

    torch.distributed knows it once the processes are connected; before, Lightning does, where that is imported, or else
    the environment, which a launcher has set.
    """
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    of_lightning = sys.modules.get("lightning_utilities.core.rank_zero")
    known = getattr(getattr(of_lightning, "rank_zero_only", None), "rank", None)
    if known is not None:
        return known
    return next((int(os.environ[name]) for name in RANK_VARIABLES if name in os.environ), 0)


def inform(message: str) -> None:
    """Log a message on rank 0, at the level INFO, to the logger "heedful"."""
    if rank() == 0:
        LOGGER.info(message, stacklevel=2)


def warn(message: str) -> None:
    """Warn on rank 0."""
    if rank() == 0:
        warnings.warn(message, stacklevel=2)
