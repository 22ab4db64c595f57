"""Numbers over seeds of demonstrations: against loops, and what their intervals cover."""

from dataclasses import replace
from statistics import stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, t

from heedful.metrics.statistics.over_seeds import (
    ONE_SEED,
    crossed,
    is_above,
    is_above_zero,
    less_over_seeds,
    numbers_of,
    over_seeds,
    sums_of,
)
from heedful.metrics.statistics.paired import recording
from heedful.metrics.statistics.shares import share
from heedful.records import Measurement

from clustered_shares import Entry, Share, change_interval, less_interval, share_interval


def random_sums(seeds, clusters, columns=2, seed=0):
    """Hits and counts of clusters of up to three entries."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(columns // 2):
        count = rng.integers(1, 4, size=(seeds, clusters))
        pairs += [rng.binomial(count, rng.uniform(0.2, 0.8, size=(seeds, 1))), count]
    return np.stack(pairs, axis=2).astype(np.float64)


def numbers(sums, stds=()):
    """The number of each seed, as a metric makes it; None where nothing is counted."""
    with recording():
        return [
            replace(share(hits, np.arange(len(hits)), of=of), std=std)
            for (hits, of), std in zip(sums.transpose(0, 2, 1), stds or [None] * len(sums), strict=True)
        ]


def literal(sums, level=0.95):
    """The interval over clusters with all seeds at once, and Student's t of the numbers of seeds, each in loops."""
    seeds, clusters, columns = sums.shape
    entries = [Entry(c, *sums[s, c, :2], s) for s in range(seeds) for c in range(clusters)]
    own = [sum(sums[s, :, 0]) / sum(sums[s, :, 1]) for s in range(seeds)]
    bounds = share_interval(entries, level)
    if columns == 4:
        own = [first - sum(sums[s, :, 2]) / sum(sums[s, :, 3]) for s, first in enumerate(own)]
        others = [Entry(c, *sums[s, c, 2:], s) for s in range(seeds) for c in range(clusters)]
        bounds = less_interval(Share(entries, range(clusters)), Share(others, range(clusters)), level)
        if all(e.of == o.of for e, o in zip(entries, others, strict=True)):
            changes = [e._replace(hits=e.hits - o.hits) for e, o in zip(entries, others, strict=True)]
            bounds = change_interval(changes, level)
    if seeds == 1:
        return own, bounds
    mean = sum(own) / seeds
    away = t.isf((1 - level) / 2, seeds - 1) * stdev(own) / seeds**0.5
    low, high = mean - ((mean - bounds[0]) ** 2 + away**2) ** 0.5, mean + ((bounds[1] - mean) ** 2 + away**2) ** 0.5
    return own, (max(-1.0 if columns == 4 else 0.0, low), min(1.0, high))


@pytest.mark.parametrize("seeds", [1, 2, 3, 5])
@pytest.mark.parametrize("less", ["", "of the same", "of others"])
def test_the_interval_is_that_of_loops(seeds, less):
    sums = random_sums(seeds, 40, 4 if less else 2, seed=seeds)
    if less == "of the same":
        sums[..., 3] = sums[..., 1]
        sums[..., 2] = np.minimum(sums[..., 2], sums[..., 3])
    own, expected = literal(sums)
    if less:
        pairs = zip(numbers(sums[..., :2]), numbers(sums[..., 2:]), strict=True)
        measured = less_over_seeds(list(pairs), "none")
    else:
        measured = over_seeds(numbers(sums))
        np.testing.assert_array_equal(sums_of(numbers(sums)), sums)
    np.testing.assert_allclose(numbers_of(sums), own, rtol=0, atol=1e-12)
    np.testing.assert_allclose(measured.per_seed, own, rtol=0, atol=1e-12)
    assert measured.value == pytest.approx(sum(own) / seeds, abs=1e-12)
    assert measured.ci95 == pytest.approx(expected, abs=1e-9)
    assert crossed(sums, 0.9) == pytest.approx(literal(sums, 0.9)[1], abs=1e-9)


@given(st.integers(1, 4), st.integers(2, 12), st.integers(0, 1000))
def test_seeds_may_come_in_any_order(seeds, clusters, seed):
    sums = random_sums(seeds, clusters, seed=seed)
    first, other = (over_seeds(numbers(each)) for each in (sums, sums[::-1]))
    assert first.value == pytest.approx(other.value, abs=1e-12)
    assert first.per_seed == other.per_seed[::-1]
    assert first.ci95[0] <= first.value + 1e-12
    assert first.ci95[1] >= first.value - 1e-12
    assert first.ci95 == pytest.approx(other.ci95)
    assert 0 <= first.ci95[0] < first.ci95[1] <= 1


