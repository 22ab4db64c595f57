"""Communication between the processes of a run. Imports torch only for several processes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from importlib import import_module
from typing import Any, TypeVar

from heedful.records import DataError, HeedfulError, RunError
from heedful.stopping import Stopped, requested

T = TypeVar("T")
HERE, BUSY, STOPPED = "here", "busy", "stopped"  # states that processes exchange; an error is a state, too
LONGEST_MEASUREMENT = timedelta(days=7)  # torch's default timeout of 10 or 30 minutes is too short


class _Communication:
    """Holds the flag ``is_off``: whether communication between ranks is turned off in this process, for all threads."""

    is_off = False


@contextmanager
def isolated() -> Iterator[None]:
    """Turn communication off: inside the context, functions of this module treat the process as the only one."""
    before = _Communication.is_off
    _Communication.is_off = True
    try:
        yield
    finally:
        _Communication.is_off = before


def is_isolated() -> bool:
    """Whether communication is turned off by :func:`isolated`."""
    return _Communication.is_off


def is_alone() -> bool:
    """Whether this process has no other process to communicate with: it is the only one, or communication is off."""
    if is_isolated() or "torch" not in sys.modules:
        return True
    distributed = _distributed()
    return not (distributed.is_available() and distributed.is_initialized())


def _distributed() -> Any:
    return import_module("torch.distributed")


def is_first() -> bool:
    """Whether this process has rank 0, the rank that writes files."""
    return is_alone() or _distributed().get_rank() == 0


def gather(value: Any) -> list[Any]:
    """Gather the values of all processes on every process, in the order of ranks."""
    if is_alone():
        return [value]
    values = [None] * _distributed().get_world_size()
    _distributed().all_gather_object(values, value)
    return values


def gather_patiently(value: Any) -> list[Any]:
    """Gather a value from all processes, even if a process arrives hours later than the others.

    A slow process calls :func:`keep_waiting_alive` from time to time, since torch limits the wait. A process that fails
    calls :func:`send_error`.

    Returns:
        The values of all processes, in the order of ranks.

    Raises:
        Stopped: A process received SIGTERM; every process raises it.
        HeedfulError: A process failed; every process raises its error.
    """
    states = [BUSY]
    while BUSY in states:
        states, values = _met(HERE, value)
    return values


def keep_waiting_alive() -> None:
    """Prevent a timeout of torch in processes that wait in :func:`gather_patiently`; a slow process calls it often.

    Raises:
        Stopped: A process received SIGTERM.
    """
    _met(BUSY)


def send_error(error: HeedfulError) -> None:
    """Send an error to all processes; the processes that wait in :func:`gather_patiently` raise it."""
    gather((error, None))


def _met(state: str, value: Any = None) -> tuple[list[Any], list[Any]]:
    states, values = zip(*gather((STOPPED, None) if requested() else (state, value)), strict=True)
    if STOPPED in states:
        raise Stopped
    if failed := [state for state in states if isinstance(state, HeedfulError)]:
        raise failed[0]
    return list(states), list(values)


def to_first(value: Any) -> list[Any]:
    """Gather the values of all processes on rank 0, in the order of ranks; other ranks get an empty list."""
    if is_alone():
        return [value]
    values = [None] * _distributed().get_world_size() if is_first() else None
    _distributed().gather_object(value, values)
    return values or []


def by_first(make: Callable[[], T], group: Any = None) -> T:
    """Call a function on rank 0 only, and return its value on all processes.

    Args:
        make: The function; its value must be picklable.
        group: Process group; by default all processes.

    Raises:
        HeedfulError: ``make`` failed on rank 0; every process raises the error.
    """
    if is_alone():
        return make()
    message: list[Any] = [None, None]  # value and error
    try:
        if is_first():
            message[0] = make()
    except HeedfulError as error:
        message[1] = error
        raise
    except BaseException:
        message[1] = RunError("Process 0 has failed. Start the command again; a training goes on with resume RUN.")
        raise
    finally:
        _distributed().broadcast_object_list(message, group=group)
    if message[1] is not None:
        raise message[1]
    return message[0]


def by_first_isolated(make: Callable[[], T]) -> T:
    """Call a function on rank 0 inside :func:`isolated`, and return its value on all processes.

    Unlike :func:`by_first`, the other processes wait up to 7 days.
    """

    def make_isolated() -> T:
        with isolated():
            return make()

    if is_alone():
        return make_isolated()
    group = _distributed().new_group(backend="gloo", timeout=LONGEST_MEASUREMENT)
    try:
        return by_first(make_isolated, group)
    finally:
        _distributed().destroy_process_group(group)


def require_alike(value: Any, what: str) -> None:
    """Raise DataError, on every process, unless all have the same value; ``what`` is a plural noun for the message."""
    values = gather(value)
    if ranks := [rank for rank, value in enumerate(values) if value != values[0]]:
        raise DataError(
            f"The {what} of process {ranks[0]} differ from process 0. Give all processes the same command and files."
        )
