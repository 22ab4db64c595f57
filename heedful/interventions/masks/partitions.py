"""Balanced binary trees over the features of an example, for Owen values."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Node:
    """A node of a binary tree over the features: a range of features.

    Attributes:
        start: Index of the first feature.
        stop: Index after the last feature.
        halves: The two child nodes; empty for a single feature.
    """

    start: int
    stop: int
    halves: tuple["Node", ...] = ()

    @cached_property
    def splits(self) -> int:
        """Number of splits into halves that Owen values need for this node and all nodes below it.

        This node is split once, and each node below it several times. A single feature needs 0 splits.
        """
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
    nodes, start = [], 0
    for size in segments:
        nodes.append(_features(start, start + size))
        start += size
    return _joined(nodes)


def _features(start: int, stop: int) -> Node:
    middle = (start + stop) // 2
    return Node(start, stop, () if stop - start == 1 else (_features(start, middle), _features(middle, stop)))


def _joined(nodes: Sequence[Node]) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    halves = _joined(nodes[: len(nodes) // 2]), _joined(nodes[len(nodes) // 2 :])
    return Node(halves[0].start, halves[1].stop, halves)
