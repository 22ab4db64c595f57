"""Prefetch batches in a thread."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
END = object()


def ahead(batches: Iterable[T], depth: int = 2, pin: bool = False) -> Iterator[T]:
    """Yield the batches in order, while a thread fetches the next ones. The caller gets the exceptions of the thread.

    Args:
        batches: The batches; only the thread iterates over them.
        depth: Number of batches to prefetch.
        pin: Whether to copy tensors to pinned memory, from which a GPU copies asynchronously.
    """
    iterator: Iterator[Any] | None = None

    def following() -> Any:
        nonlocal iterator
        iterator = iter(batches) if iterator is None else iterator
        batch = next(iterator, END)
        return _pinned(batch) if pin else batch

    thread = ThreadPoolExecutor(1, "ahead")
    try:
        ready = deque(thread.submit(following) for _ in range(depth + 1))
        while (batch := ready.popleft().result()) is not END:
            yield batch
            ready.append(thread.submit(following))
    finally:
        thread.shutdown(cancel_futures=True)  # wait, so that the thread no longer uses the batches


def _pinned(batch: Any) -> Any:
    from lightning_utilities.core.apply_func import apply_to_collection  # imports torch, as the next line
    from torch import Tensor

    return apply_to_collection(batch, Tensor, Tensor.pin_memory)
