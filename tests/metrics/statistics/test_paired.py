"""Paired differences of numbers between two runs, against loops over their rows."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.attentiveness import attentiveness
from heedful.metrics.number import measured
from heedful.metrics.statistics.paired import RecordedShare, change, recording
from heedful.metrics.statistics.shares import share
from heedful.records import Context, MetricName

from clustered_shares import Entry, paired_interval
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


# --- coverage


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
