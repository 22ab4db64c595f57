"""Beginnings that prompts share: whatever is cut can be put together, and is what a search of all prompts finds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heedful.lightning_modules.prompted.beginnings import LEAST, cut, nearness, shared

HEADS = st.sampled_from([list(range(10)), list(range(9)), [7] * 30, [*range(10), 99, 98], [5]])
ROWS = st.lists(st.tuples(HEADS, st.lists(st.integers(0, 3), min_size=1, max_size=6)), min_size=1, max_size=12)


def arrays(rows):
    return [np.array([*head, *rest], dtype=np.int32) for head, rest in rows]


def common(rows):
    """How many tokens all rows begin with, the last of each left out."""
    same = 0
    while all(len(row) - 1 > same for row in rows) and len({int(row[same]) for row in rows}) == 1:
        same += 1
    return same


@given(ROWS)
def test_beginnings_are_those_of_neighbours(rows):
    rows = arrays(rows)
    found = shared(rows)
    assert found.of.tolist() == sorted(found.of.tolist())
    for g, (head, length) in enumerate(zip(found.heads, found.lengths, strict=True)):
        group = [rows[i] for i in np.flatnonzero(found.of == g)]
        assert (found.of[: head + 1] == g).sum() == 1
        assert length == common(group)
        assert len(group) == 1 or length >= LEAST
        end = head + len(group)
        assert end == len(rows) or common([*group, rows[end]]) < LEAST  # the next one does not belong to it


@given(ROWS)
def test_what_is_cut_can_be_put_together_and_costs_less(rows):
    rows = arrays(rows)
    found = cut(rows)
    rests = [len(row) - found.lengths[g] for row, g in zip(rows, found.of, strict=True)]
    assert min(rests) >= 1
    for row, g in zip(rows, found.of, strict=True):
        n = found.lengths[g]
        assert row[:n].tolist() == rows[found.heads[g]][:n].tolist()
    read = len(found.heads) * found.lengths.max() + len(rows) * max(rests)
    assert read <= len(rows) * max(map(len, rows))


def test_nothing_is_cut_where_nothing_is_shared():
    assert cut([np.arange(i, i + 20) for i in range(4)]).lengths.tolist() == [0]
    assert cut([]).of.tolist() == []


def test_a_prompt_that_shares_nothing_does_not_widen_the_rests():
    rows = [np.r_[0:30, 1], np.r_[0:30, 2], np.r_[0:30, 3, 4], np.arange(50, 75)]
    found = cut(rows)
    assert found.lengths.tolist() == [30, 23]
    assert found.of.tolist() == [0, 0, 0, 1]


@given(ROWS, st.randoms(use_true_random=False))
def test_prompts_that_begin_alike_are_near_in_any_order(rows, random):
    rows = arrays(rows)
    near = nearness(rows)
    order = np.argsort(-near, kind="stable")
    groups = [list(map(tuple, (rows[i] for i in order[near[order] == value]))) for value in np.unique(near)[::-1]]
    assert [max(map(len, group)) for group in groups] == sorted((max(map(len, g)) for g in groups), reverse=True)
    assert all(common(list(map(np.array, group))) >= LEAST for group in groups if len(group) > 1)
    shuffled = random.sample(range(len(rows)), len(rows))
    again = nearness([rows[i] for i in shuffled])
    assert (again[:, None] == again).tolist() == (near[shuffled][:, None] == near[shuffled]).tolist()
