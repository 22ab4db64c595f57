"""The clustered bootstrap against a naive one and against all resamples, and what its intervals cover."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.statistics.bootstrap import (
    RESAMPLES,
    difference,
    distinct,
    estimate,
    interval,
    measured,
    numbered,
    ratio,
    resample,
    share,
)


def interval_of(totals, counts, key: tuple, resamples: int = RESAMPLES) -> tuple[float, float]:
    return interval(ratio(resample(np.stack([totals, counts], axis=1), key, resamples)))


def naive_interval(totals: np.ndarray, counts: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """The textbook cluster bootstrap: draw clusters one by one, with replacement, and take the ratio of their sums."""
    rng, ratios = np.random.default_rng(seed), []
    for _ in range(resamples):
        total = count = 0.0
        for cluster in rng.integers(len(totals), size=len(totals)):
            total += totals[cluster]
            count += counts[cluster]
        ratios.append(total / count)
    return np.quantile(ratios, [0.025, 0.975])


def clusters(kind: str, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    if kind == "k = 5":
        return rng.binomial(5, rng.beta(0.5, 0.5, n)).astype(float), np.full(n, 5.0)
    if kind == "of unequal size":
        counts = rng.integers(1, 9, n).astype(float)
        return rng.binomial(counts.astype(int), counts / 10).astype(float), counts
    return rng.integers(-1, 2, n).astype(float), np.ones(n)  # paired differences


@pytest.mark.parametrize("kind", ["k = 5", "of unequal size", "paired differences"])
def test_the_interval_is_that_of_a_naive_cluster_bootstrap(kind):
    totals, counts = clusters(kind, 60)
    low, high = naive_interval(totals, counts, 5000, 1)
    found = interval_of(totals, counts, ("test",))
    assert found == pytest.approx((low, high), abs=0.05 * (high - low))


@pytest.mark.parametrize("kind", ["k = 5", "of unequal size"])
def test_the_interval_covers_the_truth_as_often_as_it_says(kind):
    totals, counts = clusters(kind, 200_000, seed=1)
    truth, covered, tries = totals.sum() / counts.sum(), 0, 400
    for k in range(tries):
        sample = np.random.default_rng(k).integers(len(totals), size=80)
        low, high = interval_of(totals[sample], counts[sample], ("coverage", k), resamples=1000)
        covered += low <= truth <= high
    assert 0.91 < covered / tries < 0.98


def test_entries_of_one_cluster_that_agree_are_no_further_evidence():
    """As draws of one uid, or hypotheses about one table, that share their error."""
    one = np.random.default_rng(0).integers(0, 2, 50)
    often = share(np.tile(one, 5), ("x",), np.tile(np.arange(50), 5))
    assert often.ci95 == share(one, ("x",)).ci95
    assert often.ci95[1] - often.ci95[0] > 0.1


def test_the_interval_depends_on_its_key_and_not_on_the_order_of_clusters():
    totals, counts = clusters("of unequal size", 50)
    order = np.random.default_rng(0).permutation(50)
    found = interval_of(totals, counts, (0, "name"), resamples=200)
    assert interval_of(totals[order], counts[order], (0, "name"), resamples=200) == found
    assert interval_of(totals, counts, (1, "name"), resamples=200) != found
    assert interval_of(totals, counts, (0, "other"), resamples=200) != found


@pytest.mark.parametrize(("totals", "counts", "ratio"), [([3], [5], 0.6), ([2] * 9, [4] * 9, 0.5), ([0], [5], 0)])
def test_clusters_that_are_all_alike_give_an_interval_of_one_point(totals, counts, ratio):
    found = interval_of(np.array(totals, float), np.array(counts, float), ("x",))
    assert found == pytest.approx((ratio, ratio), abs=1e-12)


def test_the_interval_of_many_clusters_approaches_the_normal_one():
    totals, counts = clusters("k = 5", 20_000)
    low, high = interval_of(totals, counts, ("x",))
    half = 1.96 * (totals / 5).std(ddof=1) / math.sqrt(len(totals))
    mean = totals.sum() / counts.sum()
    assert (low, high) == pytest.approx((mean - half, mean + half), abs=0.05 * half)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 0.3, 1.0])), min_size=1, max_size=9))
def test_a_share_is_the_mean_and_its_interval_the_ends_of_all_resamples(drawn):
    """Each of three clusters alone is drawn with a chance of 1/27, and the mean is most extreme for one of them."""
    cluster, hits = list(zip(*drawn, strict=True))
    m = share(np.array(hits), ("test",), cluster)
    assert (m.value, m.n) == (pytest.approx(sum(hits) / len(hits), abs=1e-12), len(hits))
    every = []
    for some in product(sorted(set(cluster)), repeat=len(set(cluster))):
        chosen = [hit for name in some for other, hit in drawn if other == name]
        every.append(sum(chosen) / len(chosen))
    assert m.ci95 == pytest.approx((min(every), max(every)), abs=1e-12)
    assert m.flags == (() if m.ci95[0] < m.ci95[1] else ("interval_without_width",))


def test_a_share_without_clusters_resamples_each_entry_and_of_nothing_it_is_undefined():
    hits = np.arange(40) % 3 == 0
    assert share(hits, ("x",)) == share(hits, ("x",), np.arange(40))
    nothing = share(hits[:0], ("x",), flags=("f",), reason="there is none")
    assert (nothing.value, nothing.n, nothing.ci95, nothing.flags, nothing.reason) == (
        None, 0, None, ("f",), "there is none",
    )  # fmt: skip


def test_resamples_without_a_value_are_left_out_of_the_interval():
    some = np.array([np.nan, 0.0, 1.0] * 100)
    assert measured(0.5, 3, some, ("f",)).ci95 == (0, 1)
    assert measured(0.5, 3, some, ("f",)).flags == ("f", "resamples_left_out")
    assert measured(0.5, 3, np.r_[np.nan, np.arange(99.0)]).flags == ()
    none = measured(0.5, 3, np.full(10, np.nan))
    assert (none.value, none.ci95, none.flags) == (0.5, None, ("resamples_left_out",))


small = st.integers(0, 5)
pairs = st.lists(st.tuples(st.sampled_from("ABC"), small, small), min_size=1, max_size=12)


def quotient(chosen: list[tuple]) -> float | None:
    total, count = sum(pair[1] for pair in chosen), sum(pair[2] for pair in chosen)
    return total / count if count else None


def estimated(drawn: list[tuple]):
    columns = [np.array(column, dtype=float) for column in list(zip(*drawn, strict=True))[1:]]
    return estimate(columns, [pair[0] for pair in drawn], ("test",), len(drawn), "nothing to divide by")


@given(pairs)
def test_up_to_three_clusters_give_the_ends_of_all_resamples(drawn):
    """Each cluster alone is drawn with a chance of 1/27 or more, and the quotient is most extreme for one of them."""
    m, names = estimated(drawn), sorted({pair[0] for pair in drawn})
    every = [
        quotient([p for name in some for p in drawn if p[0] == name]) for some in product(names, repeat=len(names))
    ]
    defined = [value for value in every if value is not None]
    expected = quotient(drawn)
    if expected is None:
        assert (m.value, m.ci95, m.reason, m.n) == (None, None, "nothing to divide by", len(drawn))
        return
    assert m.value == pytest.approx(expected, abs=1e-12)
    assert m.ci95 == pytest.approx((min(defined), max(defined)), abs=1e-12)
    assert ("resamples_left_out" in m.flags) == (len(defined) < len(every))


@given(pairs, st.randoms(use_true_random=False))
def test_neither_the_order_of_entries_nor_the_names_of_clusters_change_anything(drawn, random):
    shuffled = [("ABC"["CAB".index(name)] * 2, *rest) for name, *rest in drawn]
    random.shuffle(shuffled)
    assert estimated(shuffled) == estimated(drawn)


def test_a_difference_of_the_same_clusters_moves_together():
    """Accuracies vary much between clusters, but each is 0.25 better after: the difference is certain."""
    table = [f"T{i // 4}" for i in range(160)]
    before = np.array([i % 4 < i // 4 % 4 for i in range(160)], dtype=float)
    after, one = before + np.array([i % 4 == i // 4 % 4 for i in range(160)]), np.ones(160)
    m = estimate((after, one, before, one), table, ("x",), 160, "", difference)
    assert m.value == 0.25
    assert m.ci95 == pytest.approx((0.25, 0.25), abs=1e-12)
    accuracy = estimate((before, one), table, ("x",), 160, "")
    assert accuracy.ci95[1] - accuracy.ci95[0] > 0.1


def test_resamples_in_blocks_are_the_same(monkeypatch):
    sums = np.random.default_rng(0).integers(0, 9, (20, 3)).astype(float)
    at_once = resample(sums, ("x",), 500)
    monkeypatch.setitem(resample.__globals__, "BLOCK", 100)
    assert at_once.shape == (500, 3)
    assert np.array_equal(resample(sums, ("x",), 500), at_once)


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0, 7.0, 0.3, -1.0, 1e7]), min_size=2, max_size=2), min_size=1),
    st.booleans(),
)
def test_distinct_sums_are_those_that_sorting_finds(drawn, small):
    """Small counts are counted, all others are sorted; the order decides which resamples are drawn."""
    sums = np.array([[abs(int(x)) % 8 if small else x for x in row] for row in drawn], dtype=np.float64)
    for one, other in zip(distinct(sums), np.unique(sums, axis=0, return_counts=True), strict=True):
        assert one.tolist() == other.tolist()


@given(st.lists(st.integers(-3, 9), max_size=20), st.booleans())
def test_clusters_are_numbered_alike_whether_they_are_sorted_or_not(drawn, is_sorted):
    clusters = np.array(sorted(drawn) if is_sorted else drawn, dtype=np.int32)
    assert numbered(clusters).tolist() == np.unique(clusters, return_inverse=True)[1].tolist()
