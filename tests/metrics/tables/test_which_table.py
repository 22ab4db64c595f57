"""Names of tables from slices and clusters of rows."""

from heedful.metrics.tables.which_table import tables_of
from heedful.records import RunError

from refusals import refused


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
    with refused(RunError, " b ", "'table=...'"):
        tables_of(rows, ["a", "b"])
