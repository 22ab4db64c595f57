from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.metrics.attributions.shap import coalitions, is_scarce, shapley

from word_games import ends, pairwise_game, play, shapley_by_subsets, smooth_game, table_game


@pytest.mark.parametrize("n", range(1, 13))
def test_over_all_subsets_it_is_the_shapley_value(n):
    game = table_game(n, n)
    phi, error, rounds = play("shap", game, [n], 2**n)
    assert phi == pytest.approx(shapley_by_subsets(game, n), rel=0, abs=1e-6)
    assert error.tolist() == [0.0] * n
    assert sum(map(len, rounds)) == 2**n - 2


@given(st.integers(2, 25), st.integers(0, 100), st.integers(0, 300))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_a_pairwise_game_is_explained_exactly_where_each_word_stands_alone_once(n, seed, more):
    """In a game with interactions of two words at most, f(S) - f(complement of S) is linear in the Shapley values."""
    game = pairwise_game(n, seed)
    played = play("shap", game, [n], 2 * n + more, seed)
    single, alone = np.eye(n, dtype=bool), np.zeros((1, n), dtype=bool)
    worth = game(single) - game(alone)
    both = np.array([[game((single[i] | single[j])[None])[0] for j in range(n)] for i in range(n)])
    joint = both - both.diagonal()[:, None] - both.diagonal() + game(alone)
    np.fill_diagonal(joint, 0.0)
    assert played.phi == pytest.approx(worth + joint.sum(axis=1) / 2, abs=1e-8)
    assert np.nan_to_num(played.error).max() < 1e-8


def by_conditions(chosen, game):
    """phi by least squares with a Lagrange multiplier, and the change of phi without each random pair (jackknife)."""
    n = chosen.half.shape[1]
    full, nothing = ends(game, n)

    def solve(weights):
        masks = chosen.masks[2:]  # without those of all and of no features
        x, w = masks.astype(float), np.repeat(weights, 2)
        y = game(masks) - nothing
        system = np.block([[(x * w[:, None]).T @ x, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
        return np.linalg.solve(system, [*(x.T @ (w * y)), full - nothing])[:n]

    phi, without = solve(chosen.weights), []
    for pair, draws in enumerate(chosen.draws.tolist()):
        less = chosen.weights.copy()
        less[pair] -= chosen.weights[pair] / max(draws, 1)
        without += draws * [solve(less)] if draws else []
    return phi, phi - np.array(without)


@pytest.mark.parametrize(("n", "budget"), [(5, 24), (8, 60), (12, 200)])
def test_constrained_least_squares_and_the_scatter_of_what_leaving_out_a_drawn_pair_changes(n, budget):
    chosen, game = coalitions(n, budget, np.random.default_rng(3)), smooth_game(n, 0)
    phi, error = shapley(chosen, game(chosen.masks))
    expected, changes = by_conditions(chosen, game)
    assert phi == pytest.approx(expected, abs=1e-9)
    assert len(changes) == chosen.draws.sum()
    assert error == pytest.approx(np.sqrt(len(changes)) * changes.std(axis=0, ddof=1), rel=1e-6)


@pytest.mark.parametrize("budget", [2, 7, 20, 39])
def test_fewer_pairs_than_words_keep_the_sum_say_that_errors_are_unknown_and_do_not_explode(budget):
    for seed in range(20):
        game = smooth_game(20, seed)
        full, nothing = ends(game, 20)
        phi, error, _ = play("shap", game, [20], budget, seed)
        assert phi.sum() == pytest.approx(full - nothing)
        assert np.isnan(error).all()
        assert np.abs(phi).max() < 1


@pytest.mark.parametrize("n", range(1, 9))
def test_an_additive_game_is_explained_exactly_unless_masks_are_scarce(n):
    added = np.arange(1.0, n + 1) ** 2
    for budget in range(2, 2 * n + 3):
        phi = play("shap", lambda masks: masks @ added, [n], budget).phi
        assert bool(is_scarce(np.array([n]), budget)[0]) == (np.abs(phi - added).max() > 1e-6), budget


def test_errors_are_unknown_where_hardly_a_pair_is_drawn():
    assert np.isnan(play("shap", smooth_game(20, 0), [20], 40).error).all()
    assert np.isnan(play("shap", smooth_game(20, 0), [20], 48).error).all()
    assert np.isfinite(play("shap", smooth_game(20, 0), [20], 50).error).all()


def drawn(n, budget, seed=0):
    return coalitions(n, budget, np.random.default_rng(seed))


def kernel_of_size(n, size):
    """The Shapley kernel (Lundberg and Lee 2017, theorem 2) of all coalitions of a size together."""
    return comb(n, size) * (n - 1) / (comb(n, size) * size * (n - size))


@given(st.integers(2, 14), st.integers(2, 400), st.integers(0, 1000))
def test_pairs_are_distinct_complementary_and_within_the_budget(n, budget, seed):
    chosen = drawn(n, budget, seed)
    masks = chosen.masks[2:]  # without those of all and of no features
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
