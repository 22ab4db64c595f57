"""Beginnings that several prompts of a batch share, such as the same premise, which are read once."""

from collections.abc import Sequence
from os.path import commonprefix

import numpy as np

LEAST = 8  # fewest tokens of a shared beginning
WORTH = 0.9  # prompts are split only if the share of tokens to read is lower


def _groups(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return the index of each prompt's group, int64 [prompts]; the prompts of a group begin with the same 8 tokens."""
    first = np.full((len(rows), LEAST), -1, np.int64)
    for i, row in enumerate(rows):
        first[i, : len(row)] = row[:LEAST]
    return np.unique(first, axis=0, return_inverse=True)[1].reshape(-1)


def beginning_sort_keys(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return sort keys, int64 [prompts], that in descending order put prompts with the same beginning together.

    The group with the longest prompt comes first, as in a sort by length.
    """
    group_of = _groups(rows)
    longest = np.zeros(group_of.max(initial=-1) + 1, np.int64)
    np.maximum.at(longest, group_of, [len(row) for row in rows])
    return longest[group_of] * len(longest) + group_of


def split_beginnings(rows: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Split prompts, at least one token each, into shared beginnings and suffixes of at least one token.

    The beginning of a group is the longest that its prompts share. As all suffixes are padded to the longest suffix in
    groups of several prompts, say 20 tokens, the suffix of a prompt that is alone in its group is its last 20 tokens.

    Returns:
        The beginnings, one per group, and the index of the beginning per prompt, int64 [prompts]. All prompts have one
        empty beginning if no two are in a group, or if splitting saves at most a tenth of the tokens and padding.

    Example:
        >>> beginnings, beginning_of = split_beginnings([np.arange(12), np.r_[0:10, 5], np.arange(20, 24)])
        >>> [begin.tolist() for begin in beginnings], beginning_of.tolist()
        ([[0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [20, 21]], [0, 0, 1])
    """
    group_of = _groups(rows)
    groups = [[rows[i].tolist() for i in np.flatnonzero(group_of == k)] for k in range(group_of.max(initial=-1) + 1)]
    common = [min(len(commonprefix(group)), *(len(row) - 1 for row in group)) for group in groups]
    suffixes = [max(map(len, group)) - n for group, n in zip(groups, common, strict=True) if len(group) > 1]
    longest = max(suffixes, default=0)
    common = [n if len(group) > 1 else max(0, n + 1 - longest) for group, n in zip(groups, common, strict=True)]
    split = len(groups) * max(common, default=0) + len(rows) * longest
    if not suffixes or split >= WORTH * len(rows) * max(map(len, rows)):
        return [np.zeros(0, np.int64)], np.zeros(len(rows), np.int64)
    return [np.array(group[0][:n], np.int64) for group, n in zip(groups, common, strict=True)], group_of
