"""Properties of all attribution methods that mask words, on the same games."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.metrics.attributions.masking import VERSIONS, Game, solve

from word_games import ends, play, smooth_game

SUMS, DRAWS = ("shap", "owen"), ("lime", "shap")


@pytest.mark.parametrize("method", SUMS)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=3), st.integers(0, 300), st.integers(0, 50))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_phi_sum_to_what_the_words_do_together(method, segments, more, seed):
    n = sum(segments)
    game = smooth_game(n, seed)
    full, nothing = ends(game, n)
    phi = play(method, game, segments, 2 + more, seed).phi
    assert phi.sum() == pytest.approx(full - nothing, abs=1e-9)


@pytest.mark.parametrize("method", VERSIONS)
def test_the_same_generator_gives_the_same_masks_and_phi(method):
    first, second, other = (play(method, smooth_game(20, 0), [10, 10], 100, seed) for seed in (7, 7, 8))
    assert (first.masks == second.masks).all()
    assert first.phi.tobytes() == second.phi.tobytes()
    assert (first.masks.tobytes() == other.masks.tobytes()) == (method == "owen")  # Owen values need no random masks


@pytest.mark.parametrize("method", DRAWS)
def test_masks_do_not_depend_on_the_model(method):
    first, second = (play(method, smooth_game(20, seed), [10, 10], 100, 7) for seed in (0, 1))
    assert (first.masks == second.masks).all()


@pytest.mark.parametrize("method", VERSIONS)
@pytest.mark.parametrize("budget", [2, 9, 30])
def test_budgets_below_the_number_of_words(method, budget):
    phi = play(method, smooth_game(40, 0), [20, 20], budget).phi
    assert np.isfinite(phi).all()
    assert np.abs(phi).max() < 1


def scatter(method, game, segments, budget, times=150):
    """The standard deviation of phi over seeds, and the standard error that the method reports (root mean squares)."""
    every = [play(method, game, segments, budget, seed) for seed in range(times)]
    phi, errors = np.array([played.phi for played in every]), np.array([played.error for played in every])
    return float(np.sqrt(phi.var(axis=0, ddof=1).mean())), float(np.sqrt((errors**2).mean()))


@pytest.mark.parametrize("method", DRAWS)
@pytest.mark.parametrize(("segments", "budget"), [((5, 4), 64), ((8, 8), 128), ((15, 15), 256)])
def test_the_error_is_how_far_phi_scatters(method, segments, budget):
    """The reported error is at most 10 % too small, and at most 50 % too large if the budget is small."""
    true, reported = scatter(method, smooth_game(sum(segments), 1), list(segments), budget)
    assert 0.9 < reported / true < 1.5


def test_examples_together_have_the_phi_of_each_alone_and_equal_masks_are_evaluated_once():
    several = [smooth_game(n, n) for n in (3, 8, 30)]
    games = [Game(f"d/{n}", "", (n - 2, 2), *ends(game, n)) for n, game in zip((3, 8, 30), several, strict=True)]
    seen = []

    def value_of(chosen):
        def value(indices, hidden):
            seen.extend((chosen[i].uid, mask.tobytes()) for i, mask in zip(indices, hidden, strict=True))
            return np.array(
                [
                    several[games.index(chosen[i])](~mask[None, : sum(chosen[i].segments)])[0]
                    for i, mask in zip(indices, hidden, strict=True)
                ]
            )

        return value

    together = solve([*VERSIONS], games, 64, 0, value_of(games))
    assert len(set(seen)) == len(seen)
    for k, game in enumerate(games):
        for method in VERSIONS:
            (alone,) = solve([method], [game], 64, 0, value_of([game]))[method]
            np.testing.assert_array_equal(together[method][k].phi, alone.phi)
            np.testing.assert_array_equal(together[method][k].error, alone.error)
            assert together[method][k].masks == alone.masks <= 64
