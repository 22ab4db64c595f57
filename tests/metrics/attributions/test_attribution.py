"""Attributions of one example."""

import numpy as np
import pytest

from heedful.metrics.attributions.attribution import normalised
from heedful.metrics.attributions.factors import FACTORS
from heedful.metrics.attributions.sample import example
from heedful.reports.ranking import of_normalised


def test_normalised_phi_have_sizes_that_sum_to_one():
    of = example("a good dog", [0.2, -0.4, 0.1], "a bad dog", [0.1, 0.1, 0.0], separators=[0.05, -0.05])
    found = normalised(of)
    sizes = [np.abs(phi).sum() for phi in (*found.phi.values(), found.separator_phi)]
    assert sum(sizes) == pytest.approx(1)
    assert of_normalised(FACTORS["sum_diff"], of) == pytest.approx(FACTORS["sum_diff"](of) / 1.0)
    twice = example("a good dog", [0.4, -0.8, 0.2], "a bad dog", [0.2, 0.2, 0.0], separators=[0.1, -0.1])
    assert of_normalised(FACTORS["sum_diff"], twice) == pytest.approx(of_normalised(FACTORS["sum_diff"], of))
    assert FACTORS["sum_diff"](twice) == pytest.approx(2 * FACTORS["sum_diff"](of))


def test_an_example_without_any_effect_stays():
    of = example("a dog", [0.0, 0.0], "a cat", [0.0, 0.0], separators=[0.0, 0.0])
    assert normalised(of) is of
