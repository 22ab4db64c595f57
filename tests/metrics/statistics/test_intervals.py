"""Closed-form intervals against loops and against Clopper and Pearson, and their coverage in simulations."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from benchmarks.intervals import KINDS, Cell, Swapped, cells, cells_of_swaps, is_below, measured, measured_swaps
from heedful.metrics.statistics.intervals import Entries, interval, paired_interval, ratio_interval, share_of

import clustered_shares
from clustered_shares import Entry, Pairs, Share, change_interval, distances, share_interval

EXACT = 1e-9


@st.composite
def entries_of(draw, soft: bool = True, most: int = 12):
    """Entries of up to five clusters in up to three cells."""
    worth = st.sampled_from([0.0, 1.0, 0.25]) if soft and draw(st.booleans()) else st.sampled_from([0.0, 1.0])
    of = st.sampled_from([1, 2, 5]) if draw(st.booleans()) else st.just(1)
    drawn = draw(st.lists(st.tuples(st.integers(0, 4), worth, of, st.integers(0, 2)), min_size=1, max_size=most))
    return [Entry(cluster, hit * many, many, cell) for cluster, hit, many, cell in drawn]


def columns(entries: list[Entry]) -> Entries:
    hits, of = (np.array([float(e[i]) for e in entries]) for i in (1, 2))
    cell, cluster = (np.unique([e[i] for e in entries], return_inverse=True)[1] for i in (3, 0))
    return Entries(hits, of, cell, [cluster])


# --- shares


@given(st.integers(1, 400), st.data())
def test_where_each_entry_is_a_cluster_it_is_that_of_clopper_and_pearson(n, data):
    hits = data.draw(st.integers(0, n))
    found = interval(share_of(columns([Entry(i, i < hits) for i in range(n)])))
    assert found == pytest.approx(tuple(binomtest(hits, n).proportion_ci(method="exact")), abs=EXACT)


@given(entries_of())
def test_it_is_that_of_loops(entries):
    assert interval(share_of(columns(entries))) == pytest.approx(share_interval(entries), abs=EXACT)
    assert interval(share_of(columns(entries)), 0.8) == pytest.approx(share_interval(entries, 0.8), abs=EXACT)


@given(entries_of())
def test_it_holds_the_value_lies_within_0_and_1_and_has_a_width(entries):
    found = share_of(columns(entries))
    low, high = interval(found)
    assert 0 <= low <= found.value <= high <= 1
    assert high - low > 1e-3
    assert low == 0 or found.value > 0
    assert high == 1 or found.value < 1
    inner = interval(found, 0.5)
    assert low - EXACT <= inner[0] <= inner[1] <= high + EXACT


def test_a_second_way_of_clustering_adds_its_variance():
    base, partner = np.divmod(np.arange(20 * 15), 15)
    hits = ((base % 2) | (partner % 3 == 0)).astype(float)
    one = np.zeros(len(hits), dtype=int)
    both = share_of(Entries(hits, np.ones_like(hits), one, [base, partner]))
    first, second = (share_of(Entries(hits, np.ones_like(hits), one, [way])) for way in (base, partner))
    variances = [(z**2).sum() * n / (n - 1) for s, n in ((first, 20), (second, 15)) for z in s.influence]
    assert [(z**2).sum() * len(z) / (len(z) - 1) for z in both.influence] == pytest.approx(variances)
    widths = [high - low for low, high in map(interval, (both, first, second))]
    assert widths[0] > max(widths[1:])
    assert widths[0] < math.hypot(*widths[1:]) * 1.2


def pairs(entries: list[Entry]) -> list[np.ndarray]:
    nodes = sorted({node for e in entries for node in (e.cluster, e.lender)})
    return [np.array([nodes.index(getattr(e, side)) for e in entries]) for side in ("cluster", "lender")]


@given(entries_of(), st.data())
def test_of_pairs_it_is_that_of_loops_over_pairs_of_rows(entries, data):
    lent = [e._replace(lender=data.draw(st.integers(0, 6))) for e in entries]
    entries = columns(lent)
    found = share_of(entries._replace(ways=pairs(lent), are_pairs=True))
    assert interval(found) == pytest.approx(Pairs(lent).interval(), abs=EXACT)
    for misses, excess in zip(found.misses.dyads, found.dyads, strict=True):
        assert misses == pytest.approx(-excess)
    widths = [high - low for low, high in (interval(found), interval(share_of(entries)))]
    assert widths[0] >= widths[1] - 1e-5


# --- differences


@given(entries_of(), st.data())
def test_a_difference_over_the_same_entries_is_that_of_gains_and_losses_in_loops(entries, data):
    after = [e._replace(hits=data.draw(st.sampled_from([0, e.hits, e.of]))) for e in entries]
    one, other = columns(after), columns(entries)
    found = paired_interval(one, other)
    changes = [a._replace(hits=a.hits - b.hits) for a, b in zip(after, entries, strict=True)]
    assert found == pytest.approx(change_interval(changes), abs=EXACT)
    low, high = found
    value = share_of(one).value - share_of(other).value
    assert -1 <= low <= value + EXACT
    assert value - EXACT <= high <= 1
    assert high - low > 1e-3
    assert paired_interval(other, one) == pytest.approx((-high, -low), abs=EXACT)


@given(entries_of(), st.data())
def test_a_difference_without_some_entries_is_that_of_loops(entries, data):
    mine = [e._replace(of=0, hits=0) if data.draw(st.booleans()) else e for e in entries]
    if any(sum(e.of for e in mine if e.cell == cell) == 0 for cell in {e.cell for e in entries}):
        return
    expected = clustered_shares.paired_interval(mine, entries)
    assert paired_interval(columns(mine), columns(entries)) == pytest.approx(expected, abs=EXACT)


# --- ratios


@given(entries_of(), entries_of())
def test_a_ratio_holds_what_a_difference_would_not_refuse(mine, others):
    """An end R of the interval of A / B is a number for which A - R B has 0 as an end of its interval."""
    union = [*mine, *[e._replace(cell=3) for e in others]]
    names = sorted({e.cluster for e in union})
    first = Share([e._replace(cell=0) for e in mine], names)
    second = Share([e._replace(cell=0) for e in others], names)
    hits, of, _, ways, _ = columns(union)
    is_mine = np.arange(len(union)) < len(mine)
    one = np.zeros(len(union), dtype=int)
    a, b = (share_of(Entries(hits * here, of * here, one, ways)) for here in (is_mine, ~is_mine))
    if not b.value:
        return
    low, high = ratio_interval(a, b)
    ratio = first.value / second.value
    assert 0 <= low <= ratio + EXACT
    assert high >= ratio - EXACT
    for end, (near, far, r) in zip((low, high), distances(first, second, 0.95), strict=True):
        if 0 < end < 1e6:
            away = near**2 + (end * far) ** 2 - 2 * r * near * end * far
            assert (first.value - end * second.value) ** 2 == pytest.approx(away, rel=1e-6, abs=1e-9)


# --- coverage


@pytest.mark.parametrize(
    "cell",
    [
        Cell("share", 0.003, 300, "3", 0.8, "alike"),
        Cell("share", 0.01, 50, "unequal", 0.2, "beta"),
        Cell("share", 0.5, 20, "unequal", 0.2, "beta"),
        Cell("share", 0.95, 50, "unequal", 0.8, "alike"),
        Cell("one way", 0.01, 50, "3", 0.2, "beta"),
        Cell("both ways", 0.05, 50, "unequal", 0.8, "alike"),
    ],
    ids=str,
)
def test_it_holds_the_truth_in_19_of_20_tries_near_the_ends_too(cell):
    """In the fourth case, the interval of Korn and Graubard covers the truth in only 85 % of simulations."""
    assert measured(cell, 300).covered >= 0.93  # two standard errors below 95 %


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_coverage_is_94_percent(kind):
    """12 of the 396 cases of ``benchmarks.intervals``; a case below 94 % in 2,000 simulations gets 20,000."""
    found = {cell: measured(cell, 2000).covered for cell in random.Random(0).sample(list(cells(kind)), 12)}
    low = [cell for cell, covered in found.items() if covered < 0.94]
    assert {cell: covered for cell in low if (covered := measured(cell, 20_000).covered) < 0.94} == {}


@pytest.mark.parametrize("decided_by", ["lent text", 1.0])
def test_intervals_of_swaps_hold_the_truth_where_the_lent_text_decides(decided_by):
    over_both, over_examples = measured_swaps(Swapped(decided_by, 0.5, 50, 1.0, 5), 300)
    assert over_both.covered >= 0.93
    assert over_examples.covered < 0.8


@pytest.mark.parametrize("within", [0.5, 0.9])
@pytest.mark.parametrize("decided_by", ["both", "example", "lender"])
def test_intervals_of_swaps_within_a_cluster_hold_the_truth_and_are_as_narrow_as_those_of_clusters(decided_by, within):
    """An example and its lender are often in one cluster, such as a template of HANS."""
    rng, templates, bounds, widths = np.random.default_rng(3), 60, [], []
    example = np.repeat(np.arange(templates), 10)
    one, zeros = np.ones(len(example)), np.zeros(len(example), dtype=int)
    for _ in range(400):
        rate = rng.beta(0.3, 0.7, templates)
        away = rng.integers(1, templates, len(example)) * (rng.random(len(example)) >= within)
        lender = (example + away) % templates
        of_swap = {"both": (rate[example] + rate[lender]) / 2, "example": rate[example], "lender": rate[lender]}
        hits = (rng.random(len(example)) < of_swap[decided_by]).astype(float)
        bounds.append(interval(share_of(Entries(hits, one, zeros, [example, lender], are_pairs=True))))
        deciding = [example] if decided_by == "example" else [lender]
        widths.append(np.diff(interval(share_of(Entries(hits, one, zeros, deciding)))))
    low, high = np.transpose(bounds)
    assert 0.93 <= np.mean((low <= 0.3) & (high >= 0.3)) <= 0.98
    assert np.mean(high - low) < 1.3 * np.mean(widths)


@pytest.mark.slow
def test_no_cell_of_swaps_is_below_93_percent():
    """20 of the 480 cases of ``benchmarks.intervals --kinds swaps``."""
    for cell in random.Random(1).sample(list(cells_of_swaps()), 20):
        both, given = measured_swaps(cell, 1000)
        assert not is_below(both.covered, 1000), cell
        if cell.decided_by == "example":
            is_narrow = cell.draws == 5 or (cell.examples >= 200 and 0.1 <= cell.value <= 0.9)
            assert both.width / given.width < (1.15 if is_narrow else 1.6), cell
