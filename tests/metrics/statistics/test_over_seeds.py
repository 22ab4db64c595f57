"""Means over seeds of demonstrations against loops, and the coverage of their intervals."""

from dataclasses import replace
from statistics import stdev

import numpy as np
import pytest
from scipy.stats import t

from heedful.metrics.statistics.over_seeds import ONE_SEED, is_above, less_over_seeds, over_seeds
from heedful.metrics.statistics.paired import recording
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
    np.testing.assert_allclose(measured.per_seed, own, rtol=0, atol=1e-12)
    assert measured.value == pytest.approx(sum(own) / seeds, abs=1e-12)
    bounds = Pairs(entries).interval() if lent else share_interval(entries)
    assert measured.ci95 == pytest.approx(crossed(own, bounds, 0.0), abs=1e-9)


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("seeds", [1, 2, 5])
def test_the_interval_of_a_difference_is_that_of_loops(seeds, same):
    entries, others = (random_entries(seeds, 40, seed) for seed in (1, 2))
    if same:
        others = [o._replace(of=e.of, hits=min(o.hits, e.of)) for e, o in zip(entries, others, strict=True)]
    measured = less_over_seeds(list(zip(numbers(entries, seeds), numbers(others, seeds), strict=True)), "none")
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
    one = less_over_seeds([(found, other)], "none")
    assert less_over_seeds([(found, other)] * seeds, "none").ci95 == pytest.approx(one.ci95, abs=1e-12)


def test_standard_deviations_are_those_of_draws_and_of_seeds():
    entries = [Entry(0, 1, 2, 0), Entry(1, 0, 2, 0), Entry(0, 2, 2, 1), Entry(1, 1, 2, 1)]
    found = numbers(entries, 2, [0.1, 0.3])
    measured = over_seeds(found)
    assert (measured.value, measured.n) == (0.5, 2)
    assert measured.std_draws == pytest.approx(0.2)
    assert measured.std_seeds == pytest.approx(np.std([0.25, 0.75], ddof=1))
    assert over_seeds(found[:1]).std_seeds is None
    assert over_seeds(found, has_interval=False).ci95 is None


def test_a_seed_without_a_number_is_counted_and_left_out():
    found = numbers([e for e in random_entries(3, 20) if e.cell != 1], 3)
    measured, alone = over_seeds(found), over_seeds([found[0], found[2]])
    assert measured.undefined == 1
    assert (measured.value, measured.ci95, measured.flags) == (alone.value, alone.ci95, ())
    assert over_seeds(found[:2]).flags == (ONE_SEED,)
    none = over_seeds(found[1:2], reason="nothing")
    assert less_over_seeds([(Measurement(None, 0), Measurement(None, 0))], "nothing") == none
    assert (none.value, none.ci95, none.undefined, none.reason) == (None, None, 1, "nothing")


def test_what_seeds_disagree_on_is_not_above_another():
    def pairs(gains):
        """Two numbers for each of three seeds, over 200 examples; the first has more hits, by ``gains``."""
        before = numbers([Entry(c, c % 2, 1, s) for s in range(3) for c in range(200)], 3)
        after = [Entry(c, c % 2 if c >= 2 * abs(gain) else float(gain > 0), 1, s)
                 for s, gain in enumerate(gains) for c in range(200)]  # fmt: skip
        return list(zip(numbers(after, 3), before, strict=True))

    assert is_above(pairs([20, 20, 20]))
    assert not is_above(pairs([80, 20, -40]))
    assert not is_above(pairs([-20, -20, -20]))


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
            m = less_over_seeds(list(zip(found, others, strict=True)), "none") if is_difference else over_seeds(found)
            covered[lenders is not None] += m.ci95[0] <= 0.5 * (not is_difference) <= m.ci95[1]
    assert covered[True] >= 0.92 * 200  # two standard errors below 95 %
    assert covered[False] < 0.85 * 200
