"""The clustered bootstrap against a naive one."""

import numpy as np
import pytest

from heedful.metrics.statistics.bootstrap import RESAMPLES, few_clusters_flag, interval, measured, resample


def interval_of(totals, counts, key: tuple, resamples: int = RESAMPLES) -> tuple[float, float]:
    sums = resample(np.stack([totals, counts], axis=1), key, resamples)
    return interval(sums[:, 0] / sums[:, 1])


def naive_interval(totals: np.ndarray, counts: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """The cluster bootstrap as in a textbook: draw clusters one by one with replacement, and divide the sums."""
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


def test_the_interval_depends_on_its_key_and_not_on_the_order_of_clusters():
    totals, counts = clusters("of unequal size", 50)
    order = np.random.default_rng(0).permutation(50)
    found = interval_of(totals, counts, (0, "name"), resamples=200)
    assert interval_of(totals[order], counts[order], (0, "name"), resamples=200) == found
    assert interval_of(totals, counts, (1, "name"), resamples=200) != found
    assert interval_of(totals, counts, (0, "other"), resamples=200) != found


def test_resamples_without_a_value_are_left_out_of_the_interval():
    some = np.array([np.nan, 0.0, 1.0] * 100)
    assert measured(0.5, 3, some).ci95 == (0, 1)
    assert measured(0.5, 3, some).flags == ("resamples_left_out",)
    assert measured(0.5, 3, np.r_[np.nan, np.arange(99.0)]).flags == ()
    none = measured(0.5, 3, np.full(10, np.nan))
    assert (none.value, none.ci95, none.flags) == (0.5, None, ("resamples_left_out",))


def test_few_clusters_are_flagged_where_entries_share_them():
    assert few_clusters_flag(np.repeat(np.arange(29), 2)) == ("few_clusters",)
    assert few_clusters_flag(np.repeat(np.arange(30), 2)) == few_clusters_flag(np.arange(5)) == ()
    assert measured(0.5, 3, np.arange(99.0), few_clusters_flag(np.zeros(2))).flags == ("few_clusters",)
