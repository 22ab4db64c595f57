import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.metrics.attributions.owen import partition

from word_games import ends, mean_over_orders, orders_of_tree, play, smooth_game, table_game

TREES = {
    (1,): 0,
    (2,): (0, 1),
    (5,): ((0, 1), (2, (3, 4))),
    (1, 1): (0, 1),
    (3, 2): ((0, (1, 2)), (3, 4)),
    (4, 4): (((0, 1), (2, 3)), ((4, 5), (6, 7))),
    (3, 1, 2): ((0, (1, 2)), (3, (4, 5))),
    (5, 4): (((0, 1), (2, (3, 4))), ((5, 6), (7, 8))),
}


def features(tree):
    return sum(map(features, tree), ()) if isinstance(tree, tuple) else (tree,)


def splits(tree):
    return 1 + 2 * sum(map(splits, tree)) if isinstance(tree, tuple) else 0


@pytest.mark.parametrize("segments", TREES, ids=str)
def test_all_splits_give_the_mean_over_all_orders_that_the_tree_allows(segments):
    tree, n = TREES[segments], sum(segments)
    game = table_game(n, n)
    phi, error, rounds = play("owen", game, list(segments), 1000)
    assert phi == pytest.approx(mean_over_orders(game, n, orders_of_tree(tree)))
    assert np.isnan(error).all()
    assert sum(map(len, rounds)) == 2 * splits(tree)
    masks = np.concatenate([*rounds, np.zeros((0, n), dtype=bool)])
    assert len(np.unique(masks, axis=0)) == len(masks)


def one_after_the_other(tree, game, budget):
    """Reference: split the node with the largest stake, one at a time; share the values of unsplit nodes equally."""
    n = len(features(tree))
    full, nothing = ends(game, n)

    def f(members):
        return float(game(np.isin(np.arange(n), sorted(members))[None])[0])

    phi, asked = np.zeros(n), []
    queue = [(tree, frozenset(), nothing, full, 1.0)]

    def rank(entry):
        node, context, low, high, weight = entry
        inside = features(node)
        return -abs(high - low) * weight, inside[0], inside[-1], sum(2**i for i in context)

    while len(asked) + 2 <= budget and any(isinstance(entry[0], tuple) for entry in queue):
        entry = min((entry for entry in queue if isinstance(entry[0], tuple)), key=rank)
        queue.remove(entry)
        (left, right), context, low, high, weight = entry
        with_left, with_right = context | set(features(left)), context | set(features(right))
        of_left, of_right = f(with_left), f(with_right)
        asked += [with_left, with_right]
        queue += [
            (left, context, low, of_left, weight / 2),
            (left, with_right, of_right, high, weight / 2),
            (right, context, low, of_right, weight / 2),
            (right, with_left, of_left, high, weight / 2),
        ]
    for node, _, low, high, weight in queue:
        phi[list(features(node))] += (high - low) * weight / len(features(node))
    return phi, set(asked)


def halved(start, stop):
    middle = (start + stop) // 2
    return start if stop - start == 1 else (halved(start, middle), halved(middle, stop))


@given(st.integers(1, 10), st.integers(1, 10), st.integers(2, 150), st.integers(0, 50), st.booleans())
@settings(max_examples=50, deadline=None, derandomize=True)
def test_rounds_give_what_splitting_one_node_after_the_other_gives(first, second, budget, seed, smooth):
    n = first + second
    game = smooth_game(n, seed) if smooth else table_game(n, seed)
    phi, asked = one_after_the_other((halved(0, first), halved(first, n)), game, budget)
    played = play("owen", game, [first, second], budget)
    assert played.phi == pytest.approx(phi, abs=1e-12)
    assert {frozenset(np.flatnonzero(mask).tolist()) for mask in played.masks} == asked


def test_rounds_are_few():
    """Nodes that are certain to be split are evaluated in one round: 128 splits take far fewer rounds."""
    assert max(len(play("owen", smooth_game(12, seed), [6, 6], 256).rounds) for seed in range(5)) == 4
    assert max(len(play("owen", smooth_game(30, seed), [15, 15], 256).rounds) for seed in range(5)) <= 20
    assert max(len(play("owen", smooth_game(60, seed), [30, 30], 256).rounds) for seed in range(5)) <= 40


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
