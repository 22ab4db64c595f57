"""Owen values: mean contributions of words, over orders of words in which the words of each tree node stay together.

The tree over the words is balanced and binary. The node with the largest contribution is split first.
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from heedful.interventions.masks import Node, partition
from heedful.metrics.attributions.methods.method import Rounds

NAME, VERSION = "owen", 1


class Stake(NamedTuple):
    """A node of the tree in one context, and its stake: the size of the contribution that its features make there.

    A node is a range of features. A context is a set of kept features outside the node; all remaining ones are masked.
    The stake is ``abs(high - low) * weight``. In a heap of stakes, the largest comes first.

    Attributes:
        order: Sort key: minus the stake.
        start: Position of the first feature of the node.
        stop: Position after the last feature.
        context: The context as bits; bit i is feature i.
        node: The node.
        low: Probability of the label if only the context is kept.
        high: Probability of the label if only the context and the features of the node are kept.
        weight: Weight of this context in the Owen values: 1 for the whole tree, and half as much after each split.
    """

    # Features enter one after another, the features of a node without others between them. The weight is the share of
    # these sequences in which exactly the features of the context enter before the node.

    order: float
    start: int
    stop: int
    context: int
    node: Node
    low: float
    high: float
    weight: float


Answers = dict[tuple[int, int, int], tuple[float, float]]  # (start, stop, context) to f with either half


def explain(
    n: int, full: float, nothing: float, budget: int, rng: np.random.Generator, segments: Sequence[int]
) -> Rounds:
    """Attribute the probability of a label to the features of an example by Owen values.

    For arguments and results, see :meth:`.method.Method.explain`. No mask is random: ``rng`` is not used. The
    standard errors are nan.

    The Owen value of a feature is its mean contribution over all orders of features that keep the features of each
    node together. A node is a range of features in the binary tree
    :func:`~heedful.interventions.masks.partitions.partition`.

    Nodes are split into halves until the budget of masks is used up. Each split takes two masks. The node with the
    largest contribution is split first. The contribution of a node that is never split is shared equally among its
    features. To split all nodes takes ``2 * partition(segments).splits`` masks, about ``2 / 3 * n**2``: 106 masks for
    12 features, 618 for 30.
    """
    # Each half of a split node is a node of its own, twice: with the other half masked, and with the other half kept.
    # A round asks for the masks of all nodes that will be split within the budget, whatever values come back. So the
    # result is the same as if each round split one node, with fewer rounds.
    phi = np.zeros(n)
    root = partition(segments)
    if not root.halves:
        return np.array([full - nothing]), np.full(n, np.nan)
    budget_left = min(budget // 2, root.splits)
    answers = Answers()
    queue = [_stake(root, 0, nothing, full, 1.0)]
    while budget_left:
        if queue[0][1:4] not in answers:
            certain = _sure_to_be_split(queue, answers, budget_left)
            values = (yield _masks(certain, n)).reshape(-1, 2).tolist()
            answers.update(
                (stake[1:4], (first, second)) for stake, (first, second) in zip(certain, values, strict=True)
            )
        stake = heappop(queue)
        for part in _split_stake(stake, *answers.pop(stake[1:4])):
            if part.node.halves:
                heappush(queue, part)
            else:
                phi[part.start] += (part.high - part.low) * part.weight
        budget_left -= 1
    for stake in queue:
        phi[stake.start : stake.stop] += (stake.high - stake.low) * stake.weight / (stake.stop - stake.start)
    return phi, np.full(n, np.nan)


def _stake(node: Node, context: int, low: float, high: float, weight: float) -> Stake:
    return Stake(-abs(high - low) * weight, node.start, node.stop, context, node, low, high, weight)


def _split_stake(stake: Stake, with_left: float, with_right: float) -> list[Stake]:
    """Split the node of a stake into its halves. Return four stakes: each half in the context of the node, and each
    half in this context with the other half added.

    Args:
        stake: The node and its context.
        with_left: Probability if the context and the left half are kept.
        with_right: Probability if the context and the right half are kept.
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
    """Return the nodes that will be split within the next ``splits_left`` splits, whatever the model predicts.

    The nodes are in ``queue`` or below, and the predictions for their halves are not in ``answers`` yet. A node is sure
    to be split if the splits suffice even for all descendants of the nodes before it in the queue.
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
    """Return the two masks that split each node into halves: bool [2 * stakes, n], True for a feature that is kept.

    ``stakes`` holds the nodes (ranges of features), each with a context: the features outside the node that are kept.
    The first mask of a node keeps the context and the left half of the node; the second mask keeps the context and the
    right half. ``n`` is the number of features.
    """
    size = (n + 7) // 8
    masks = b"".join((s.context | half.bits).to_bytes(size, "little") for s in stakes for half in s.node.halves)
    packed = np.frombuffer(masks, dtype=np.uint8).reshape(-1, size)
    return np.unpackbits(packed, axis=1, count=n, bitorder="little").astype(bool)