def test_standard_deviations_are_those_of_draws_and_of_seeds():
    sums = np.array([[[1, 2], [0, 2]], [[2, 2], [1, 2]]], dtype=np.float64)
    measured = over_seeds(numbers(sums, [0.1, 0.3]))
    assert (measured.value, measured.n) == (0.5, 2)
    assert measured.std_draws == pytest.approx(0.2)
    assert measured.std_seeds == pytest.approx(np.std([0.25, 0.75], ddof=1))
    assert over_seeds(numbers(sums[:1])).std_seeds is None
    assert over_seeds(numbers(sums), has_interval=False).ci95 is None


def test_a_seed_without_a_number_is_counted_and_left_out():
    sums = random_sums(3, 20)
    sums[1] = 0
    measured, alone = (over_seeds(numbers(each)) for each in (sums, sums[[0, 2]]))
    assert measured.undefined == 1
    assert (measured.value, measured.ci95) == (alone.value, alone.ci95)
    assert measured.flags == ()
    assert over_seeds(numbers(sums[:2])).flags == (ONE_SEED,)
    none = over_seeds(numbers(sums[[1]]), reason="nothing")
    assert less_over_seeds([(Measurement(None, 0), Measurement(None, 0))], "nothing") == none
    assert (none.value, none.ci95, none.undefined, none.reason) == (None, None, 1, "nothing")


def test_where_all_clusters_and_seeds_agree_it_rests_on_the_clusters():
    measured = over_seeds(numbers(np.ones((3, 10, 2))))
    assert measured.ci95 == pytest.approx(tuple(binomtest(10, 10).proportion_ci(method="exact")))


def test_what_seeds_disagree_on_is_not_above_zero():
    ones = np.ones((3, 200))
    alike = np.stack([0.1 * ones, ones], axis=2)
    apart = np.stack([np.array([[0.4], [0.1], [-0.2]]) * ones, ones], axis=2)
    assert is_above_zero(alike)
    assert not is_above_zero(apart)
    assert not is_above_zero(alike * [-1, 1])


def test_a_number_is_above_another_as_what_it_wins_is_above_zero():
    sums = random_sums(4, 60, 4)
    sums[..., 3] = sums[..., 1]
    sums[..., 2] = np.maximum(sums[..., 0] - 1, 0)
    pairs = list(zip(numbers(sums[..., :2]), numbers(sums[..., 2:]), strict=True))
    won = np.stack([sums[..., 0] - sums[..., 2], sums[..., 1]], axis=2)
    assert is_above(pairs) == is_above_zero(won)
    assert is_above([pair[::-1] for pair in pairs]) == is_above_zero(won * [-1, 1])
    assert is_above(pairs) != is_above([pair[::-1] for pair in pairs])


def covered(seeds, clusters, level, spread, repeats, interval):
    """How often an interval holds the expectation over examples and seeds."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(repeats):
        rates = np.clip(level + rng.normal(0, spread, size=(seeds, 1)), 0, 1)
        easy = np.clip(rng.uniform(-0.1, 0.1, size=(1, clusters)), -level, level)
        hit = (rng.random((seeds, clusters)) < rates + easy).astype(np.float64)
        low, high = interval(np.stack([hit, np.ones_like(hit)], axis=2))
        hits += low <= level <= high
    return hits / repeats


def over_examples_alone(sums):
    """The interval over clusters, as if no other demonstrations could have been drawn."""
    return crossed(sums.sum(axis=0, keepdims=True))


@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_the_crossed_interval_covers_where_that_over_examples_does_not(seeds):
    """At 500 examples, with seeds that differ by 10 points, and with seeds and shares that hardly do."""

    assert covered(seeds, 500, 0.5, 0.1, 200, crossed) >= 0.93
    assert covered(seeds, 500, 0.5, 0.1, 200, over_examples_alone) <= 0.7
    assert covered(seeds, 500, 0.5, 0.0, 200, crossed) >= 0.94
    assert covered(seeds, 50, 0.02, 0.0, 200, crossed) >= 0.94
