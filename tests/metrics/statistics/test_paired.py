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

import clustered_shares
from clustered_shares import Entry, change_interval, less_interval
from made_rows import make
from tiers import costly

LABELS = ("yes", "no", "none")
NAME = MetricName("attentiveness", "d", "premise")
CONTEXT = Context("d", labels=LABELS, default_label="none", own={"swap": ["premise"]})
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
    if {c: of for c, (_, of) in sums[0].items()} == {c: of for c, (_, of) in sums[1].items()}:
        expected = change_interval([Entry(c, sums[1][c][0] - sums[0][c][0], of) for c, (_, of) in sums[0].items()])
    else:
        names = sorted({*sums[0], *sums[1]})
        expected = less_interval(*(clustered_shares.Share(of_run, names) for of_run in entries[::-1]))
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
