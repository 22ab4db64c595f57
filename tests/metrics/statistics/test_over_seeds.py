"""Means over seeds of demonstrations against loops, and the coverage of their intervals."""

from dataclasses import replace
from statistics import stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from heedful.metrics.statistics.intervals import share_of
from heedful.metrics.statistics.over_seeds import change_over_seeds, entries_of_seeds, over_seeds
from heedful.metrics.statistics.paired import number_ways, recording
from heedful.metrics.statistics.shares import share
from heedful.records import Measurement

from clustered_shares import Entry, Pairs, paired_interval, share_interval
from tiers import first_tier


def random_entries(seeds, clusters, seed=0, lent=False):
    """Random hits of clusters of up to three entries for each seed; with ``lent``, each has a lender."""
    rng = np.random.default_rng(seed)
    entries = []
    for s in range(seeds):
        of = rng.integers(1, 4, clusters)
        hits = rng.binomial(of, rng.uniform(0.2, 0.8))
        lenders = (np.arange(clusters) + 1 + s % 2) % clusters if lent else [None] * clusters
        entries += [Entry(*entry, s, u) for *entry, u in zip(range(clusters), hits, of, lenders, strict=True)]
    return entries


def numbers(entries, seeds, stds=()):
    """The share for each seed, recorded as in a metric."""
    with recording():
        found = []
        for s in range(seeds):
            mine = [e for e in entries if e.cell == s]
            cluster, hits, of = (np.array([e[i] for e in mine]) for i in range(3))
            lenders = np.array([e.lender for e in mine]) if mine and mine[0].lender is not None else None
            found.append(replace(share(hits, cluster, counts=of, lenders=lenders), std=stds[s] if stds else None))
        return found


def crossed(own, bounds, least, level=0.95):
    """Reference: combine an interval over examples with Student's t over seeds."""
    if len(own) == 1:
        return bounds
    mean = sum(own) / len(own)
    away = t.isf((1 - level) / 2, len(own) - 1) * stdev(own) / len(own) ** 0.5
    low, high = mean - ((mean - bounds[0]) ** 2 + away**2) ** 0.5, mean + ((bounds[1] - mean) ** 2 + away**2) ** 0.5
    return max(least, low), min(1.0, high)


def values(entries, seeds):
    mine = [[e for e in entries if e.cell == s] for s in range(seeds)]
    return [sum(e.hits for e in of_seed) / sum(e.of for e in of_seed) for of_seed in mine]


@pytest.mark.parametrize("lent", [False, True])
@pytest.mark.parametrize("seeds", [1, 2, 5])
def test_the_interval_is_that_of_loops(seeds, lent):
    entries = random_entries(seeds, 40, seeds, lent)
    measured, own = over_seeds(numbers(entries, seeds)), values(entries, seeds)
    if seeds > 1:
        np.testing.assert_allclose(measured.per_draw, own, rtol=0, atol=1e-12)
    assert measured.value == pytest.approx(sum(own) / seeds, abs=1e-12)
    bounds = Pairs(entries).interval() if lent else share_interval(entries)
    assert measured.ci95 == pytest.approx(crossed(own, bounds, 0.0), abs=1e-9)


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("seeds", [1, 2, 5])
def test_the_interval_of_a_difference_is_that_of_loops(seeds, same):
    entries, others = (random_entries(seeds, 40, seed) for seed in (1, 2))
    if same:
        others = [o._replace(of=e.of, hits=min(o.hits, e.of)) for e, o in zip(entries, others, strict=True)]
    measured = change_over_seeds(numbers(others, seeds), numbers(entries, seeds))
    own = [a - b for a, b in zip(values(entries, seeds), values(others, seeds), strict=True)]
    bounds = paired_interval(entries, others)
    assert measured.value == pytest.approx(sum(own) / seeds, abs=1e-12)
    assert measured.ci95 == pytest.approx(crossed(own, bounds, -1.0), abs=1e-9)


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("size", [1, 3, 30])
@pytest.mark.parametrize("lent", [False, True])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.7])
def test_equal_seeds_have_the_interval_of_one(seeds, size, lent, rate):
    rng = np.random.default_rng(0)
    hits, cluster = rng.random(30) < rate, np.arange(30) // size
    lenders = rng.permutation(cluster) if lent else None
    with recording():
        found, other = (share(own, cluster, lenders=lenders) for own in (hits, np.roll(hits, 1)))
    several = over_seeds([found] * seeds)
    assert (several.value, several.ci95) == (found.value, pytest.approx(found.ci95, abs=1e-12))
    one = change_over_seeds([other], [found])
    assert change_over_seeds([other] * seeds, [found] * seeds).ci95 == pytest.approx(one.ci95, abs=1e-12)


