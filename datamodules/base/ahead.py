"""Batches that are ready before they are asked for."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lightning_utilities.core.apply_func import apply_to_collection
from torch import Tensor

T = TypeVar("T")
END = object()


def ahead(batches: Iterable[T], depth: int = 2, pin: bool = False) -> Iterator[T]:
    """The same batches, made in a thread while those before are used; their exceptions are raised here.

    Args:
        batches: Made in the thread alone.
        depth: Batches that are kept ready.
        pin: Whether tensors are put into pinned memory, from which a GPU copies while it computes.
    """
    iterator: Iterator[Any] | None = None

    def following() -> Any:
        nonlocal iterator
        iterator = iter(batches) if iterator is None else iterator
        batch = next(iterator, END)
        return apply_to_collection(batch, Tensor, Tensor.pin_memory) if pin else batch

    thread = ThreadPoolExecutor(1, "ahead")
    try:
        ready = deque(thread.submit(following) for _ in range(depth + 1))
        while (batch := ready.popleft().result()) is not END:
            yield batch
            ready.append(thread.submit(following))
    finally:
        thread.shutdown(cancel_futures=True)  # and wait: it may hold what the next iterator needs
