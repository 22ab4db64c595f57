"""Beginnings that several prompts of a batch share."""

from collections.abc import Sequence
from os.path import commonprefix

import numpy as np

LEAST = 8  # tokens of a beginning that is worth sharing
WORTH = 0.9  # share of the tokens that may be left where a batch is cut


def _groups(rows: Sequence[np.ndarray]) -> np.ndarray:
    """The number of each prompt's first tokens: int64 [prompts]."""
    first = np.full((len(rows), LEAST), -1, np.int64)
    for i, row in enumerate(rows):
        first[i, : len(row)] = row[:LEAST]
    return np.unique(first, axis=0, return_inverse=True)[1].reshape(-1)


def nearness(rows: Sequence[np.ndarray]) -> np.ndarray:
    """A number for each prompt: sorted from the largest down, prompts that begin alike stand side by side.

    Those with the longest prompt stand first, as where prompts are sorted by length.

    Args:
        rows: int [tokens] each, one token or more.

    Returns:
        int64 [prompts].
    """
    of = _groups(rows)
    longest = np.zeros(of.max(initial=-1) + 1, np.int64)
    np.maximum.at(longest, of, np.array([len(row) for row in rows], dtype=np.int64))
    return longest[of] * len(longest) + of


def cut(rows: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Find the beginnings of prompts, so that the fewest tokens are read, counting padding.

    One that is not shared is cut so that its rest is no longer than the others. Where all that saves little, the only
    beginning is that of no token.

    Args:
        rows: As for :func:`nearness`.

    Returns:
        The beginnings, and that of each prompt, int64 [prompts]. The rest of a prompt has one token or more.

    Example:
        >>> beginnings, of = cut([np.arange(12), np.r_[0:10, 5], np.arange(20, 24)])
        >>> [begin.tolist() for begin in beginnings], of.tolist()
        ([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [20, 21]], [0, 0, 1])
    """
    of = _groups(rows)
    groups = [[rows[i].tolist() for i in np.flatnonzero(of == k)] for k in range(of.max(initial=-1) + 1)]
    common = [min(len(commonprefix(group)), *(len(row) - 1 for row in group)) for group in groups]
    rests = [max(map(len, group)) - n for group, n in zip(groups, common, strict=True) if len(group) > 1]
    if not rests:
        return [np.zeros(0, np.int64)], np.zeros(len(rows), np.int64)
    rest = max(rests)
    common = [n if len(group) > 1 else max(0, n + 1 - rest) for group, n in zip(groups, common, strict=True)]
    if len(groups) * max(common) + len(rows) * rest >= WORTH * len(rows) * max(map(len, rows)):
        return [np.zeros(0, np.int64)], np.zeros(len(rows), np.int64)
    return [np.array(group[0][:n], np.int64) for group, n in zip(groups, common, strict=True)], of
