"""Paired differences of numbers between two runs, against loops over their rows."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from heedful.metrics.attentiveness import attentiveness
from heedful.metrics.number import measured
from heedful.metrics.statistics.paired import RecordedShare, change, recording
from heedful.metrics.statistics.shares import mean, ratio, share
from heedful.records import Context, Measurement, MetricName

from clustered_shares import Entry, Pairs, estimates, paired_interval
from made_rows import make
from tiers import costly, first_tier

LABELS = ("yes", "no", "none")
NAME = MetricName("attentiveness", "d", "premise")
CONTEXT = Context("d", labels=LABELS, default_label="none", own={"swap": [["premise", "leaves"]]})
answer = st.sampled_from(LABELS)
runs = st.lists(st.tuples(st.integers(0, 3), *[st.tuples(answer, answer, answer)] * 2), min_size=2, max_size=15)


def rows_of_run(examples, run, grouped):
    """Rows of one of two runs: each example has two swaps, and a group if ``grouped``."""
    base = {f"u{i:02}": ("yes", example[1 + run][0]) for i, example in enumerate(examples)}
    swaps = [{"uid": uid, "draw": d, "y2": example[1 + run][1 + d]}
             for uid, example in zip(base, examples, strict=True) for d in (0, 1)]  # fmt: skip
    rows = make(base, swaps)
    groups = [f"g{examples[int(uid[1:])][0]}" if grouped else None for uid in rows["uid"].to_pylist()]
    return rows.set_column(rows.column_names.index("group"), "group", pa.array(groups, pa.string()))


@costly
@given(runs, st.booleans())
def test_a_difference_of_attentiveness_is_that_of_loops(examples, grouped):
    """An example counts in the runs that do not predict it as the default label, in one or in both."""
    with recording():
        first, second = (
            measured(attentiveness(rows_of_run(examples, run, grouped), "premise", CONTEXT, flags=()))[NAME]
            for run in (0, 1)
        )
    found = change(first, second)
    entries = [
        [
            Entry(example[0] if grouped else i, float(after != example[1 + run][0]))
            for i, example in enumerate(examples)
            if example[1 + run][0] != "none"
            for after in example[1 + run][1:]
        ]
        for run in (0, 1)
    ]
    if not all(entries):
        assert found is None
        return
    values = [np.mean([entry.hits for entry in of_run]) for of_run in entries]
    assert found.value == pytest.approx(values[1] - values[0])
    sums = [{}, {}]
    for of_run, of_sums in zip(entries, sums, strict=True):
        for entry in of_run:
            hits, of = of_sums.get(entry.cluster, (0, 0))
            of_sums[entry.cluster] = hits + entry.hits, of + 1
    names = sorted({*sums[0], *sums[1]})
    expected = paired_interval(*([Entry(c, *of_run.get(c, (0, 0))) for c in names] for of_run in sums[::-1]))
    assert found.ci95 == pytest.approx(expected, abs=1e-9)


def test_only_shares_with_named_clusters_are_paired_and_only_while_recording():
    assert not isinstance(share([1, 0], ["a", "b"]), RecordedShare)
    with recording():
        named, nameless, undefined = share([1, 0], ["a", "b"]), share([1, 0]), share([], ["a"][:0])
        other_cells = share([1, 0], ["a", "b"], cells=np.array([0, 1]))
    assert isinstance(named, RecordedShare)
    assert change(named, named).value == 0
    assert [change(named, other) for other in (nameless, undefined, other_cells)] == [None] * 3
    assert not isinstance(share([1, 0], ["a", "b"]), RecordedShare)


NO_RATIO = Measurement(None, 0, reason="the second mean may be 0")


def ratios(runs, cluster, lender, *masks):
    """Ratios of the numbers of two runs, (first, second) each; a run has the entries of its mask."""
    with recording():
        return [
            ratio(first[mask], second[mask], NO_RATIO, cluster[mask], None if lender is None else lender[mask])
            for (first, second), mask in zip(runs, masks, strict=True)
        ]


@pytest.mark.parametrize("has_lenders", [False, True])
@given(st.integers(0, 999))
def test_a_difference_of_ratios_is_that_of_loops(has_lenders, seed):
    """Each run lacks some entries, and the second has the others in another order."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, 6, 30)
    lender = (cluster + rng.integers(1, 6, 30)) % 6
    runs = rng.normal(1, 0.2, size=(2, 2, 30))
    masks = [np.flatnonzero(rng.random(30) < 0.9), rng.permutation(30)[:27]]
    before, after = ratios(runs, cluster, lender if has_lenders else None, *masks)
    found, entries = change(before, after), []
    for sign, (first, second), mask in zip((-1, 1), runs, masks, strict=True):
        r = sum(first[mask]) / sum(second[mask])
        entries += [
            Entry(cluster[i], sign * (first[i] - r * second[i]) / sum(second[mask]) * 57, lender=lender[i])
            for i in mask
        ]
    entries += [Entry(0, 0.0, lender=1)] * (57 - len(entries))
    assert found.value == pytest.approx(after.value - before.value)
    if has_lenders:
        pairs = Pairs(entries)
        variance, clusters = max(estimates(pairs, pairs)), pairs.clusters
    else:
        clusters = len({e.cluster for e in entries})
        sums = [sum(e.hits for e in entries if e.cluster == c) / 57 for c in range(6)]
        variance = sum(z**2 for z in sums) * clusters / (clusters - 1)
    away = t.isf(0.025, clusters - 1) * variance**0.5
    assert found.ci95 == pytest.approx((found.value - away, found.value + away))


