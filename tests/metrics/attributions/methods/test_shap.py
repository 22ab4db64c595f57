import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.interventions.masks import Coalitions, coalitions
from heedful.metrics.attributions.methods.shap import is_scarce, shapley

from word_games import ends, pairwise_game, planted_game, play, shapley_by_subsets, smooth_game, table_game


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
        x, w = chosen.present.astype(float), np.repeat(weights, 2)
        y = game(chosen.present) - nothing
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
    phi, error = shapley(chosen, game(chosen.present), *ends(game, n))
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


def test_a_design_that_does_not_determine_phi_is_seen_though_it_has_pairs_enough():
    together = np.eye(5, dtype=bool)
    together[:, 4] = together[:, 3]  # the last two words are never apart
    chosen = Coalitions(together[[0, 1, 2, 0, 1]], np.full(5, 0.2), np.ones(5, dtype=np.int64), False)
    phi, error = shapley(chosen, planted_game(1)(chosen.present), 0.9, 0.2)
    assert phi[3] == pytest.approx(phi[4])
    assert phi.sum() == pytest.approx(0.7)
    assert np.isnan(error).all()


def test_errors_are_unknown_where_hardly_a_pair_is_drawn():
    assert np.isnan(play("shap", smooth_game(20, 0), [20], 40).error).all()
    assert np.isnan(play("shap", smooth_game(20, 0), [20], 48).error).all()
    assert np.isfinite(play("shap", smooth_game(20, 0), [20], 50).error).all()