@given(st.lists(st.none() | st.floats(0, 1), min_size=2, max_size=5), st.sampled_from([(), ("few_examples",)]))
def test_the_mean_of_numbers_without_entries_has_no_interval(values, flags):
    """A number without a value, or of too few examples, for any seed is undefined in the mean."""
    measured = [Measurement(v, 9, reason="why" if v is None else None) for v in values]
    measured[0] = replace(measured[0], flags=flags)
    m = over_seeds(measured)
    hidden = [one for one in measured if one.value is None or one.flags]
    assert (m.flags, m.n, m.ci95) == (flags, 9, None)
    if hidden:
        why = "why" if any(one.reason for one in hidden) else "fewer than 10 examples count"
        assert (m.value, m.std, m.reason) == (None, None, f"in {len(hidden)} of {len(values)} runs: {why}")
        return
    assert (m.value, m.std) == (pytest.approx(sum(values) / len(values)), pytest.approx(stdev(values), abs=1e-12))
    assert (m.draws, m.per_draw) == (len(values), tuple(values))


def test_the_mean_over_labels_stays_the_mean_over_labels():
    """Each seed has a share per label; their mean is not the share of all entries."""
    with recording():
        shares = [share(np.array([1.0, 1, 0, seed]), np.arange(4), cells=np.array([0, 0, 0, 1])) for seed in (0, 1)]
    entries = entries_of_seeds(shares)
    assert share_of(number_ways(entries)).value == pytest.approx((2 / 3 + 0 + 2 / 3 + 1) / 4)
    assert over_seeds(shares).value == pytest.approx(share_of(number_ways(entries)).value)


# --- coverage


def covered(seeds, clusters, level, spread, repeats, is_crossed=True):
    """Share of simulations in which the interval of a mean over seeds covers the expectation."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(repeats):
        rates = np.clip(level + rng.normal(0, spread, size=(seeds, 1)), 0, 1)
        easy = np.clip(rng.uniform(-0.1, 0.1, size=(1, clusters)), -level, level)
        hit = (rng.random((seeds, clusters)) < rates + easy).astype(np.float64)
        with recording():
            found = [share(own, np.arange(clusters)) for own in hit]
        pooled = None if is_crossed else share(hit.ravel(), np.tile(np.arange(clusters), seeds))
        low, high = over_seeds(found).ci95 if is_crossed else pooled.ci95
        hits += low <= level <= high
    return hits / repeats


@pytest.mark.parametrize("seeds", first_tier(1, [3, 2, 5]))
def test_the_crossed_interval_covers_where_that_over_examples_does_not(seeds):
    """With 500 examples and seeds that differ by 10 points; and with 50 examples and equal seeds."""
    assert covered(seeds, 500, 0.5, 0.1, 100) >= 0.92
    assert covered(seeds, 500, 0.5, 0.1, 100, is_crossed=False) <= 0.7
    assert covered(seeds, 50, 0.02, 0.0, 100) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("is_difference", [False, True])
def test_intervals_over_seeds_cover_lenders_where_the_lent_text_decides(is_difference):
    """100 examples with 5 draws; intervals over examples alone do not cover the expectation."""
    covered = {True: 0, False: 0}
    base = np.repeat(np.arange(100), 5)
    for k in range(200):
        rng = np.random.default_rng(k)
        lender = (base + rng.integers(1, 100, len(base))) % 100
        hit, other = (rng.standard_normal(100)[lender] < np.zeros((3, 1)) for _ in "ab")
        for lenders in (lender, None):
            with recording():
                found, others = ([share(own, base, lenders=lenders, n=100) for own in hits] for hits in (hit, other))
            m = change_over_seeds(others, found) if is_difference else over_seeds(found)
            covered[lenders is not None] += m.ci95[0] <= 0.5 * (not is_difference) <= m.ci95[1]
    assert covered[True] >= 0.92 * 200  # two standard errors below 95 %
    assert covered[False] < 0.85 * 200
