"""Values that the processes of one run exchange."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import torch

from heedful.records import DataError, HeedfulError, RunError, stopping

T = TypeVar("T")
HERE, BUSY, STOPPED = "here", "busy", "stopped"  # how a process comes to a meeting, or else the error that stopped it
LONGEST_MEASUREMENT = timedelta(days=7)  # the timeouts of torch, 10 or 30 minutes, are shorter than some measurements


class _Communication:
    """Whether the functions below exchange values; all threads share this state."""

    is_off = False


@contextmanager
def isolated() -> Iterator[None]:
    """Exchange no values with other processes: while active, this process passes for the only one."""
    before = _Communication.is_off
    _Communication.is_off = True
    try:
        yield
    finally:
        _Communication.is_off = before


def is_isolated() -> bool:
    """Whether :func:`isolated` is active."""
    return _Communication.is_off


def is_alone() -> bool:
    """Whether this process is the only one of its run."""
    return is_isolated() or not (torch.distributed.is_available() and torch.distributed.is_initialized())


def is_first() -> bool:
    """Whether this process is the one that writes."""
    return is_alone() or torch.distributed.get_rank() == 0


def gather(value: Any) -> list[Any]:
    """The value of every process, in the order of ranks, on every process."""
    if is_alone():
        return [value]
    values = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


def meet(value: Any) -> list[Any]:
    """As :func:`gather`, after work that SIGTERM ends early, and that may take one process hours: see :func:`busy`.

    Raises:
        Stopped: SIGTERM came to one of them, which may lack something; all raise it together.
        HeedfulError: One of them failed, and said so with :func:`tell`. Every process raises it.
    """
    states = [BUSY]
    while BUSY in states:
        states, values = _met(HERE, value)
    return values


def busy() -> None:
    """Let others, who wait in :func:`meet`, know that this process is still at work: torch has them wait half an hour.

    Raises:
        Stopped: SIGTERM came to one of them.
    """
    _met(BUSY)


def tell(error: HeedfulError) -> None:
    """Let others, who wait in :func:`meet`, know why this process does not come."""
    gather((error, None))


def _met(state: str, value: Any = None) -> tuple[list[Any], list[Any]]:
    states, values = zip(*gather((STOPPED, None) if stopping.requested() else (state, value)), strict=True)
    if STOPPED in states:
        raise stopping.Stopped
    if failed := [state for state in states if isinstance(state, HeedfulError)]:
        raise failed[0]
    return list(states), list(values)


def to_first(value: Any) -> list[Any]:
    """The value of every process, in the order of ranks, on the first process; nothing on the others."""
    if is_alone():
        return [value]
    values = [None] * torch.distributed.get_world_size() if is_first() else None
    torch.distributed.gather_object(value, values)
    return values or []


def by_first(make: Callable[[], T], group: Any = None) -> T:
    """Have the first process make something, and give it to every process.

    Args:
        make: Returns a value that can be pickled.
        group: Process group that communicates; by default the group of all processes.

    Raises:
        HeedfulError: It was refused there. Every process raises it.
    """
    if is_alone():
        return make()
    told: list[Any] = [None, None]  # what was made, or why it was not
    try:
        if is_first():
            told[0] = make()
    except HeedfulError as error:
        told[1] = error
        raise
    except BaseException:
        told[1] = RunError("Process 0 has failed. Start the command again; a training goes on with resume RUN.")
        raise
    finally:
        torch.distributed.broadcast_object_list(told, group=group)
    if told[1] is not None:
        raise told[1]
    return told[0]


def by_first_isolated(make: Callable[[], T]) -> T:
    """As :func:`by_first`, for processes that another library started; ``make`` runs inside :func:`isolated`."""

    def make_isolated() -> T:
        with isolated():
            return make()

    if is_alone():
        return make_isolated()
    group = torch.distributed.new_group(backend="gloo", timeout=LONGEST_MEASUREMENT)
    try:
        return by_first(make_isolated, group)
    finally:
        torch.distributed.destroy_process_group(group)


def require_alike(value: Any, what: str) -> None:
    """Compare something that all processes must agree on.

    Args:
        value: What this process has.
        what: What to call it in a message, in the plural.

    Raises:
        HeedfulError: Another process has another value. Every process raises it.
    """
    values = gather(value)
    if others := [rank for rank, other in enumerate(values) if other != values[0]]:
        raise DataError(
            f"The {what} of process {others[0]} are not those of process 0. Give all processes the same command, and "
            "let every machine see the same files."
        )
