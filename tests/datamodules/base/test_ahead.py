"""A thread makes batches ahead: in their order, with their exceptions, and it ends when nobody asks any more."""

import threading
from collections.abc import Iterator

import pytest
import torch

from heedful.datamodules.base.ahead import ahead


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("ahead")]


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert not threads()


class Source:
    """Numbers from 0; it counts those that were made, and says when the next ones are."""

    def __init__(self, n: int) -> None:
        self.n, self.made, self.ended = n, 0, False
        self.changed = threading.Condition()

    def __iter__(self) -> Iterator[int]:
        try:
            for i in range(self.n):
                with self.changed:
                    self.made += 1
                    self.changed.notify_all()
                yield i
        finally:
            self.ended = True

    def wait(self, made: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: self.made >= made, timeout=30)


@pytest.mark.parametrize("depth", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 50])
def test_the_order_is_kept(n: int, depth: int) -> None:
    assert list(ahead(Source(n), depth)) == list(range(n))


def test_batches_are_made_while_another_is_used_and_no_more_than_asked_for() -> None:
    source = Source(50)
    batches = ahead(source, depth=3)
    assert source.made == 0
    assert next(batches) == 0
    source.wait(4)  # three more
    assert next(batches) == 1
    source.wait(5)
    assert source.made == 5
    batches.close()


def test_whoever_stops_early_ends_the_thread() -> None:
    source = Source(50)
    for batch in ahead(source, depth=2):
        if batch == 3:
            break
    assert not threads()
    assert source.made <= 3 + 1 + 2
    batches = ahead(Source(50))
    next(batches)
    assert len(threads()) == 1
    del batches
    assert not threads()


def test_an_error_of_the_user_ends_the_thread() -> None:
    def use() -> None:
        for _ in ahead(Source(50)):
            raise KeyError("of the user")

    with pytest.raises(KeyError, match="of the user"):
        use()
    assert not threads()


@pytest.mark.parametrize("error", [ValueError("odd"), SystemExit(143), StopAsyncIteration()])
def test_an_exception_is_raised_in_its_place(error: BaseException) -> None:
    def broken() -> Iterator[int]:
        yield 1
        yield 2
        raise error

    seen = []
    with pytest.raises(type(error)) as raised:
        seen.extend(ahead(broken()))
    assert raised.value is error
    assert seen == [1, 2]


def test_what_cannot_even_begin_raises_too() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(ahead(7))


def test_batches_are_made_in_one_thread_that_is_not_this_one() -> None:
    def where() -> Iterator[int]:
        for _ in range(4):
            yield threading.get_ident()

    made_in = set(ahead(where()))
    assert len(made_in) == 1
    assert threading.get_ident() not in made_in


def test_tensors_are_pinned_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor + 100)
    batch = {"inputs": {"ids": torch.tensor([1])}, "labels": torch.tensor([2]), "texts": ["a"], "size": 1}
    (pinned,) = ahead([batch], pin=True)
    assert (pinned["inputs"]["ids"].item(), pinned["labels"].item()) == (101, 102)
    assert (pinned["texts"], pinned["size"]) == (["a"], 1)
    assert next(ahead([batch]))["labels"].item() == 2
