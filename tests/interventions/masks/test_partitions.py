import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.interventions.masks import partition


def nodes(node):
    return [node, *(below for half in node.halves for below in nodes(half))]


SEGMENTS = st.lists(st.integers(1, 12), min_size=1, max_size=5)


@given(SEGMENTS)
def test_halves_stand_side_by_side_and_end_in_single_words(segments):
    root = partition(segments)
    assert (root.start, root.stop) == (0, sum(segments))
    for node in nodes(root):
        if node.halves:
            left, right = node.halves
            assert (left.start, left.stop, right.stop) == (node.start, right.start, node.stop)
        else:
            assert node.stop - node.start == 1
        assert node.bits == sum(2**i for i in range(node.start, node.stop))


@given(SEGMENTS)
def test_no_node_holds_words_of_two_segments_but_whole_segments(segments):
    edges = {sum(segments[:k]) for k in range(len(segments) + 1)}
    for node in nodes(partition(segments)):
        crosses = any(node.start < edge < node.stop for edge in edges)
        assert not crosses or {node.start, node.stop} <= edges


@given(SEGMENTS)
def test_segments_and_words_are_halved_evenly(segments):
    def depth(node):
        return 1 + max(map(depth, node.halves)) if node.halves else 0

    most = (len(segments) - 1).bit_length() + (max(segments) - 1).bit_length()
    assert depth(partition(segments)) <= most


@pytest.mark.parametrize(
    ("segments", "splits"), [([1], 0), ([2], 1), ([4], 5), ([8, 8], 85), ([6, 6], 53), ([30], 309)]
)
def test_splits_of_a_word_in_every_context(segments, splits):
    assert partition(segments).splits == splits
