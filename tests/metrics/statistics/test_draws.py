"""The mean over draws against loops, and the entries that it records."""

from statistics import mean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.metrics.statistics.draws import Drawn, few_examples, is_known, mean_over_draws
from heedful.metrics.statistics.paired import recording
from heedful.metrics.statistics.shares import share
from heedful.records import Measurement

from made_rows import make


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.booleans()), min_size=1, max_size=20))
def test_each_draw_counts_alike(entries):
    uid, draw, hit = (np.array(column) for column in zip(*sorted(entries), strict=True))
    of = Drawn(uid, uid, draw, np.full(len(uid), -1))
    with recording():
        found = mean_over_draws(hit, of, ("f",), "none")
    shares = [mean(float(h) for h, d in zip(hit, draw, strict=True) if d == k) for k in sorted(set(draw.tolist()))]
    assert found.value == pytest.approx(mean(shares))
    assert found.per_draw == pytest.approx(shares)
    assert found.std == (pytest.approx(stdev(shares)) if len(shares) > 1 else None)
    assert (found.n, found.draws, found.flags) == (len(set(uid.tolist())), len(shares), ("f",))
    assert found.ci95[0] <= found.value <= found.ci95[1]
    kept = found.entries
    assert kept.hits.sum() / kept.counts.sum() == pytest.approx(found.value)
    if len({(draw == d).sum() for d in set(draw.tolist())}) == 1:
        assert (kept.counts == 1).all()
        assert found.ci95 == share(hit, uid).ci95


def test_a_draw_with_fewer_answers_counts_as_much_in_the_interval_as_in_the_value():
    """Draw 0 has a single answer, a miss, and draw 1 has 30 hits: the value is 0.5, not the pooled share of 0.97."""
    uid, draw = np.append(np.arange(30), 0), np.append(np.ones(30, dtype=int), 0)
    found = mean_over_draws((draw == 1).astype(float), Drawn(uid, uid, draw, np.full(31, -1)))
    assert found.value == 0.5
    assert found.ci95[0] <= 0.5 <= found.ci95[1]


def test_without_rows_it_is_undefined():
    none = np.zeros(0, dtype=int)
    found = mean_over_draws(none, Drawn(none, none, none, none), (), "nothing was swapped")
    assert (found.value, found.n, found.reason) == (None, 0, "nothing was swapped")


def test_rows_say_of_which_example_cluster_and_draw_they_are():
    rows = make({"a": ("x", "x"), "b": ("x", "x")}, [{"uid": "b", "y2": "x", "draw": d} for d in (0, 1)])
    of = Drawn.of(rows)
    assert (of.uid.tolist(), of.cluster.tolist(), of.draw.tolist()) == ([0, 1, 1, 1], [0, 1, 1, 1], [-1, -1, 0, 1])
    assert of.where(np.array([0, 0, 1, 1], dtype=bool)).examples == 1


def test_clusters_of_lenders_are_numbered_as_those_of_examples():
    base = {"a": ("x", "x"), "b": ("x", "x"), "c": ("x", "x")}
    swaps = [{"uid": u, "y2": "x", "partner": p} for u, p in (("a", "c"), ("b", "c"), ("c", "elsewhere"))]
    rows = make(base, [{"group": "g", **swap} if swap["uid"] == "a" else swap for swap in swaps])
    of = Drawn.of(rows)
    number = dict(zip(rows["uid"].to_pylist(), of.cluster.tolist(), strict=True))
    lent = of.lender[of.draw == 0].tolist()
    assert lent[:2] == [number["c"]] * 2
    assert lent[2] > max(number.values())
    assert (of.lender[of.draw < 0] == -1).all()
    fewer = Drawn.of(rows.slice(2))
    assert fewer.lender[-1] - lent[2] == len(set(fewer.cluster.tolist())) - len(set(of.cluster.tolist()))


def test_the_mean_over_draws_has_the_interval_of_pairs():
    base = dict.fromkeys("abcdef", ("x", "x"))
    swaps = [
        {"uid": u, "draw": d, "y2": "xy"[(i + d) % 3 == 0], "partner": "abcdef"[(i + d + 1) % 6]}
        for i, u in enumerate(base)
        for d in range(2)
    ]
    rows = make(base, swaps)
    of = Drawn.of(rows).where(rows["draw"].to_numpy() >= 0)
    hit = np.array([answer == "y" for answer in rows["y2"].to_pylist() if answer])
    assert mean_over_draws(hit, of).ci95 == share(hit, of.cluster, lenders=of.lender).ci95
    assert mean_over_draws(hit, of).ci95 != share(hit, of.cluster).ci95


def test_a_share_of_fewer_than_ten_examples_is_flagged_and_not_known():
    assert [bool(few_examples(n)) for n in (0, 1, 9.5, 10)] == [False, True, True, False]
    numbers = [Measurement(None, 0), Measurement(0.5, 9, flags=few_examples(9)), Measurement(0.0, 10, flags=("f",))]
    assert [is_known(m) for m in numbers] == [is_known(m.as_dict()) for m in numbers] == [False, False, True]
