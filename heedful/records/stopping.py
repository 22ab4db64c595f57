"""SIGTERM: a command ends with status 143 and a sentence, at once or where its work can be taken up again."""

import os
import signal
import time
from typing import Any

STATUS = 128 + signal.SIGTERM
REPEATED = 1.0  # seconds within which a second signal is the first one again: torchrun passes on what all receive


class Stopped(SystemExit):
    """Ends the process with status 143.

    Args:
        message: What the user reads; it may be replaced by whoever knows more.
    """

    def __init__(self, message: str = "stopped by SIGTERM before there were results.") -> None:
        super().__init__(STATUS)
        self.message = message

    def __str__(self) -> str:
        return self.message


class _Signal:
    """When SIGTERM came, and whether it may end the work in the middle."""

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
    """From now on, SIGTERM raises :class:`Stopped`; a second one, a second later, ends the process at once."""
    _Signal.since = None
    _Signal.postponed = False
    signal.signal(signal.SIGTERM, _receive)


def postpone(later: bool = True) -> None:
    """Let SIGTERM only be noted, for what must not end in the middle; see :func:`requested`. Or no longer."""
    _Signal.postponed = later


def is_postponed() -> bool:
    """Whether SIGTERM is only noted."""
    return _Signal.postponed


def requested() -> bool:
    """Whether SIGTERM came."""
    return _Signal.since is not None


def leave_to_parent(_: int = 0) -> None:
    """In a process that prepares batches: it ends when its parent does, which may need it until then."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
