"""Shares, differences and means: values, intervals and undefined numbers, against loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from heedful.metrics.statistics.shares import mean, numbered, ratio, share
from heedful.records import Measurement

from clustered_shares import Entry, Pairs, change_interval, estimates, share_interval

small = st.integers(0, 5)
counted = st.lists(st.tuples(st.sampled_from("ABC"), small, small), min_size=1, max_size=12)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 0.3, 1.0])), min_size=1, max_size=9))
def test_a_share_is_the_mean_over_clusters(drawn):
    cluster, hits = list(zip(*drawn, strict=True))
    m = share(hits, cluster, ("f",))
    assert (m.value, m.n, m.flags) == (pytest.approx(sum(hits) / len(hits), abs=1e-12), len(hits), ("f",))
    assert m.ci95 == pytest.approx(share_interval([Entry(name, hit) for name, hit in drawn]), abs=1e-9)


@given(counted)
def test_of_how_many_each_counts_may_be_said(drawn):
    entries = [Entry(name, min(hits, of), of) for name, hits, of in drawn]
    names, hits, of, *_ = zip(*entries, strict=True)
    m = share(hits, names, reason="nothing to divide by", counts=of, n=3)
    if not sum(of):
        assert (m.value, m.ci95, m.reason, m.n) == (None, None, "nothing to divide by", 3)
        return
    assert (m.value, m.n) == (pytest.approx(sum(hits) / sum(of), abs=1e-12), 3)
    assert m.ci95 == pytest.approx(share_interval(entries), abs=1e-9)


@given(st.lists(st.tuples(st.sampled_from("AB"), st.booleans(), st.sampled_from([3, 7, 9])), min_size=1, max_size=12))
def test_the_mean_over_cells_weighs_them_alike(drawn):
    entries = [Entry(name, hit, 1, cell) for name, hit, cell in drawn]
    names, hits, _, cells, _ = zip(*entries, strict=True)
    m = share(hits, names, cells=np.array(cells))
    each = [np.mean([e.hits for e in entries if e.cell == cell]) for cell in set(cells)]
    assert m.value == pytest.approx(np.mean(each), abs=1e-12)
    assert m.ci95 == pytest.approx(share_interval(entries), abs=1e-9)


def test_without_clusters_each_entry_is_one_and_of_nothing_it_is_undefined():
    hits = np.arange(40) % 3 == 0
    assert share(hits) == share(hits, np.arange(40))
    for nothing in (
        share([], flags=("f",), reason="there is none"),
        share([], None, ("f",), "there is none", minus=[]),
    ):
        assert (nothing.value, nothing.n, nothing.ci95, nothing.flags, nothing.reason) == (
            None, 0, None, ("f",), "there is none",
        )  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from("ABC"), st.booleans(), st.booleans()), min_size=1, max_size=20))
def test_a_difference_over_the_same_entries_counts_what_changes(drawn):
    names, one, other = zip(*drawn, strict=True)
    m = share(one, names, minus=other)
    assert m.value == pytest.approx((sum(one) - sum(other)) / len(drawn), abs=1e-12)
    changes = [Entry(name, float(a) - float(b)) for name, a, b in drawn]
    assert m.ci95 == pytest.approx(change_interval(changes), abs=1e-9)


def test_a_mean_without_bounds_has_the_interval_of_student():
    values = np.random.default_rng(0).normal(5, 2, 30)
    m = mean(values, flags=("f",))
    half = t.isf(0.025, 29) * values.std(ddof=1) / np.sqrt(30)
    assert (m.value, m.n, m.flags) == (pytest.approx(values.mean()), 30, ("f",))
    assert m.ci95 == pytest.approx((values.mean() - half, values.mean() + half))
    often = mean(np.repeat(values, 4), np.repeat(np.arange(30), 4))
    assert (often.value, often.n) == (pytest.approx(m.value), 120)
    assert often.ci95 == pytest.approx(m.ci95)


@pytest.mark.parametrize(("values", "clusters"), [([0.0] * 9, range(9)), ([1.0, 2.0, 3.0], [4, 4, 4]), ([2.0], [0])])
def test_a_mean_of_one_cluster_or_of_equal_numbers_has_no_interval(values, clusters):
    m = mean(values, list(clusters))
    assert (m.value, m.ci95) == (np.mean(values), None)


@given(st.lists(st.integers(-3, 9), max_size=20), st.booleans())
def test_clusters_are_numbered_alike_whether_they_are_sorted_or_not(drawn, is_sorted):
    clusters = np.array(sorted(drawn) if is_sorted else drawn, dtype=np.int32)
    assert numbered(clusters).tolist() == np.unique(clusters, return_inverse=True)[1].tolist()


worth = st.sampled_from([-1.0, 0.0, 0.5, 2.0])
pair = st.tuples(st.integers(0, 4), st.integers(0, 4), worth, st.sampled_from([0.5, 1.0, 1.2, 3.0]))


@given(st.lists(pair, min_size=2, max_size=10))
def test_a_ratio_has_the_interval_of_the_numbers_that_the_means_do_not_refuse(drawn):
    """A ratio r is in the interval if 0 is in the interval of Student for the mean of first - r * second."""
    examples, lenders, first, second = (np.array(column) for column in zip(*drawn, strict=True))
    about = Measurement(None, 7, flags=("f",), reason="it may be 0")
    m = ratio(first, second, about, examples, lenders)

    def away(r: float, one: float = 1.0) -> list[float]:
        """Squared mean, minus its largest square in the interval around 0, for each estimate of the variance."""
        pairs = Pairs([Entry(a, one * f - r * s, lender=b) for a, b, f, s in drawn])
        square = t.isf(0.025, max(1, pairs.clusters - 1)) ** 2
        return [np.mean(one * first - r * second) ** 2 - square * variance for variance in estimates(pairs, pairs)]

    if min(away(1.0, 0.0)) <= 1e-9:
        assert m == about or min(away(1.0, 0.0)) > -1e-9
        return
    assert (m.value, m.n, m.flags, m.reason) == (pytest.approx(first.mean() / second.mean()), 7, ("f",), None)
    if m.ci95 is None:
        assert min(away(m.value)) == pytest.approx(0, abs=1e-9)
        return
    assert m.ci95[0] <= m.value + 1e-9
    assert m.value - 1e-9 <= m.ci95[1]
    for end in m.ci95:
        assert min(away(end)) == pytest.approx(0, abs=1e-6)


def test_a_ratio_without_entries_is_undefined():
    about = Measurement(None, 0, reason="no entries")
    assert ratio(np.zeros(0), np.zeros(0), about, None) is about
