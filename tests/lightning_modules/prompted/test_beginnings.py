"""Tests of shared beginnings: split prompts can be joined again, and need fewer tokens."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heedful.lightning_modules.prompted.shared_prefix import LEAST, beginning_sort_keys, split_beginnings

HEADS = st.sampled_from([list(range(10)), list(range(9)), [7] * 30, [*range(10), 99, 98], [5]])
ROWS = st.lists(st.tuples(HEADS, st.lists(st.integers(0, 3), min_size=1, max_size=6)), min_size=1, max_size=12)


def arrays(rows):
    return [np.array([*head, *rest], dtype=np.int32) for head, rest in rows]


def common(rows):
    """Number of tokens that all rows begin with, without the last token of a row."""
    same = 0
    while all(len(row) - 1 > same for row in rows) and len({int(row[same]) for row in rows}) == 1:
        same += 1
    return same


@given(ROWS)
def test_what_is_cut_can_be_put_together_and_costs_less(rows):
    rows = arrays(rows)
    beginnings, of = split_beginnings(rows)
    rests = [len(row) - len(beginnings[g]) for row, g in zip(rows, of, strict=True)]
    assert min(rests) >= 1
    for g, begin in enumerate(beginnings):
        group = [row for row, k in zip(rows, of, strict=True) if k == g]
        assert all(row[: len(begin)].tolist() == begin.tolist() for row in group)
        assert len(beginnings) == 1 or len(group) == 1 or len(begin) == common(group)
    read = len(beginnings) * max(map(len, beginnings)) + len(rows) * max(rests)
    assert read <= len(rows) * max(map(len, rows))


def test_nothing_is_cut_where_nothing_is_shared():
    assert [begin.tolist() for begin in split_beginnings([np.arange(i, i + 20) for i in range(4)])[0]] == [[]]
    assert split_beginnings([])[1].tolist() == []


def test_a_prompt_that_shares_nothing_does_not_widen_the_rests():
    rows = [np.r_[0:30, 1], np.r_[0:30, 2], np.r_[0:30, 3, 4], np.arange(50, 75)]
    beginnings, of = split_beginnings(rows)
    assert [len(begin) for begin in beginnings] == [30, 23]
    assert of.tolist() == [0, 0, 0, 1]


@given(ROWS, st.randoms(use_true_random=False))
def test_prompts_that_begin_alike_are_near_in_any_order(rows, random):
    rows = arrays(rows)
    near = beginning_sort_keys(rows)
    order = np.argsort(-near, kind="stable")
    groups = [[rows[i] for i in order[near[order] == value]] for value in np.unique(near)[::-1]]
    longest = [max(map(len, group)) for group in groups]
    assert longest == sorted(longest, reverse=True)
    firsts = [{tuple(row[:LEAST].tolist()) for row in group} for group in groups]
    assert all(len(first) == 1 for first in firsts)
    assert len(set.union(*firsts)) == len(groups)
    shuffled = random.sample(range(len(rows)), len(rows))
    assert beginning_sort_keys([rows[i] for i in shuffled]).tolist() == near[shuffled].tolist()
