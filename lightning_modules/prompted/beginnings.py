"""Beginnings that several prompts of a batch share."""

from collections.abc import Sequence
from os.path import commonprefix

import numpy as np

LEAST = 8  # tokens of a beginning that is worth sharing
WORTH = 0.9  # share of the tokens that may be left where a batch is cut


def _groups(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Number the groups of prompts that begin with the same tokens: int64 [prompts]."""
    first = np.full((len(rows), LEAST), -1, np.int64)
    for i, row in enumerate(rows):
        first[i, : len(row)] = row[:LEAST]
    return np.unique(first, axis=0, return_inverse=True)[1].reshape(-1)


def nearness(rows: Sequence[np.ndarray]) -> np.ndarray:
    """A sort key per prompt, in descending order: prompts with the same beginning are neighbours.

    Those with the longest prompt stand first, as where prompts are sorted by length.

    Args:
        rows: int [tokens] each, one token or more.

    Returns:
        int64 [prompts].
    """
    group_of = _groups(rows)
    longest = np.zeros(group_of.max(initial=-1) + 1, np.int64)
    np.maximum.at(longest, group_of, np.array([len(row) for row in rows], dtype=np.int64))
    return longest[group_of] * len(longest) + group_of


def cut(rows: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Find the beginnings of prompts, so that the fewest tokens are read, counting padding.

    One that is not shared is cut so that its rest is no longer than the others. Where all that saves little, the only
    beginning is empty.

    Args:
        rows: As for :func:`nearness`.

    Returns:
        The beginnings, and the index of the beginning per prompt, int64 [prompts]. A prompt's rest is never empty.

    Example:
        >>> beginnings, of = cut([np.arange(12), np.r_[0:10, 5], np.arange(20, 24)])
        >>> [begin.tolist() for begin in beginnings], of.tolist()
        ([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [20, 21]], [0, 0, 1])
    """
    group_of = _groups(rows)
    n = group_of.max(initial=-1) + 1
    groups = [[rows[i].tolist() for i in np.flatnonzero(group_of == k)] for k in range(n)]
    common = [min(len(commonprefix(group)), *(len(row) - 1 for row in group)) for group in groups]
    rests = [max(map(len, group)) - n for group, n in zip(groups, common, strict=True) if len(group) > 1]
    if not rests:
        return [np.zeros(0, np.int64)], np.zeros(len(rows), np.int64)
    longest = max(rests)
    common = [n if len(group) > 1 else max(0, n + 1 - longest) for group, n in zip(groups, common, strict=True)]
    if len(groups) * max(common) + len(rows) * longest >= WORTH * len(rows) * max(map(len, rows)):
        return [np.zeros(0, np.int64)], np.zeros(len(rows), np.int64)
    return [np.array(group[0][:n], np.int64) for group, n in zip(groups, common, strict=True)], group_of
