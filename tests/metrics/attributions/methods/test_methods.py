"""Properties of all attribution methods that mask words, on the same games."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.metrics.attributions.methods import METHODS
from heedful.metrics.attributions.methods.regression import inverse

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


@pytest.mark.parametrize("method", METHODS)
def test_the_same_generator_gives_the_same_masks_and_phi(method):
    first, second, other = (play(method, smooth_game(20, 0), [10, 10], 100, seed) for seed in (7, 7, 8))
    assert (first.masks == second.masks).all()
    assert first.phi.tobytes() == second.phi.tobytes()
    assert (first.masks.tobytes() == other.masks.tobytes()) == (method == "owen")  # Owen values need no random masks


@pytest.mark.parametrize("method", DRAWS)
def test_masks_do_not_depend_on_the_model(method):
    first, second = (play(method, smooth_game(20, seed), [10, 10], 100, 7) for seed in (0, 1))
    assert (first.masks == second.masks).all()


@pytest.mark.parametrize("method", ["lime", "shap", "owen"])
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


@given(st.integers(1, 30), st.integers(0, 1000))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_inverse(n, seed):
    x = np.random.default_rng(seed).normal(size=(2 * n, n))
    matrix = x.T @ x + np.eye(n)
    inverted, pivot = inverse(matrix)
    assert inverted @ matrix == pytest.approx(np.eye(n), abs=1e-9)
    assert 0 < pivot <= 1


BITS = """
import sys, numpy as np
sys.path.insert(0, "tests/helpers")
from word_games import play, smooth_game
for method in ("lime", "shap"):
    print(*(play(method, smooth_game(n, 0), [n], 256).phi.tobytes().hex() for n in (30, 110)))
"""


@pytest.mark.slow
def test_the_number_of_threads_changes_no_bit(pytestconfig):
    """Matrix products of a BLAS depend on the number of threads, from about 90 words."""
    runs = [
        subprocess.run(
            [sys.executable, "-c", BITS],
            cwd=pytestconfig.rootpath,
            env={**os.environ, "OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    ]
    assert runs[0] == runs[1] != ""
