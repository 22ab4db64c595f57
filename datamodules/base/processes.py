"""Values that the processes of one run exchange."""

from typing import Any

import torch

from records import HeedError


def gather(value: Any) -> list[Any]:
    """The value of every process, in the order of ranks, on every process."""
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        return [value]
    values = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(values, value)
    return values


def require_alike(value: Any, what: str) -> None:
    """Compare something that all processes must agree on.

    Args:
        value: What this process has.
        what: What to call it in a message, in the plural.

    Raises:
        HeedError: Another process has another value. Every process raises it.
    """
    values = gather(value)
    if others := [rank for rank, other in enumerate(values) if other != values[0]]:
        raise HeedError(
            f"The {what} of process {others[0]} are not those of process 0: give all processes the same command, and "
            "let every machine see the same files."
        )
