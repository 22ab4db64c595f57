"""LIME against the lime package.

lime_package.json was written once by ``LimeTextExplainer(bow=False, mask_string="MASK", split_expression=" ",
feature_selection="none", random_state=seed).explain_instance(text, f, labels=(1,), num_features=n, num_samples=S)`` of
lime 0.2.0.1 for n, S, seed = (1, 8, 0), (4, 30, 1), (12, 40, 2), (25, 64, 3), where the words of a text are w0, w1, ...
and f is a logistic function of them with two interactions; ``LimeBase.explain_instance_with_data`` was wrapped to
record the masks and the outputs that it is given.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.attributions.lime import coefficients, kernel, neighbours
from heedful.metrics.attributions.regression import subsets

from word_games import play, smooth_game, table_game

CASES = json.loads(Path(__file__).with_name("lime_package.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{len(case['coefficients'])} words")
def test_the_packages_own_masks_and_outputs_give_its_coefficients(case):
    present = np.array([[bit == "1" for bit in mask] for mask in case["masks"]])
    phi, _ = coefficients(present, np.array(case["values"]))
    assert phi == pytest.approx(case["coefficients"], rel=0, abs=1e-8)


def ridge(x, y, weights):
    """Coefficients by least squares with a row for each penalty and a column for the intercept."""
    n = x.shape[1]
    root = np.sqrt(weights)
    rows = np.vstack([root[:, None] * np.column_stack([np.ones(len(x)), x]), np.eye(n, n + 1, 1)])
    return np.linalg.lstsq(rows, np.concatenate([root * y, np.zeros(n)]), rcond=None)[0][1:]


def instances(n, budget, seed=0):
    game = smooth_game(n, seed)
    asked = play("lime", game, [n], budget, seed).masks
    present = np.concatenate([np.ones((1, n), dtype=bool), asked])
    return present, game(present)


def test_the_error_is_the_scatter_of_what_leaving_out_each_drawn_mask_changes():
    present, values = instances(6, 40)
    phi, error = coefficients(present, values)
    x, weights = present.astype(float), kernel(present)
    changes = np.array(
        [phi - ridge(*(np.delete(column, i, axis=0) for column in (x, values, weights))) for i in range(1, len(x))]
    )
    count = len(changes)
    assert error == pytest.approx(np.sqrt(count) * changes.std(axis=0, ddof=1), rel=1e-7)


def test_the_unmasked_example_counts_as_one_of_the_samples():
    played = play("lime", table_game(5, 0), [5], 100)
    assert len(played.rounds) == 1
    hidden = 99 - len(played.masks)  # f of the empty mask is known, so that the method does not ask for it
    assert 5 <= hidden <= 40


@pytest.mark.filterwarnings("error")
def test_the_error_of_a_single_drawn_mask_is_unknown():
    assert np.isnan(play("lime", smooth_game(5, 0), [5], 2, seed=1).error).all()


@given(st.integers(1, 12), st.integers(0, 2**32), st.data())
def test_subsets_have_their_sizes(n, seed, data):
    sizes = data.draw(st.lists(st.integers(0, n), max_size=20))
    drawn = subsets(np.array(sizes, dtype=np.int64), n, np.random.default_rng(seed))
    assert drawn.shape == (len(sizes), n)
    assert drawn.sum(axis=1).tolist() == sizes


def test_each_subset_of_a_size_is_as_likely_as_any_other():
    drawn = subsets(np.full(20_000, 2), 5, np.random.default_rng(0))
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 10
    assert abs(counts - 2000).max() < 5 * np.sqrt(2000)


def test_lime_hides_one_to_all_words_each_number_as_often():
    """As in lime: ``randint(1, n + 1)``, so that at least one word is hidden, and sometimes all are."""
    hidden = (~neighbours(6, 30_001, np.random.default_rng(1))[1:]).sum(axis=1)
    sizes, counts = np.unique(hidden, return_counts=True)
    assert sizes.tolist() == [1, 2, 3, 4, 5, 6]
    assert abs(counts - 5000).max() < 5 * np.sqrt(5000)
