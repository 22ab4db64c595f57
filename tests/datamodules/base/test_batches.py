"""Batches for evaluation hold every example once; batches for training are alike on all ranks."""

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from heedful.datamodules.base.ahead import ahead
from heedful.datamodules.base.batches import (
    BatchSize,
    base_batches,
    batches_of_rank,
    evaluation_batches,
    snug_batches,
)
from heedful.datamodules.base.collate import Collate, EvaluationLoader, training_loader_arguments
from heedful.datamodules.base.sampler import TrainingLoader, TrainingSampler
from heedful.datamodules.base.splits import with_counterfactuals
from heedful.interventions import Swap
from heedful.lightning_modules import TextProcessor
from heedful.records import CLASSIFICATION, SOFT, Composed, Example, Examples, Task

LENGTHS = st.lists(st.integers(1, 30), max_size=60).map(lambda n: np.array(n, dtype=np.int32))


@given(lengths=LENGTHS, size=st.integers(1, 9), is_shifted=st.booleans())
def test_evaluation_batches_are_cut_from_one_sorted_list(lengths: np.ndarray, size: int, is_shifted: bool) -> None:
    keys = [f"uid {i * 7 % 61}" for i in range(len(lengths))]
    batches = evaluation_batches(lengths, lengths, keys, BatchSize(size), is_shifted)
    flat = list(chain.from_iterable(batches))
    assert flat == sorted(range(len(keys)), key=lambda i: (-lengths[i], keys[i]))  # in whatever order they are given
    first = max(1, min((size + 1) // 2, len(keys) // 2)) if is_shifted else size
    rest = [len(keys[start : start + size]) for start in range(first, len(keys), size)]
    assert [len(batch) for batch in batches] == ([min(first, len(keys)), *rest] if keys else [])


@given(lengths=LENGTHS, size=st.integers(1, 9), tokens=st.integers(1, 120), is_shifted=st.booleans())
def test_a_batch_has_all_examples_that_fit_into_its_tokens(
    lengths: np.ndarray, size: int, tokens: int, is_shifted: bool
) -> None:
    keys = np.arange(len(lengths))
    batches = evaluation_batches(lengths, lengths, keys, BatchSize(size, tokens), is_shifted)
    plain = evaluation_batches(lengths, lengths, keys, BatchSize(len(keys) or 1))
    assert [*chain(*batches)] == [*chain(*plain)]
    whole = batches[1:] if is_shifted else batches
    for batch in batches:
        assert len(batch) == 1 or (len(batch) <= size and len(batch) * lengths[batch].max() <= tokens)
    for batch, following in pairwise(whole):  # it could not hold one more
        assert len(batch) == size or (len(batch) + 1) * lengths[[*batch, following[0]]].max() > tokens
    if is_shifted and len(keys) > 1:  # each example has other batch mates than without
        unshifted = evaluation_batches(lengths, lengths, keys, BatchSize(size, tokens))
        assert len(batches[0]) <= (len(unshifted[0]) + 1) // 2


@given(uids=st.permutations(range(9)), order=st.lists(st.integers(1, 3), min_size=9, max_size=9), n=st.integers(1, 9))
def test_base_batches_are_sorted_by_length_and_uid(uids: list[int], order: list[int], n: int) -> None:
    pool = Examples.of(Example(f"u{uid}", {"a": str(uid)}, None) for uid in uids)
    positions = np.arange(9)[:n]
    encoded = SimpleNamespace(lengths=np.array(order), order=np.array(order))
    batches = base_batches(pool, encoded, positions, BatchSize(4))
    expected = sorted(positions.tolist(), key=lambda i: (-order[i], uids[i]))
    assert [batch.tolist() for batch in batches] == [expected[start : start + 4] for start in range(0, n, 4)]


@pytest.mark.parametrize("world", [1, 2, 3])
@given(lengths=LENGTHS, size=st.integers(1, 9))
def test_evaluation_gives_every_example_once_in_the_same_batches(lengths: np.ndarray, size: int, world: int) -> None:
    batches = evaluation_batches(lengths, lengths, list(range(len(lengths))), BatchSize(size))
    ranks = [[batch.tolist() for batch in batches_of_rank(batches, rank, world)] for rank in range(world)]
    assert sum(map(len, ranks)) == len(batches)
    assert batches_of_rank(batches, world, world) == []  # a rank beyond those that predict
    for j, batch in enumerate(batches):
        assert ranks[j % world][j // world] == batch.tolist()


def epoch(sampler: TrainingSampler, number: int) -> list[list[int]]:
    sampler.sampler.set_epoch(number)  # where Lightning looks for it
    return list(sampler)


@pytest.mark.parametrize("world", [1, 2, 3])
@given(
    lengths=LENGTHS.filter(len), size=st.integers(1, 7), seed=st.integers(0, 9), number=st.integers(0, 3),
    window=st.integers(1, 5),
)  # fmt: skip
def test_training_ranks_get_as_many_batches_and_share_no_example(
    world: int, lengths: np.ndarray, size: int, seed: int, number: int, window: int
) -> None:
    samplers = [TrainingSampler(lengths, size, seed, rank, world, window) for rank in range(world)]
    ranks = [epoch(sampler, number) for sampler in samplers]
    batches = -(-len(lengths) // size)
    assert {len(rank) for rank in ranks} == {len(sampler) for sampler in samplers} == {batches // world}
    assert {sampler.dropped for sampler in samplers} == {batches - batches // world * world}
    assert samplers[0].dropped <= world - 1
    seen = Counter(chain.from_iterable(chain.from_iterable(ranks)))
    assert set(seen.values()) <= {1}
    assert len(lengths) - len(seen) <= samplers[0].dropped * size
    assert set(seen) <= set(range(len(lengths)))


def test_training_order_is_a_function_of_seed_and_epoch() -> None:
    lengths = np.random.default_rng(0).integers(5, 50, 500)
    order = epoch(TrainingSampler(lengths, 8, seed=1), 2)
    used = TrainingSampler(lengths, 8, seed=1)
    for number in (0, 1):
        epoch(used, number)
    assert order == epoch(used, 2)
    assert order != epoch(used, 3)
    assert order != epoch(TrainingSampler(lengths, 8, seed=2), 2)
    assert {frozenset(batch) for batch in order} != {frozenset(batch) for batch in epoch(used, 3)}


def padded(lengths: np.ndarray, batches: list[list[int]]) -> float:
    """Share of the tokens of all batches that is padding."""
    cells = sum(len(batch) * int(lengths[batch].max()) for batch in batches)
    return 1 - lengths.sum() / cells


def test_batches_of_like_length_waste_little_on_padding() -> None:
    lengths = np.clip(np.random.default_rng(0).lognormal(3.5, 0.5, 4000).astype(int), 5, 128)
    sorted_within = padded(lengths, epoch(TrainingSampler(lengths, 32, seed=0), 0))
    at_random = padded(lengths, epoch(TrainingSampler(lengths, 32, seed=0, window=1), 0))
    assert sorted_within < 0.08
    assert at_random > 0.4
    means = [lengths[batch].mean() for batch in epoch(TrainingSampler(lengths, 16, seed=0), 0)]
    assert np.mean(means[:125]) == pytest.approx(np.mean(means[125:]), rel=0.1)  # long batches are spread


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_begins_where_the_trainer_stands_when_the_first_batch_is_asked_for(workers):
    done = 0
    sampler = TrainingSampler(np.arange(100), 8, seed=3)
    loader = TrainingLoader(range(100), batch_sampler=sampler, position=lambda: done, num_workers=workers)
    epoch = iter(loader)  # Lightning does so before it knows the epoch and the position
    sampler.set_epoch(2)
    done = 5
    rest = [batch.tolist() for batch in epoch]
    done = 0
    assert [batch.tolist() for batch in loader][5:] == rest
    assert len(loader) == 13
    assert len(rest) == 8


@given(lengths=LENGTHS, size=st.integers(1, 9), padding=st.integers(0, 60) | st.just(10_000))
def test_snug_batches_hold_all_and_little_padding(lengths: np.ndarray, size: int, padding: int) -> None:
    batches = snug_batches(lengths, size, padding)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch, following in zip(batches, [*batches, np.zeros(0, dtype=np.int64)][1:], strict=True):
        missing = int(lengths[batch[0]] * len(batch) - lengths[batch].sum())
        assert 0 < len(batch) <= size
        assert missing <= padding
        if len(following):  # it could not hold one more
            assert len(batch) == size or missing + lengths[batch[0]] - lengths[following[0]] > padding
    plain = evaluation_batches(lengths, lengths, range(len(lengths)), BatchSize(size))
    assert np.concatenate([*batches, []]).tolist() == [*chain(*plain)]


PARTS, LABELS = ("premise", "hypothesis"), ("yes", "no")
TASK = Task(CLASSIFICATION, PARTS, LABELS, "no")
WORDS = "the dog in a park saw two old trees and a cat by some water".split()


def pool_of(labels: Sequence[str | None]) -> Examples:
    texts = [[" ".join(WORDS[: 1 + i * k % 11]) for k in (3, 7)] for i in range(len(labels))]
    return Examples.of(Example(f"u{i}", dict(zip(PARTS, pair, strict=True)), labels[i]) for i, pair in enumerate(texts))


@pytest.fixture
def processor(tiny_bert) -> TextProcessor:
    return TextProcessor(AutoTokenizer.from_pretrained(tiny_bert), PARTS, 32)


assert_same = partial(torch.testing.assert_close, rtol=0, atol=0)
GOLDS = {
    "classification": (TASK, ["yes", "no", None, "maybe"]),
    "soft": (Task(SOFT, PARTS, LABELS), ['{"yes": 1.0}', '{"no": 0.3, "yes": 0.6}', None, "{}"]),
}


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("kind", GOLDS)
def test_evaluation_batches_are_those_of_the_examples(processor: TextProcessor, kind: str, device: str) -> None:
    task, golds = GOLDS[kind]
    pool = pool_of(golds * 12)
    lengths = processor.lengths(pool)[3:]
    batches = [batch + 3 for batch in evaluation_batches(lengths, lengths, np.arange(45), BatchSize(8))]
    batches.append(np.zeros(0, dtype=np.int64))
    encoded = processor.encode(Composed.whole(pool))
    loader, collate = EvaluationLoader(pool, batches, encoded, task, torch.device(device)), Collate(processor, task)
    assert len(loader) == len(batches) == 7
    for _ in range(2):  # each epoch
        for batch, found in zip(batches, loader, strict=True):
            assert_same(found, collate((batch.tolist(), [pool[int(i)] for i in batch])))


@pytest.mark.parametrize("workers", [0, 2])
def test_training_batches_are_those_of_the_examples_and_their_counterfactuals(
    processor: TextProcessor, workers: int
) -> None:
    pool, swap = pool_of(["yes", "no"] * 20), Swap("premise", "no")
    partners = np.where(np.arange(40) % 2, -1, (np.arange(40) + 5) % 40)
    examples = with_counterfactuals(pool, swap, partners)
    assert len(examples) == 60
    lengths = processor.lengths(examples)
    sampler = TrainingSampler(lengths, 8, seed=1)
    loader = TrainingLoader(
        position=lambda: 0, **training_loader_arguments(examples, sampler, processor, TASK, workers)
    )
    whole, collate = list(examples), Collate(processor, TASK)
    assert [e.label for e in whole[40:]] == ["no"] * 20
    found = list(loader)
    assert [batch["positions"].tolist() for batch in found] == list(sampler)
    for batch in found:
        positions = batch["positions"].tolist()
        assert_same(batch, collate((positions, [whole[i] for i in positions])))
        assert batch["inputs"]["attention_mask"].sum(dim=1).tolist() == lengths[positions].tolist()


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("ahead")]


@pytest.mark.parametrize("depth", [1, 5])
@pytest.mark.parametrize("n", [0, 1, 50])
def test_prefetching_keeps_the_order_and_makes_no_more_than_asked_for(n: int, depth: int) -> None:
    made: list[int] = []
    is_made = threading.Event()

    def numbers() -> Iterator[int]:
        for i in range(n):
            made.append(threading.get_ident())
            if i == depth:
                is_made.set()
            yield i

    batches = ahead(numbers(), depth)
    for asked in range(n):
        assert next(batches) == asked
        assert len(made) <= asked + 1 + depth
        if not asked and n > depth:
            assert is_made.wait(timeout=30)  # while the first is used
    assert list(batches) == []
    assert {*made}.isdisjoint({threading.get_ident()})
    assert len({*made}) == min(n, 1)
    for _ in ahead(range(50)):
        break  # whoever stops early ends the thread
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
    assert not threads()


def test_tensors_are_pinned_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor + 100)
    batch = {"inputs": {"ids": torch.tensor([1])}, "labels": torch.tensor([2]), "texts": ["a"]}
    (pinned,) = ahead([batch], pin=True)
    assert (pinned["inputs"]["ids"].item(), pinned["labels"].item(), pinned["texts"]) == (101, 102, ["a"])
    assert next(ahead([batch]))["labels"].item() == 2
