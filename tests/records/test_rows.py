"""Rows: their schema, their order, and the way to disk and back."""

import hashlib
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import RunError
from heedful.records import rows as r

from plain_rows import LABELS, plain, table
from python_rows import sort_rows
from refusals import refused

keys = st.tuples(
    st.text(max_size=3),
    st.sampled_from(["base", "swap", "null"]),
    st.sampled_from(["", "premise", "hypothesis"]),
    st.sampled_from(["", "row 10", "row 9", "é", "\U0001f600"]),
    st.integers(-1, 32767),
)
vectors = st.none() | st.lists(st.floats(0, 1, width=32), min_size=LABELS, max_size=LABELS).map(np.float32)


@given(st.lists(vectors, max_size=8))
def test_probabilities_keep_their_bits_and_none_is_null(values):
    rows = table([(str(i), "swap", "", "", 0) for i in range(len(values))], p=values, p2=values[::-1])
    for name, expected in (("p", values), ("p2", values[::-1])):
        assert rows[name].null_count == sum(v is None for v in expected)
        assert rows[name].to_pylist() == [None if v is None else v.tolist() for v in expected]
    present = rows.filter(pa.compute.is_valid(rows["p"]))
    if present.num_rows:
        expected = np.stack([v for v in values if v is not None])
        np.testing.assert_array_equal(r.probabilities(present, "p"), expected)
        assert r.probabilities(present, "p").dtype == np.float32


def test_select_takes_the_rows_that_match_all():
    rows = table(
        [("a", "base", "", "", -1), ("a", "swap", "p", "", 0), ("a", "swap", "p", "", 1), ("b", "swap", "q", "", 1)]
    )
    assert r.strings(r.select(rows, intervention="swap", draw=1), "uid").tolist() == ["a", "b"]
    assert r.select(rows, intervention="swap", part="p", draw=0).num_rows == 1
    assert r.select(rows, intervention="none such").num_rows == 0
    assert r.select(rows).num_rows == 4


@given(st.lists(st.tuples(keys, vectors, vectors, st.lists(st.text(max_size=3), max_size=3)), max_size=8))
def test_to_disk_and_back_is_the_same(tmp_path_factory, found):
    rows = table(
        [f[0] for f in found],
        p=[f[1] for f in found],
        p2=[f[2] for f in found],
        y2=[None if f[2] is None else "yes" for f in found],
        clusters=[f[3] for f in found],
    )
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    metadata = {"task": ["yes", "no", "é"], "seed": 7, "manifest": "00ff"}
    sha = r.save_rows(path, rows, metadata)
    again, entry = r.read_rows(path)
    assert again.schema.equals(rows.schema)
    assert again.equals(rows)
    assert entry == metadata
    assert sha == hashlib.sha256(path.read_bytes()).hexdigest()
    assert [f.name for f in path.parent.iterdir()] == ["rows.parquet"]


def test_the_same_rows_give_the_same_bytes_in_whatever_order_they_came(tmp_path):
    rows = plain(500)
    order = list(range(500))
    random.Random(0).shuffle(order)
    shuffled = rows.take(order)
    parts = sort_rows(pa.concat_tables([shuffled[300:], shuffled[:10], shuffled[10:300]]))
    first = r.save_rows(tmp_path / "a.parquet", sort_rows(rows), {"seed": 1, "task": ["a"]})
    second = r.save_rows(tmp_path / "b.parquet", parts, {"task": ["a"], "seed": 1})
    assert first == second
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_a_truncated_file_is_named(tmp_path):
    path = tmp_path / "rows.parquet"
    r.save_rows(path, plain(50), {})
    whole = path.read_bytes()
    for kept in (0, 1, 4, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        path.write_bytes(whole[:kept])
        with refused(RunError, "rows.parquet"):
            r.read_rows(path)


@given(st.lists(keys, max_size=12))
def test_where_same_codes_and_runs_say_what_a_loop_says(many):
    rows = table(many, y=[k[2] for k in many], y2=[k[1] if k[1] != "null" else None for k in many])
    rows = pa.concat_tables([rows.slice(0, 5), rows.slice(5)])  # chunks
    listed = rows.to_pylist()
    assert r.where(rows, intervention="swap", part="premise").tolist() == [
        row["intervention"] == "swap" and row["part"] == "premise" for row in listed
    ]
    assert r.where(rows, y2="base").tolist() == [row["y2"] == "base" for row in listed]
    assert r.same(rows, "y", "y2").tolist() == [row["y2"] is not None and row["y"] == row["y2"] for row in listed]
    assert r.same(rows, "uid", "uid").all()
    for name in ("y", "y2", "uid"):
        numbers, names = r.codes(rows, name)
        assert [names[i] for i in numbers] == [row[name] for row in listed]
        assert len(set(names)) == len(names)
    found, expected = r.runs(rows, "uid").tolist(), []
    for i, row in enumerate(listed):
        expected.append(0 if not i else expected[-1] + (row["uid"] != listed[i - 1]["uid"]))
    assert found == expected


def test_sliced_reads_one_of_the_names_that_a_breakdown_groups_by():
    found = table([("a", "", "", "", 0), ("b", "", "", "", 0)], slices=[["m=up", "no=x=y"], ["no=", "m=down"]])
    for name, expected in {"m": ["up", "down"], "no": ["x=y", ""]}.items():
        codes, names = r.sliced(found, name)
        assert [names[code] for code in codes] == expected


@pytest.mark.parametrize("slices", [[["m=up"], []], [["m=up", "m=down"], []], [[], []]])
def test_sliced_refuses_rows_that_lack_the_name_or_have_it_twice(slices):
    with refused(RunError, "'m'"):
        r.sliced(table([("a", "", "", "", 0), ("b", "", "", "", 0)], slices=slices), "m")


@given(st.integers(0, 4), st.integers(1, 4), st.data())
def test_lists_hold_one_text_of_each_column(length, width, data):
    texts = [data.draw(st.lists(st.text(), min_size=length, max_size=length)) for _ in range(width)]
    lists = r.lists_of(*(pa.array(column, pa.string()) for column in texts))
    assert lists.type == pa.list_(pa.string())
    assert lists.to_pylist() == [list(row) for row in zip(*texts, strict=True)]
