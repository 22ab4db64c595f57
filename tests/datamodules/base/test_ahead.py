"""A thread makes batches ahead: in their order, with their exceptions, and it ends when nobody asks any more."""

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import torch

from heedful.datamodules.base.ahead import ahead


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("ahead")]


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert not threads()


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_the_order_is_kept(n: int, depth: int) -> None:
    assert list(ahead(range(n), depth)) == list(range(n))


def test_batches_are_made_in_one_other_thread_while_another_is_used_and_no_more_than_asked_for() -> None:
    made: list[int] = []
    changed = threading.Condition()

    def numbers() -> Iterator[int]:
        for i in range(50):
            with changed:
                made.append(threading.get_ident())
                changed.notify_all()
            yield i

    batches = ahead(numbers(), depth=3)
    assert not made
    for asked in range(2):
        assert next(batches) == asked
        with changed:
            assert changed.wait_for(lambda asked=asked: len(made) == asked + 4, timeout=30)
    assert {*made}.isdisjoint({threading.get_ident()})
    assert len({*made}) == len(threads()) == 1
    batches.close()
    assert len(made) <= 2 + 1 + 3


def leave_early() -> None:
    for batch in ahead(range(50)):
        if batch == 3:
            break


def leave_by_an_error() -> None:
    with suppress(KeyError):
        for _ in ahead(range(50)):
            raise KeyError("of the user")


@pytest.mark.parametrize("leave", [leave_early, leave_by_an_error, lambda: next(ahead(range(50)))])
def test_whoever_stops_early_ends_the_thread(leave: Callable[[], object]) -> None:
    leave()
    assert not threads()


@pytest.mark.parametrize("error", [ValueError("odd"), SystemExit(143), StopAsyncIteration()])
def test_an_exception_is_raised_in_its_place(error: BaseException) -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise error

    batches = ahead(broken())
    assert next(batches) == 1
    with pytest.raises(type(error)) as raised:
        next(batches)
    assert raised.value is error
    with pytest.raises(TypeError, match="not iterable"):
        list(ahead(7))


def test_tensors_are_pinned_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor + 100)
    batch = {"inputs": {"ids": torch.tensor([1])}, "labels": torch.tensor([2]), "texts": ["a"], "size": 1}
    (pinned,) = ahead([batch], pin=True)
    assert (pinned["inputs"]["ids"].item(), pinned["labels"].item()) == (101, 102)
    assert (pinned["texts"], pinned["size"]) == (["a"], 1)
    assert next(ahead([batch]))["labels"].item() == 2
