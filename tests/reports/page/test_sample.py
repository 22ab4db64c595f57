"""The sample of rows on a page against a loop over rows."""

from collections import Counter

import numpy as np
import pytest

from heedful.records import keys, random_key, words_of
from heedful.reports.page.sample import sampled

import made_rows
import paged_runs
import written_results
from paged_runs import CONTEXT, LABELS


def evaluated(table):
    return {"attentiveness": (table, written_results.about(table, CONTEXT))}


def expected(table, most):
    """The keys of the sampled rows, by a loop, and the number of candidates."""
    kinds = {}
    for row in table.to_pylist():
        if row["intervention"] != "base" and row["draw"] <= 0:
            high, low, *_ = (int(word) for word in words_of(random_key(0, "page"), keys([row["uid"]]))[:, 0])
            kind = row["intervention"], row["part"], row["y"], row["y"] != row["y2"]
            kinds.setdefault(kind, []).append((high * 2**32 + low, row["variant"], row))
    order = []
    for rows in kinds.values():
        for turn, (rank, _, row) in enumerate(sorted(rows, key=lambda found: found[:2])):
            key = [row[name] for name in ("uid", "intervention", "part", "variant", "draw")]
            order.append((turn, rank, key))
    return [key for *_, key in sorted(order)[:most]], sum(map(len, kinds.values()))


def chosen(found):
    return [[row[name] for name in ("uid", "intervention", "part", "variant", "draw")] for row in found.rows]


@pytest.mark.parametrize("most", [1, 7, 20, 1000])
def test_it_is_the_one_that_is_chosen_one_by_one(most):
    table = paged_runs.rows(60)
    found = sampled(evaluated(table), 0, most)
    assert (chosen(found), found.total) == expected(table, most)


def test_the_order_of_rows_changes_nothing():
    table = paged_runs.rows(60)
    shuffled = table.take(np.random.default_rng(1).permutation(table.num_rows))
    assert sampled(evaluated(table), 0, 25) == sampled(evaluated(shuffled), 0, 25)
    assert sampled({}, 0) == ([], 0)


def test_more_rows_of_one_kind_do_not_push_out_another():
    base = {f"u{i}": ("neutral", LABELS[0]) for i in range(300)} | {"v": ("neutral", LABELS[2])}
    table = made_rows.make(base, [{"uid": uid, "y2": y} for uid, (_, y) in base.items()], likely=LABELS)
    found = sampled(evaluated(table), 0, 6)
    assert Counter(row["y"] for row in found.rows) == {LABELS[0]: 5, LABELS[2]: 1}


def test_probabilities_are_those_of_the_answer_before_the_change():
    table = paged_runs.rows(20)
    of = {(row["uid"], row["draw"]): row for row in table.to_pylist() if row["intervention"] == "swap"}
    for row in sampled(evaluated(table), 0).rows:
        number = LABELS.index(row["y"])
        before, after = (of[row["uid"], 0][name][number] for name in ("p", "p2"))
        assert (row["p"], row["p2"]) == pytest.approx((before, after))
        assert row["moved"] == pytest.approx(after - before)
        assert row["changed"] == (row["y"] != row["y2"])


def test_of_accuracy_the_examples_themselves_are_shown_right_and_wrong():
    table = paged_runs.rows(30)
    base = table.filter(np.array(table["intervention"].to_pylist()) == "base")
    found = sampled({"accuracy": (base, written_results.about(base, CONTEXT))}, 0)
    assert found.total == 30
    assert all(row["changed"] == (row["gold"] != row["y"]) for row in found.rows)
