"""Batches that are ready before they are asked for."""

from collections.abc import Iterable, Iterator
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, TypeVar

from lightning_utilities.core.apply_func import apply_to_collection
from torch import Tensor

T = TypeVar("T")
END = object()


class _Failed:
    """An exception in place of a batch."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def ahead(batches: Iterable[T], depth: int = 2, pin: bool = False) -> Iterator[T]:
    """The same batches, made in a thread while those before are used.

    The thread starts with the first batch that is asked for. It ends with the batches, after an exception, which is
    raised here, or when nobody asks any more and the iterator is closed.

    Args:
        batches: Made in the thread alone.
        depth: Batches that are kept ready.
        pin: Whether tensors are put into pinned memory, from which a GPU copies while it computes.
    """
    ready: SimpleQueue[Any] = SimpleQueue()
    room = Semaphore(depth)
    stopped = Event()
    thread = Thread(target=_fill, args=(batches, ready, room, stopped, pin), name="ahead", daemon=True)
    thread.start()
    try:
        while (batch := ready.get()) is not END:
            if isinstance(batch, _Failed):
                raise batch.error
            room.release()
            yield batch
    finally:
        stopped.set()
        room.release()
        thread.join()  # it may hold what the next iterator needs


def _fill(batches: Iterable[Any], ready: SimpleQueue, room: Semaphore, stopped: Event, pin: bool) -> None:
    """Put batches into a queue while there is room."""
    try:
        iterator = iter(batches)
        while True:
            room.acquire()
            if stopped.is_set() or (batch := next(iterator, END)) is END:
                break
            ready.put(apply_to_collection(batch, Tensor, Tensor.pin_memory) if pin else batch)
        ready.put(END)
    except BaseException as error:  # whatever it is, it is raised where the batches are used
        ready.put(_Failed(error))
