"""Handle SIGTERM: a command exits with status 143, immediately or after saving its state."""

import os
import signal
import time
from typing import Any

STATUS = 128 + signal.SIGTERM
REPEATED = 1.0  # seconds within which torchrun may repeat a signal


class Stopped(SystemExit):
    """End the process with status 143.

    Args:
        message: The message for the user.
    """

    def __init__(self, message: str = "stopped by SIGTERM before there were results.") -> None:
        super().__init__(STATUS)
        self.message = message

    def __str__(self) -> str:
        return self.message


class _Signal:
    """Time of the first SIGTERM, and whether it is only recorded."""

    since: float | None = None
    postponed = False


def _receive(number: int, frame: Any) -> None:
    if _Signal.since is None:
        _Signal.since = time.monotonic()
        if not _Signal.postponed:
            raise Stopped
    elif time.monotonic() - _Signal.since > REPEATED:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


def listen() -> None:
    """Raise :class:`Stopped` on SIGTERM; a second signal, a second later, kills the process."""
    _Signal.since = None
    _Signal.postponed = False
    signal.signal(signal.SIGTERM, _receive)


def postpone(later: bool = True) -> None:
    """Only record SIGTERM, for work that must not be interrupted; see :func:`requested`. False restores the default."""
    _Signal.postponed = later


def is_postponed() -> bool:
    """Whether SIGTERM is only recorded."""
    return _Signal.postponed


def requested() -> bool:
    """Whether SIGTERM was received."""
    return _Signal.since is not None


def leave_to_parent(_: int = 0) -> None:
    """Ignore SIGTERM in a worker that prepares batches; it ends with its parent."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
