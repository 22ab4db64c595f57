"""Find beginnings that several prompts of a batch share, such as the same premise, so that they are read once."""

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
    """Return sort keys that, in descending order, put prompts with the same beginning next to each other.

    The group with the longest prompt comes first, as in a sort by length.

    Args:
        rows: Token ids of the prompts, at least one token each.

    Returns:
        int64 [prompts].
    """
    group_of = _groups(rows)
    longest = np.zeros(group_of.max(initial=-1) + 1, np.int64)
    np.maximum.at(longest, group_of, np.array([len(row) for row in rows], dtype=np.int64))
    return longest[group_of] * len(longest) + group_of


def split_beginnings(rows: Sequence[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
    """Split prompts into a beginning, which is read once for all prompts that share it, and a suffix.

    Prompts with the same first 8 tokens form a group. The beginning of a group is the longest that all its prompts
    share, and that leaves each prompt a suffix of at least one token.

    All suffixes are padded to the longest suffix in groups of several prompts, say 20 tokens. So the suffix of a prompt
    that is alone in its group is its last 20 tokens; its beginning is the tokens before, if there are any.

    Args:
        rows: Token ids of the prompts, at least one token each.

    Returns:
        The beginnings, one per group, and the index of the beginning per prompt, int64 [prompts]. All prompts have one
        empty beginning if no two are in a group, or if splitting saves at most a tenth of the tokens and padding.

    Example:
        >>> beginnings, of = split_beginnings([np.arange(12), np.r_[0:10, 5], np.arange(20, 24)])
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
    # all suffixes are padded to this length, so a single prompt loses nothing by a suffix of this length
    common = [n if len(group) > 1 else max(0, n + 1 - longest) for group, n in zip(groups, common, strict=True)]
    if len(groups) * max(common) + len(rows) * longest >= WORTH * len(rows) * max(map(len, rows)):
        return [np.zeros(0, np.int64)], np.zeros(len(rows), np.int64)
    return [np.array(group[0][:n], np.int64) for group, n in zip(groups, common, strict=True)], group_of
