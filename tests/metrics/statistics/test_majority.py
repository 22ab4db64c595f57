"""The test against the majority baseline, in simulations of models that are no better than the best constant answer."""

import numpy as np
import pytest

from heedful.metrics.statistics import majority
from heedful.metrics.statistics.majority import majority_flag

from tiers import first_tier


@pytest.fixture(autouse=True)
def _few_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(majority, "CHOICES", 1000)


def rejected(examples: int, label: float, differ: float | None, size: int, alike: float, tries: int) -> float:
    """Share of simulations in which a model that is as good as the best constant answer is not flagged.

    Args:
        examples: Number of examples.
        label: Expected share of examples with the first of two labels, at least a half; also the accuracy.
        differ: Share of examples in which one of the model and the constant answer is right; None if the model is right
            with the same probability for both labels.
        size: Number of examples per cluster.
        alike: Probability that an example has the label and the answer of its cluster.
        tries: Number of simulations.
    """
    rng, clusters = np.random.default_rng(0), examples // size
    cluster, found = np.repeat(np.arange(clusters), size), 0

    def uniform() -> np.ndarray:
        return np.where(rng.random((clusters, size)) < alike, *(rng.random((clusters, n)) for n in (1, size))).ravel()

    for _ in range(tries):
        gold, drawn = uniform() < label, uniform()
        by_label = (1 - differ / 2 / label, differ / 2 / (1 - label)) if differ else (label, label)
        right = drawn < np.where(gold, *by_label)
        best = gold == (gold.mean() >= 0.5)
        found += majority_flag(right, best, cluster, (0,)) == ()
    return found / tries


@pytest.mark.parametrize(
    ("examples", "label", "differ", "size", "alike"),
    first_tier(
        3,
        [
            (200, 0.6, 0.2, 1, 0.0),
            (1000, 0.6, None, 1, 0.0),
            (300, 0.6, 0.4, 5, 0.5),
            (400, 0.7, 0.2, 1, 0.0),
            (300, 0.8, 0.1, 5, 0.8),
            (1000, 0.6, None, 5, 0.5),
        ],
    ),
)
def test_where_one_label_is_the_most_frequent_the_flag_is_missing_in_5_percent(examples, label, differ, size, alike):
    assert 0.03 <= rejected(examples, label, differ, size, alike, 1500) <= 0.065


@pytest.mark.parametrize(
    ("label", "differ", "size", "alike"),
    first_tier(
        2, [(0.505, 0.2, 1, 0.0), (0.51, None, 5, 0.5), (0.5, 0.4, 1, 0.0), (0.55, None, 5, 1.0), (0.53, 0.1, 1, 0.0)]
    ),
)
def test_where_two_labels_are_nearly_as_frequent_the_flag_is_missing_less_often(label, differ, size, alike):
    """The best answer is chosen from the data, so its score is above its expectation."""
    assert rejected(300, label, differ, size, alike, 500) <= 0.065
