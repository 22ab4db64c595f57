"""Numbers over seeds of demonstrations: against loops, and what their intervals cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.statistics.bootstrap import BLOCK, NO_WIDTH, RESAMPLES, difference, ratio
from heedful.metrics.statistics.over_seeds import ONE_SEED, crossed, is_above_zero, over_seeds
from heedful.records import generator


def random_sums(seeds, clusters, columns=2, seed=0):
    """Hits and counts of clusters of up to three entries."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(columns // 2):
        count = rng.integers(1, 4, size=(seeds, clusters))
        pairs += [rng.binomial(count, rng.uniform(0.2, 0.8, size=(seeds, 1))), count]
    return np.stack(pairs, axis=2).astype(np.float64)


def literal(sums, key, less=False):
    """Each resample on its own: how often each kind of cluster is drawn, sums, ratios, their mean, and Student's t."""
    seeds, clusters, columns = sums.shape
    kinds = {}
    for c in range(clusters):
        cluster = tuple(float(sums[s, c, k]) for s in range(seeds) for k in range(columns))
        kinds[cluster] = kinds.get(cluster, 0) + 1
    kinds = dict(sorted(kinds.items()))

    def number(of_seed):
        if less:
            return of_seed[0] / of_seed[1] - of_seed[2] / of_seed[3]
        return of_seed[0] / of_seed[1]

    def numbers(times):
        found = []
        for s in range(seeds):
            of_seed = [sum(t * kind[s * columns + k] for t, kind in times) for k in range(columns)]
            found.append(number(of_seed))
        return found

    own = numbers([(n, kind) for kind, n in kinds.items()])
    mean = sum(own) / seeds
    std = (sum((x - mean) ** 2 for x in own) / (seeds - 1)) ** 0.5 if seeds > 1 else 0.0
    shares = [n / clusters for n in kinds.values()]
    drawn = generator("bootstrap", *key).multinomial(clusters, shares, size=RESAMPLES)
    t = generator("seeds", *key).standard_t(seeds - 1, size=RESAMPLES) if seeds > 1 else np.zeros(RESAMPLES)
    resampled = []
    for r in range(0, RESAMPLES, 500):
        of_seeds = numbers(list(zip(drawn[r].tolist(), kinds, strict=True)))
        resampled.append(sum(of_seeds) / seeds + float(t[r]) * std / seeds**0.5)
    return own, resampled


@pytest.mark.parametrize("seeds", [1, 2, 3, 5])
@pytest.mark.parametrize("less", [False, True])
def test_resamples_are_those_of_loops(seeds, less):
    sums, key = random_sums(seeds, 40, 4 if less else 2, seed=seeds), (0, "x")
    assert len(np.unique(np.moveaxis(sums, 0, 1).reshape(40, -1), axis=0)) * RESAMPLES < BLOCK  # one block of draws
    own, expected = literal(sums, key, less)
    formula = difference if less else ratio
    np.testing.assert_allclose(crossed(sums, key, formula)[::500], expected, rtol=0, atol=1e-12)
    measured = over_seeds(sums, [40] * seeds, key, formula, bounds=(-1, 1))
    np.testing.assert_allclose(measured.per_seed, own, rtol=0, atol=1e-12)
    assert measured.value == pytest.approx(sum(own) / seeds, abs=1e-12)
    low, high = np.quantile(np.clip(crossed(sums, key, formula), -1, 1), [0.025, 0.975])
    assert measured.ci95 == (low, high)


@given(st.integers(1, 4), st.integers(2, 12), st.integers(0, 1000))
def test_seeds_may_come_in_any_order(seeds, clusters, seed):
    sums = random_sums(seeds, clusters, seed=seed)
    first, other = (over_seeds(each, [clusters] * seeds, (0,)) for each in (sums, sums[::-1]))
    assert first.value == pytest.approx(other.value, abs=1e-12)
    assert first.per_seed == other.per_seed[::-1]
    assert first.ci95[0] <= first.value + 1e-12
    assert first.ci95[1] >= first.value - 1e-12
    assert 0 <= first.ci95[0] <= first.ci95[1] <= 1


def test_standard_deviations_are_those_of_draws_and_of_seeds():
    sums = np.array([[[1, 2], [0, 2]], [[2, 2], [1, 2]]], dtype=np.float64)
    measured = over_seeds(sums, [2, 4], (0,), draws=[0.1, 0.3])
    assert (measured.value, measured.n) == (0.5, 3)
    assert measured.std_draws == pytest.approx(0.2)
    assert measured.std_seeds == pytest.approx(np.std([0.25, 0.75], ddof=1))
    assert over_seeds(sums[:1], [2], (0,)).std_seeds is None
    assert over_seeds(sums, [2, 4], None).ci95 is None


def test_a_seed_without_a_number_is_counted_and_left_out():
    sums = random_sums(3, 20)
    sums[1] = 0
    measured, alone = (over_seeds(each, [20] * len(each), (0,)) for each in (sums, sums[[0, 2]]))
    assert measured.undefined == 1
    assert (measured.value, measured.ci95) == (alone.value, alone.ci95)
    assert measured.flags == ()
    assert over_seeds(sums[:2], [20] * 2, (0,)).flags == (ONE_SEED,)
    none = over_seeds(sums[[1]], [0], (0,), reason="nothing")
    assert (none.value, none.ci95, none.undefined, none.reason) == (None, None, 1, "nothing")


def test_equal_clusters_and_seeds_give_no_width():
    measured = over_seeds(np.ones((3, 10, 2)), [10] * 3, (0,))
    assert measured.flags == (NO_WIDTH,)
    assert measured.ci95 == (1, 1)


def test_what_seeds_disagree_on_is_not_above_zero():
    ones = np.ones((3, 200))
    alike = np.stack([0.1 * ones, ones], axis=2)
    apart = np.stack([np.array([[0.4], [0.1], [-0.2]]) * ones, ones], axis=2)
    assert is_above_zero(alike, (0,))
    assert not is_above_zero(apart, (0,))
    assert not is_above_zero(alike * [-1, 1], (0,))


def covered(seeds, clusters, spread, repeats, resample):
    """How often an interval holds the expectation over examples and seeds."""
    rng, hits = np.random.default_rng(0), 0
    for k in range(repeats):
        level = 0.5 + np.clip(rng.normal(0, spread, size=(seeds, 1)), -0.4, 0.4)
        easy = rng.uniform(-0.1, 0.1, size=(1, clusters))
        hit = (rng.random((seeds, clusters)) < level + easy).astype(np.float64)
        low, high = resample(np.stack([hit, np.ones_like(hit)], axis=2), k)
        hits += low <= 0.5 <= high
    return hits / repeats


def over_examples_alone(sums, k):
    """The interval that resamples clusters, as if no other demonstrations could have been drawn."""
    return over_seeds(sums.sum(axis=0, keepdims=True), [1], (k,)).ci95


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [2, 3, 5])
def test_the_crossed_interval_covers_where_that_over_examples_does_not(seeds):
    """At 500 examples, with seeds that differ by 10 points: what docstrings promise."""
    crossing = covered(seeds, 500, 0.1, 300, lambda sums, k: over_seeds(sums, [500] * seeds, (k,)).ci95)
    alone = covered(seeds, 500, 0.1, 300, over_examples_alone)
    assert crossing >= 0.92
    assert alone <= 0.7
    assert covered(seeds, 500, 0.0, 200, lambda sums, k: over_seeds(sums, [500] * seeds, (k,)).ci95) >= 0.94
