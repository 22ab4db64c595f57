"""Handle SIGTERM: a command exits with status 143, at once or after it has saved its state."""

import os
import signal
import time
from typing import Any

STATUS = 128 + signal.SIGTERM
REPEATED = 1.0  # seconds in which a further SIGTERM is ignored, because torchrun may send it twice


class Stopped(SystemExit):
    """Exception that ends the process with status 143."""

    def __init__(self, message: str = "stopped by SIGTERM before there were results.") -> None:
        super().__init__(STATUS)
        self.message = message

    def __str__(self) -> str:
        return self.message


class _Signal:
    """State of the signal handler."""

    since: float | None = None  # time of the first SIGTERM, in seconds
    postponed = False  # whether SIGTERM is recorded without raising Stopped


def _receive(number: int, frame: Any) -> None:
    if _Signal.since is None:
        _Signal.since = time.monotonic()
        if not _Signal.postponed:
            raise Stopped
    elif time.monotonic() - _Signal.since > REPEATED:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


def listen() -> None:
    """Install the handler: SIGTERM raises :class:`Stopped`; another SIGTERM, over a second later, kills the process."""
    _Signal.since = None
    _Signal.postponed = False
    signal.signal(signal.SIGTERM, _receive)


def postpone(later: bool = True) -> None:
    """Choose whether SIGTERM is only recorded, for work that must not be interrupted, or raises :class:`Stopped`."""
    _Signal.postponed = later


def is_postponed() -> bool:
    """Whether SIGTERM is recorded instead of raising :class:`Stopped`."""
    return _Signal.postponed


def requested() -> bool:
    """Whether SIGTERM has been received."""
    return _Signal.since is not None


def leave_to_parent(_: int = 0) -> None:
    """Ignore SIGTERM in a DataLoader worker, because the worker ends together with its parent."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
