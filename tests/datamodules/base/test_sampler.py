"""Batches for evaluation hold every example once; batches for training are alike on all ranks."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.datamodules.base.sampler import TrainingLoader, TrainingSampler, evaluation_batches, share, snug_batches

LENGTHS = st.lists(st.integers(1, 30), max_size=60).map(lambda n: np.array(n, dtype=np.int32))


@given(lengths=LENGTHS, size=st.integers(1, 9), first=st.none() | st.integers(1, 9))
def test_evaluation_batches_are_cut_from_one_sorted_list(lengths: np.ndarray, size: int, first: int | None) -> None:
    keys = [f"uid {i * 7 % 61}" for i in range(len(lengths))]
    batches = evaluation_batches(lengths, keys, size, first)
    flat = list(chain.from_iterable(batches))
    assert flat == sorted(range(len(keys)), key=lambda i: (-lengths[i], keys[i]))  # in whatever order they are given
    sizes = [len(batch) for batch in batches]
    start = [first or size] if len(flat) > (first or size) else []
    assert sizes[: len(start)] == start
    assert all(n == size for n in sizes[1:-1])
    assert all(0 < n <= max(size, first or size) for n in sizes)


def test_a_first_batch_of_another_size_gives_everyone_other_companions() -> None:
    lengths = np.full(256, 5)
    full = evaluation_batches(lengths, list(range(256)), 64)
    shifted = evaluation_batches(lengths, list(range(256)), 64, first=32)
    assert [len(b) for b in full] == [64] * 4
    assert [len(b) for b in shifted] == [32, 64, 64, 64, 32]
    assert not {frozenset(b.tolist()) for b in full} & {frozenset(b.tolist()) for b in shifted}


@pytest.mark.parametrize("world", [1, 2, 3])
@given(lengths=LENGTHS, size=st.integers(1, 9))
def test_evaluation_gives_every_example_once_in_the_same_batches(lengths: np.ndarray, size: int, world: int) -> None:
    batches = evaluation_batches(lengths, list(range(len(lengths))), size)
    ranks = [[batch.tolist() for batch in share(batches, rank, world)] for rank in range(world)]
    whole = [batch for rank in ranks for batch in rank]
    assert sorted(whole) == sorted(batch.tolist() for batch in batches)
    assert share(batches, world, world) == []  # a rank beyond those that predict
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


def test_what_is_dropped_changes_from_epoch_to_epoch() -> None:
    lengths = np.full(7, 4)
    samplers = [TrainingSampler(lengths, 1, 0, rank, 2) for rank in range(2)]
    kept = [frozenset(chain(*(chain(*epoch(s, number)) for s in samplers))) for number in range(80)]
    assert all(len(k) == 6 for k in kept)
    assert frozenset.intersection(*kept) == frozenset()


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


@given(lengths=LENGTHS, size=st.integers(1, 9), padding=st.integers(0, 60))
def test_snug_batches_hold_all_and_little_padding(lengths: np.ndarray, size: int, padding: int) -> None:
    batches = snug_batches(lengths, size, padding)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch, following in zip(batches, [*batches, np.zeros(0, dtype=np.int64)][1:], strict=True):
        missing = int(lengths[batch[0]] * len(batch) - lengths[batch].sum())
        assert 0 < len(batch) <= size
        assert missing <= padding
        if len(following):  # it could not hold one more
            assert len(batch) == size or missing + lengths[batch[0]] - lengths[following[0]] > padding


@given(lengths=LENGTHS, size=st.integers(1, 9))
def test_snug_batches_are_the_usual_ones_where_padding_costs_nothing(lengths: np.ndarray, size: int) -> None:
    usual = evaluation_batches(lengths, list(range(len(lengths))), size)
    assert [b.tolist() for b in snug_batches(lengths, size, 10_000)] == [b.tolist() for b in usual]
