"""Owen values: mean contributions of words, over orders of words in which the words of every tree node stay together.

The tree over the words is balanced and binary. The node with the largest contribution is split first.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import accumulate
from typing import NamedTuple

import numpy as np


@dataclass(frozen=True)
class Node:
    """A node of a binary tree over features: the range of features from ``start`` to ``stop`` - 1, and its two halves.

    A single feature has no halves.
    """

    start: int
    stop: int
    halves: tuple["Node", ...] = ()

    @cached_property
    def splits(self) -> int:
        """Number of splits into halves that Owen values need for this node and all nodes below it."""
        # each half is split with the other half present, and once more with the other half absent
        return 1 + 2 * sum(half.splits for half in self.halves) if self.halves else 0

    @cached_property
    def bits(self) -> int:
        """The features of the node as an integer in which bit i is set for feature i."""
        return (1 << self.stop) - (1 << self.start)


def partition(segments: Sequence[int]) -> Node:
    """Build a balanced binary tree over all features, and return its root.

    A list of segments (runs of adjacent features) is halved down to single segments, a segment to single features.

    Args:
        segments: Number of features in each segment, at least 1.

    Example:
        >>> root = partition([3, 2])
        >>> [(half.start, half.stop) for half in root.halves]
        [(0, 3), (3, 5)]
        >>> root.splits  # splits for Owen values: root once, (0, 3) and (3, 5) twice each, (1, 3) four times
        9
    """
    ranges = [range(stop - size, stop) for size, stop in zip(segments, accumulate(segments), strict=True)]
    return _joined([_joined([Node(i, i + 1) for i in features]) for features in ranges])


def _joined(nodes: Sequence[Node]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    middle = len(nodes) // 2
    return Node(nodes[0].start, nodes[-1].stop, (_joined(nodes[:middle]), _joined(nodes[middle:])))


class Stake(NamedTuple):
    """A node of the tree in one context, a set of kept features outside the node; the remaining features are masked.

    In a heap of stakes, the node with the largest weighted contribution comes first.

    Attributes:
        order: Sort key: minus the absolute weighted contribution of the node, ``abs(high - low) * weight``.
        start: Position of the first feature of the node.
        stop: Position after the last feature.
        context: The context as bits; bit i is feature i.
        node: The node.
        low: Probability of the label if only the context is kept.
        high: Probability of the label if only the context and the features of the node are kept.
        weight: Share of the orders of features in which exactly the context precedes the node.
    """

    order: float
    start: int
    stop: int
    context: int
    node: Node
    low: float
    high: float
    weight: float


Answers = dict[tuple[int, int, int], tuple[float, float]]  # (start, stop, context) to the probability with either half


def explain(
    segments: Sequence[int], full: float, nothing: float, budget: int
) -> Generator[np.ndarray, np.ndarray, np.ndarray]:
    """Attribute the probability of a label to the n features of an example by Owen values.

    Nodes are split into halves until the budget of masks is used up. Each split takes two masks. The node with the
    largest contribution is split first. The contribution of a node that is never split is shared equally among its
    features. To split all nodes takes ``2 * partition(segments).splits`` masks, about ``2 / 3 * n**2``: 106 masks for
    12 features, 618 for 30.

    Args:
        segments: Number of features per part, see :func:`partition`.
        full: Probability with all features.
        nothing: Probability without features.
        budget: Largest number of masks.

    Yields:
        The masks of a round, True for a feature that is kept: bool [masks, n]. The caller sends their probabilities:
        float64 [masks].

    Returns:
        phi, the contribution of every feature: float64 [n].
    """
    # Each half of a split node is a node of its own, twice: with the other half masked, and with the other half kept.
    # A round asks for the masks of all nodes that will be split within the budget, whatever values come back. So the
    # result is the same as if each round split one node, with fewer rounds.
    root = partition(segments)
    phi = np.zeros(root.stop)
    answers = Answers()
    queue = [_stake(root, 0, nothing, full, 1.0)]
    for splits_left in range(min(budget // 2, root.splits), 0, -1):
        if queue[0][1:4] not in answers:
            certain = _sure_to_be_split(queue, answers, splits_left)
            pairs = (yield _masks(certain, root.stop)).reshape(-1, 2).tolist()
            answers |= {stake[1:4]: (left, right) for stake, (left, right) in zip(certain, pairs, strict=True)}
        stake = heappop(queue)
        for part in _split_stake(stake, *answers.pop(stake[1:4])):
            if part.node.halves:
                heappush(queue, part)
            else:
                phi[part.start] += (part.high - part.low) * part.weight
    for stake in queue:
        phi[stake.start : stake.stop] += (stake.high - stake.low) * stake.weight / (stake.stop - stake.start)
    return phi


def _stake(node: Node, context: int, low: float, high: float, weight: float) -> Stake:
    return Stake(-abs(high - low) * weight, node.start, node.stop, context, node, low, high, weight)


def _split_stake(stake: Stake, with_left: float, with_right: float) -> list[Stake]:
    """Return each half of a node in the node's context, and in this context with the other half added.

    ``with_left`` and ``with_right`` are the probabilities if the context and one half are kept.
    """
    first, second = stake.node.halves
    context = stake.context
    weight = stake.weight / 2
    return [
        _stake(first, context, stake.low, with_left, weight),
        _stake(first, context | second.bits, with_right, stake.high, weight),
        _stake(second, context, stake.low, with_right, weight),
        _stake(second, context | first.bits, with_left, stake.high, weight),
    ]


def _sure_to_be_split(queue: list[Stake], answers: Answers, splits_left: int) -> list[Stake]:
    """Return the nodes without an answer that the next ``splits_left`` splits will split, whatever the answers are.

    A node is sure to be split if the splits suffice even for all descendants of the nodes before it in the queue.
    """
    queue = queue.copy()
    sure = []
    before = 0
    while queue and before < splits_left:
        stake = heappop(queue)
        answer = answers.get(stake[1:4])
        if answer is None:
            sure.append(stake)
            before += stake.node.splits
        else:
            before += 1
            for part in _split_stake(stake, *answer):
                if part.node.halves:
                    heappush(queue, part)
    return sure


def _masks(stakes: Sequence[Stake], n: int) -> np.ndarray:
    """Return two masks per stake, which keep the context and the left or the right half: bool [2 * stakes, n]."""
    size = (n + 7) // 8
    masks = b"".join((s.context | half.bits).to_bytes(size, "little") for s in stakes for half in s.node.halves)
    packed = np.frombuffer(masks, dtype=np.uint8).reshape(-1, size)
    return np.unpackbits(packed, axis=1, count=n, bitorder="little").astype(bool)
