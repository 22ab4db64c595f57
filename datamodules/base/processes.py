"""Values that the processes of one run exchange."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch

from heedful.records import DataError, HeedfulError, RunError, stopping

T = TypeVar("T")
HERE, BUSY, STOPPED = "here", "busy", "stopped"  # how a process comes to a meeting, or else the error that stopped it


def is_alone() -> bool:
    """Whether this process is the only one of its run."""
    return not (torch.distributed.is_available() and torch.distributed.is_initialized())


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


def by_first(make: Callable[[], T]) -> T:
    """Have the first process make something, and give it to every process.

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
        torch.distributed.broadcast_object_list(told)
    if told[1] is not None:
        raise told[1]
    return told[0]


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
