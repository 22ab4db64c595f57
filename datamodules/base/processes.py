"""Values that the processes of one run exchange."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch

from heedful.records import HeedfulError

T = TypeVar("T")


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
        told[1] = error.args[0]
        raise
    except BaseException:
        told[1] = "Process 0 has failed."
        raise
    finally:
        torch.distributed.broadcast_object_list(told)
    if told[1] is not None:
        raise HeedfulError(told[1])
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
        raise HeedfulError(
            f"The {what} of process {others[0]} are not those of process 0: give all processes the same command, and "
            "let every machine see the same files."
        )
