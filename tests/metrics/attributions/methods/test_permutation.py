import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.interventions.masks import antithetic_orders, prefixes
from heedful.metrics.attributions.methods.permutation import FEWEST, mean_contributions
from heedful.records import HeedfulError

from word_games import all_orders, mean_over_orders, pairwise_game, play, shapley_by_subsets, smooth_game, table_game


@given(st.integers(2, 10), st.integers(0, 100))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_one_pair_explains_a_pairwise_game_exactly(n, seed):
    game = pairwise_game(n, seed)
    assert play("permutation", game, [n], 2 * (n - 1), seed).phi == pytest.approx(shapley_by_subsets(game, n), abs=1e-9)


def test_it_is_the_mean_over_its_orders_and_the_error_the_scatter_of_its_pairs():
    n, pairs, game = 6, 21, table_game(6, 0)
    orders = antithetic_orders(n, pairs, np.random.default_rng(0))
    values = game(prefixes(orders).reshape(-1, n)).reshape(2 * pairs, n - 1)
    full, nothing = game(np.ones((1, n), dtype=bool))[0], game(np.zeros((1, n), dtype=bool))[0]
    phi, error = mean_contributions(orders, values, full, nothing)
    of_pairs = np.array([mean_over_orders(game, n, orders[2 * p : 2 * p + 2].tolist()) for p in range(pairs)])
    assert phi == pytest.approx(of_pairs.mean(axis=0))
    assert error == pytest.approx(np.sqrt(of_pairs.var(axis=0, ddof=1) / pairs * 20 / 18))  # variance of t


def test_over_all_orders_it_is_the_shapley_value():
    n, game = 5, table_game(5, 1)
    orders = np.array([order for order in all_orders(n) if order[0] < order[-1]])
    orders = np.stack([orders, orders[:, ::-1]], axis=1).reshape(-1, n)
    values = game(prefixes(orders).reshape(-1, n)).reshape(-1, n - 1)
    full, nothing = game(np.ones((1, n), dtype=bool))[0], game(np.zeros((1, n), dtype=bool))[0]
    assert mean_contributions(orders, values, full, nothing)[0] == pytest.approx(shapley_by_subsets(game, n))


def test_it_takes_as_many_pairs_as_the_budget_holds():
    for budget, masks in ((22, 22), (43, 22), (44, 44), (256, 242)):
        assert len(play("permutation", smooth_game(12, 0), [6, 6], budget).masks) == masks


def test_it_is_right_on_average():
    n, game = 7, table_game(7, 3)
    every = np.array([play("permutation", game, [n], 24, seed).phi for seed in range(800)])
    apart = (every.mean(axis=0) - shapley_by_subsets(game, n)) / (every.std(axis=0, ddof=1) / np.sqrt(800))
    assert np.abs(apart).max() < 4


@pytest.mark.parametrize("pairs", [1, 4, 19, 20])
def test_the_error_of_few_pairs_is_unknown(pairs):
    assert np.isnan(play("permutation", smooth_game(5, 0), [5], 8 * pairs).error).all() == (pairs < 20)


@pytest.mark.parametrize(("game", "n"), [(table_game(6, 3), 6), (smooth_game(8, 1), 8)], ids=["table", "smooth"])
@pytest.mark.parametrize("pairs", [20, 40])
def test_what_phi_is_off_by_is_of_the_size_of_its_error(game, n, pairs):
    """With the scatter of the pairs alone it would be up to 1.15 times as large."""
    exact = shapley_by_subsets(game, n)
    apart = []
    for seed in range(300):
        phi, error, _ = play("permutation", game, [n], 2 * (n - 1) * pairs, seed)
        apart.append((phi - exact)[error > 1e-12] / error[error > 1e-12])
    assert 0.9 < np.sqrt(np.mean(np.concatenate(apart) ** 2)) < 1.15


def test_two_words_need_one_pair_of_orders():
    game = table_game(2, 0)
    phi, error, rounds = play("permutation", game, [1, 1], 256)
    assert phi == pytest.approx(shapley_by_subsets(game, 2))
    assert error.tolist() == [0.0, 0.0]
    assert [len(masks) for masks in rounds] == [2]


def test_words_without_a_part_in_the_game_have_nothing():
    game = table_game(8, 1, ignored=(2, 5))
    phi, error, _ = play("permutation", game, [4, 4], 14 * FEWEST)
    assert phi[[2, 5]].tolist() == error[[2, 5]].tolist() == [0.0, 0.0]


def test_less_than_a_pair_is_refused():
    with pytest.raises(
        HeedfulError, match="samples is 57, but permutation needs 58 or more for an example of 30 words"
    ):
        play("permutation", smooth_game(30, 0), [15, 15], 57)