def test_means_of_any_numbers_are_paired_and_equal_numbers_have_no_interval():
    first, second = np.random.default_rng(0).normal(5, 2, size=(2, 30))
    with recording():
        before, after = (mean(values, np.arange(30)) for values in (first, second))
        other = share([1, 0], ["a", "b"])
    found, less = change(before, after), second - first
    half = t.isf(0.025, 29) * less.std(ddof=1) / 30**0.5
    assert found.ci95 == pytest.approx((less.mean() - half, less.mean() + half))
    assert (change(before, before).value, change(before, before).ci95) == (0, None)
    assert change(before, other) is None
    assert change(before, mean(second, np.arange(30))) is None


# --- coverage


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0, 0.1])
@pytest.mark.parametrize("has_lenders", [False, True])
def test_intervals_cover_the_change_of_a_ratio(has_lenders, missing):
    """The ratios are 0.4 and 0.6; numbers depend on the cluster, and on that of the lender."""
    rng, covered = np.random.default_rng(4), []
    for _ in range(200):
        cluster = np.repeat(np.arange(60), 2)
        lender = (cluster + rng.integers(1, 60, 120)) % 60
        by_example, by_lender = rng.normal(0, 0.2, size=(2, 60))
        common = by_example[cluster] + (by_lender[lender] if has_lenders else 0)
        runs = []
        for truth in (0.4, 0.6):
            second = 0.5 + rng.normal(0, 0.1, 120) + common / 2
            runs.append((0.5 * truth + common + rng.normal(0, 0.1, 120), second))
        masks = rng.random((2, 120)) >= missing
        low, high = change(*ratios(runs, cluster, lender if has_lenders else None, *masks)).ci95
        covered.append(low <= 0.2 <= high)
    assert np.mean(covered) >= 0.92


def two_shares(kind, alike, rng):
    """Hits of two runs, with the expectations 0.4 and 0.3, and the clusters of examples and of lenders.

    With the probability ``alike``, a hit depends on the cluster; for swaps, also on the cluster of the lender.
    """
    entries, size = (200, 4) if kind == "plain" else (400, 20 if kind == "grouped swaps" else 2)
    cluster = np.arange(entries) // size
    clusters = cluster[-1] + 1
    lender = (cluster + rng.integers(1, clusters, entries)) % clusters
    by_example, by_lender = rng.random((2, clusters))
    number = rng.random(entries)
    drawn = np.where(number < alike, by_example[cluster], rng.random(entries))
    if kind != "plain":
        drawn = np.where(number > 1 - alike, by_lender[lender], drawn)
    other = np.where(rng.random(entries) < 0.6, drawn, rng.random(entries))
    return drawn < 0.4, other < 0.3, cluster, None if kind == "plain" else lender


def ends(first, second, cluster, lender, *kept):
    """Interval of the change between two runs; a run has the entries of its mask in ``kept``."""
    with recording():
        first, second = (
            share(hits[mask], cluster[mask], lenders=None if lender is None else lender[mask])
            for hits, mask in zip((first, second), kept, strict=True)
        )
    return change(second, first).ci95


@pytest.mark.parametrize("alike", [0.0, 0.45])
@pytest.mark.parametrize("kind", ["plain", "swaps", "grouped swaps"])
def test_an_interval_moves_little_if_an_entry_is_missing(kind, alike):
    rng, ratios = np.random.default_rng(0), []
    for _ in range(40):
        data = two_shares(kind, alike, rng)
        every = np.ones(len(data[0]), dtype=bool)
        without = np.arange(len(every)) != rng.integers(len(every))
        widths = [np.diff(ends(*data, *kept)).item() for kept in ((every, every), (without, every), (every, without))]
        ratios += [width / widths[0] for width in widths[1:]]
    assert np.abs(np.array(ratios) - 1).max() < 0.05
    assert np.mean(ratios) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(("alike", "tries"), first_tier(1, [(0.45, 150), (0.45, 1000), (0.0, 1000)]))
@pytest.mark.parametrize("kind", ["plain", "swaps"])
def test_intervals_cover_the_change_whatever_share_of_the_entries_is_missing(kind, alike, tries):
    """The width grows as if the share had fewer entries, or more slowly."""
    widths = {}
    for missing in ((0, 0), (0.01, 0.01), (0.1, 0), (0.1, 0.1), (0.3, 0), (0.3, 0.3)):
        rng, found = np.random.default_rng(2), []
        for _ in range(tries):
            data = two_shares(kind, alike, rng)
            found.append(ends(*data, *(rng.random(len(data[0])) >= rate for rate in missing)))
        low, high = np.transpose(found)
        assert np.mean((low <= 0.1) & (high >= 0.1)) >= 0.93, missing
        widths[missing] = np.mean(high - low) / widths.get((0, 0), 1)
    assert widths[0.01, 0.01] == pytest.approx(1, abs=0.03)
    assert widths[0.1, 0.1] < 1.15
    assert widths[0.3, 0.3] < 1.4
