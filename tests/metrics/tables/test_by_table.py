"""Intervals by table, against all resamples written out and against the clusters of other metrics."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.statistics.bootstrap import bootstrap_interval
from metrics.tables.by_table import by_table, difference, ratio, resample, tables_of
from records import HeedError

small = st.integers(0, 5)
pairs = st.lists(st.tuples(st.sampled_from("ABC"), small, small), min_size=1, max_size=12)


def quotient(chosen: list[tuple]) -> float | None:
    total, count = sum(pair[1] for pair in chosen), sum(pair[2] for pair in chosen)
    return total / count if count else None


def measured(drawn: list[tuple], formula=ratio):
    columns = [np.array(column, dtype=float) for column in list(zip(*drawn, strict=True))[1:]]
    return by_table(columns, [pair[0] for pair in drawn], ("test",), len(drawn), "nothing to divide by", formula)


@given(pairs)
def test_up_to_three_tables_give_the_ends_of_all_resamples(drawn):
    """Each table alone is drawn with a chance of 1/27 or more, and the quotient is most extreme for one of them."""
    m, names = measured(drawn), sorted({pair[0] for pair in drawn})
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
    assert "few_tables" in m.flags
    assert ("resamples_left_out" in m.flags) == (len(defined) < len(every))


@given(pairs, st.randoms(use_true_random=False))
def test_neither_the_order_of_pairs_nor_the_names_of_tables_change_anything(drawn, random):
    shuffled = [("ABC"["CAB".index(name)] * 2, *rest) for name, *rest in drawn]
    random.shuffle(shuffled)
    assert measured(shuffled) == measured(drawn)


def test_the_interval_is_that_of_clusters_elsewhere():
    rng = np.random.default_rng(0)
    totals, counts = rng.integers(0, 3, 50).astype(float), rng.integers(3, 6, 50).astype(float)
    m = by_table((totals, counts), [f"T{i}" for i in range(50)], ("key", 1), 50, "")
    assert m.ci95 == bootstrap_interval(totals, counts, ("key", 1))
    assert m.flags == ()


def test_hypotheses_of_one_table_that_agree_are_no_further_evidence():
    right = np.random.default_rng(0).integers(0, 2, 40).astype(float)
    table = [f"T{i}" for i in range(40)]
    once = by_table((right, np.ones(40)), table, ("x",), 40, "")
    often = by_table((np.tile(right, 6), np.ones(240)), table * 6, ("x",), 240, "")
    assert often.ci95 == once.ci95


def test_a_difference_of_the_same_tables_moves_together():
    """Accuracies vary much between tables, but each is 0.25 better after: the difference is certain."""
    table = [f"T{i // 4}" for i in range(160)]
    before = np.array([i % 4 < i // 4 % 4 for i in range(160)], dtype=float)
    after, one = before + np.array([i % 4 == i // 4 % 4 for i in range(160)]), np.ones(160)
    m = by_table((after, one, before, one), table, ("x",), 160, "", difference)
    assert m.value == 0.25
    assert m.ci95 == pytest.approx((0.25, 0.25), abs=1e-12)
    accuracy = by_table((before, one), table, ("x",), 160, "")
    assert accuracy.ci95[1] - accuracy.ci95[0] > 0.1


def test_resamples_in_blocks_are_the_same(monkeypatch):
    sums = np.random.default_rng(0).integers(0, 9, (20, 3)).astype(float)
    at_once = resample(sums, ("x",), 500)
    monkeypatch.setitem(resample.__globals__, "BLOCK", 100)
    assert at_once.shape == (500, 3)
    assert np.array_equal(resample(sums, ("x",), 500), at_once)


def test_many_tables_bear_no_flag_and_one_has_no_width():
    assert measured([(f"T{i}", i % 2, 1) for i in range(30)]).flags == ()
    assert measured([(f"T{i}", i % 2, 1) for i in range(29)]).flags == ("few_tables",)
    assert measured([("T", i % 2, 1) for i in range(30)]).flags == ("few_tables", "interval_without_width")


# --- which table


def test_a_slice_names_the_table_and_else_a_cluster_of_any_of_its_rows(rows_of):
    base = dict.fromkeys("abc", ("E", "E"))
    rows = rows_of(
        base,
        [
            {"uid": "a", "y2": "N", "clusters": ["a", "table T1"]},
            {"uid": "b", "y2": "N", "clusters": ["b", "table T9"], "slices": ["kind=song", "table=T2"]},
            {"uid": "c", "y2": "N", "clusters": ["c", "table T3=4", "table T5"]},
        ],
    )
    assert tables_of(rows, ["c", "a", "b"]) == ["T3=4", "T1", "T2"]


def test_an_example_without_a_table_is_refused(rows_of):
    rows = rows_of({"a": ("E", "E"), "b": ("E", "E")}, [{"uid": "a", "y2": "N", "clusters": ["table T1"]}])
    assert tables_of(rows, ["a"]) == ["T1"]
    with pytest.raises(HeedError, match="^No row says which table b is about, by a slice 'table=...' or a cluster"):
        tables_of(rows, ["a", "b"])
