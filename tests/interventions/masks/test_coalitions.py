from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions.masks import coalitions


def drawn(n, budget, seed=0):
    return coalitions(n, budget, np.random.default_rng(seed))


def kernel_of_size(n, size):
    """The Shapley kernel (Lundberg and Lee 2017, theorem 2) of all coalitions of a size together."""
    return comb(n, size) * (n - 1) / (comb(n, size) * size * (n - size))


@given(st.integers(2, 14), st.integers(2, 400), st.integers(0, 1000))
def test_pairs_are_distinct_complementary_and_within_the_budget(n, budget, seed):
    chosen = drawn(n, budget, seed)
    masks = chosen.present
    assert len(masks) <= min(budget, 2**n - 2)
    assert (masks[::2] == ~masks[1::2]).all()
    assert len(np.unique(masks, axis=0)) == len(masks)
    assert masks.any(axis=1).all()
    assert (chosen.weights > 0).all()
    assert chosen.complete == (budget >= 2**n - 2) == (len(masks) == 2**n - 2)


@pytest.mark.parametrize("n", range(2, 10))
def test_a_budget_for_all_takes_all_by_the_kernel_and_draws_nothing(n):
    rng = np.random.default_rng(0)
    chosen = coalitions(n, 2**n - 2, rng)
    assert rng.random() == np.random.default_rng(0).random()
    assert chosen.complete
    assert not chosen.draws.any()
    kernel = {size: kernel_of_size(n, size) / comb(n, size) for size in range(1, n)}
    scale = sum(kernel[size] * comb(n, size) for size in range(1, n))
    expected = [kernel[size] * 2 / scale for size in chosen.half.sum(axis=1).tolist()]  # both of a pair
    assert chosen.weights == pytest.approx(expected)


@pytest.mark.parametrize(("n", "budget"), [(9, 18), (12, 40), (15, 256), (30, 60), (60, 256)])
def test_each_word_stands_alone_and_is_left_out_alone_where_the_budget_holds_that(n, budget):
    chosen = drawn(n, budget)
    single = chosen.half[:n]
    assert (single == np.eye(n, dtype=bool)).all()
    assert not chosen.draws[:n].any()
    assert chosen.draws.sum() == budget // 2 - n
    kernel = [kernel_of_size(n, size) for size in range(1, n)]
    if chosen.draws.any():
        assert chosen.weights.sum() == pytest.approx(1)
        assert chosen.weights[:n].sum() == pytest.approx((kernel[0] + kernel[-1]) / sum(kernel))


def test_a_further_size_is_whole_where_that_costs_no_more_than_to_draw_it():
    n = 9
    assert Counter(drawn(n, 300).half[drawn(n, 300).draws == 0].sum(axis=1).tolist()) == {1: 9, 2: 36}
    few = drawn(n, 100)  # holds size 2, but would leave nothing for sizes 3 and 4
    assert (few.half[few.draws == 0].sum(axis=1) == 1).all()
    assert {2, 3, 4} <= set(np.minimum(few.half.sum(axis=1), n - few.half.sum(axis=1)).tolist())


def test_what_is_drawn_follows_the_kernel_over_the_sizes_left():
    n, budget = 8, 40  # 8 pairs of one word, 12 drawn
    sizes, subsets = Counter(), Counter()
    for seed in range(1500):
        chosen = drawn(n, budget, seed)
        for half, draws in zip(chosen.half, chosen.draws.tolist(), strict=True):
            sizes[min(half.sum(), n - half.sum())] += draws
            subsets[min(tuple(np.flatnonzero(half)), tuple(np.flatnonzero(~half)), key=len)] += draws
    mass = {size: kernel_of_size(n, size) * (2 if size < 4 else 1) for size in (2, 3, 4)}
    total = sum(mass.values())
    for size, share in mass.items():
        expected = 18_000 * share / total
        assert abs(sizes[size] - expected) < 4 * np.sqrt(expected)
    of_two = [subsets[pair] for pair in combinations(range(n), 2)]
    assert abs(np.array(of_two) - np.mean(of_two)).max() < 4 * np.sqrt(np.mean(of_two))


def test_a_pair_that_is_drawn_again_is_merged_and_counted():
    chosen = drawn(5, 24, 1)  # 5 pairs of one word are whole; 7 are drawn of the 10 others
    drawn_weights = chosen.weights[chosen.draws > 0] / chosen.draws[chosen.draws > 0]
    assert chosen.draws.sum() == 7
    assert chosen.draws.max() > 1
    assert drawn_weights == pytest.approx(np.full(len(drawn_weights), drawn_weights[0]))
