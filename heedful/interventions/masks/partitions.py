"""A balanced binary tree over the features of an example, for Owen values."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Node:
    """Features that stand side by side, and the two groups that they fall into.

    Attributes:
        start: The first of them.
        stop: The one behind the last.
        halves: Left and right; none for a single feature.
    """

    start: int
    stop: int
    halves: tuple["Node", ...] = ()

    @cached_property
    def splits(self) -> int:
        """How many splits lead to single features in every context: one here, and those of each half twice.

        A half is split both without and with the other one.
        """
        return 1 + 2 * sum(half.splits for half in self.halves) if self.halves else 0

    @cached_property
    def bits(self) -> int:
        """The mask of these features: bit i is feature i."""
        return (1 << self.stop) - (1 << self.start)


def partition(segments: Sequence[int]) -> Node:
    """Halve the segments until each is alone, then the features of each segment.

    No node holds features of two segments unless it holds both segments whole.

    Args:
        segments: How many features each segment has, at least 1; its separator is the last of them.

    Example:
        >>> root = partition([3, 2])
        >>> [(half.start, half.stop) for half in root.halves]
        [(0, 3), (3, 5)]
        >>> root.splits
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
    left = _joined(nodes[: len(nodes) // 2])
    right = _joined(nodes[len(nodes) // 2 :])
    return Node(left.start, right.stop, (left, right))
