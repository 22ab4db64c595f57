"""Intervals by table: how few tables are flagged, and which table a row is about."""

import numpy as np
import pytest

from heedful.metrics.statistics.bootstrap import difference, estimate
from heedful.metrics.tables.by_table import by_table, tables_of
from heedful.records import HeedfulError


def measured(tables: int, hypotheses: int, flip: int = 2):
    table = [f"T{i}" for i in range(tables)] * hypotheses
    hit = np.arange(len(table)) % flip == 0
    return by_table((hit, np.ones(len(table))), table, ("x",), len(table), "none"), (hit, table)


def test_many_tables_bear_no_flag_and_one_has_no_width():
    assert measured(30, 1)[0].flags == ()
    assert measured(29, 1)[0].flags == ("few_clusters",)
    assert measured(1, 30)[0].flags == ("few_clusters", "interval_without_width")


def test_but_for_its_flag_it_is_the_estimate_of_any_clusters():
    found, (hit, table) = measured(29, 3)
    expected = estimate((hit, np.ones(len(hit))), table, ("x",), len(hit), "none")
    assert (found.value, found.ci95, found.n) == (expected.value, expected.ci95, expected.n)
    assert found.flags == ("few_clusters", *expected.flags)


@pytest.mark.parametrize("n", [0, 3])
def test_what_is_undefined_bears_no_flag(n):
    found = by_table((np.zeros(n),) * 4, ["T"] * n, ("x",), n, "there is none", difference)
    assert (found.value, found.n, found.flags, found.reason) == (None, n, (), "there is none")


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
    with pytest.raises(HeedfulError, match="^No row says which table b is about, by a slice 'table=...' or a cluster"):
        tables_of(rows, ["a", "b"])
