"""Rows: their schema, their order, and the way to disk and back."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.records import RunError
from heedful.records import rows as r

from python_rows import make_rows
from refusals import refused

LABELS = 3


def table(keys: list[tuple], **columns: list) -> pa.Table:
    """Rows with these (uid, intervention, part, variant, draw) keys; other columns have plain values unless given."""
    n = len(keys)
    filled = {name: [""] * n for name in r.STRINGS} | {name: [None] * n for name in ("group", "p", "p2", "unread")}
    filled |= {name: [key[k] for key in keys] for k, name in enumerate(r.KEY)}
    filled |= {"version": [1] * n, "clusters": [[key[0]] for key in keys], "slices": [[] for _ in keys]}
    return make_rows(filled | columns, LABELS)


def plain(n: int) -> pa.Table:
    probs = [np.full(LABELS, (i + 1) / (n + 1), dtype=np.float32) for i in range(n)]
    return table([(f"u{i}", "swap", "premise", "", i % 5) for i in range(n)], p=probs)


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


def test_the_same_rows_give_the_same_bytes_in_whatever_chunks(tmp_path):
    rows = plain(500)
    chunks = pa.concat_tables([rows[:10], rows[10:300], rows[300:]])
    first = r.save_rows(tmp_path / "a.parquet", rows, {"seed": 1, "task": ["a"]})
    assert first == r.save_rows(tmp_path / "b.parquet", chunks, {"task": ["a"], "seed": 1})


@given(st.lists(keys, unique=True, max_size=9), st.data())
def test_only_sorted_rows_without_repeated_keys_are_canonical(found, data):
    shuffled = data.draw(
        st.permutations(found + data.draw(st.lists(st.sampled_from(found), max_size=1)) if found else [])
    )
    rows = table(shuffled)
    if shuffled == sorted(set(shuffled)):
        r.require_canonical(rows)
    else:
        with refused(RunError, "uid"):
            r.require_canonical(rows)


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
    assert r.rows_with(rows, intervention="swap", part="premise").tolist() == [
        row["intervention"] == "swap" and row["part"] == "premise" for row in listed
    ]
    assert r.rows_with(rows, y2="base").tolist() == [row["y2"] == "base" for row in listed]
    assert r.equal_columns(rows, "y", "y2").tolist() == [
        row["y2"] is not None and row["y"] == row["y2"] for row in listed
    ]
    assert r.equal_columns(rows, "uid", "uid").all()
    for name in ("y", "y2", "uid"):
        numbers, names = r.codes(rows, name)
        assert [names[i] for i in numbers] == [row[name] for row in listed]
        assert len(set(names)) == len(names)
    found, expected = r.number_runs(rows, "uid").tolist(), []
    for i, row in enumerate(listed):
        expected.append(0 if not i else expected[-1] + (row["uid"] != listed[i - 1]["uid"]))
    assert found == expected


def test_sliced_reads_one_of_the_names_that_a_breakdown_groups_by():
    found = table([("a", "", "", "", 0), ("b", "", "", "", 0)], slices=[["m=up", "no=x=y"], ["no=", "m=down"]])
    for name, expected in {"m": ["up", "down"], "no": ["x=y", ""]}.items():
        codes, names = r.slice_codes(found, name)
        assert [names[code] for code in codes] == expected


@pytest.mark.parametrize("slices", [[["m=up"], []], [["m=up", "m=down"], []], [[], []]])
def test_sliced_refuses_rows_that_lack_the_name_or_have_it_twice(slices):
    with refused(RunError, "'m'"):
        r.slice_codes(table([("a", "", "", "", 0), ("b", "", "", "", 0)], slices=slices), "m")


@given(st.integers(0, 4), st.integers(1, 4), st.data())
def test_lists_hold_one_text_of_each_column(length, width, data):
    texts = [data.draw(st.lists(st.text(), min_size=length, max_size=length)) for _ in range(width)]
    lists = r.lists_of(*(pa.array(column, pa.string()) for column in texts))
    assert lists.type == pa.list_(pa.string())
    assert lists.to_pylist() == [list(row) for row in zip(*texts, strict=True)]
