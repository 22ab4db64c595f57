"""Beginnings that several prompts of a batch share: which there are, and where each prompt is cut."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

LEAST = 8  # tokens of a beginning that is worth sharing
WORTH = 0.9  # share of the tokens that may be left where a batch is cut


class Cut(NamedTuple):
    """The prompts of a batch, each cut into a beginning and the rest, which has one token or more.

    Attributes:
        heads: int64 [beginnings], the prompt whose beginning each is.
        lengths: int64 [beginnings], tokens of each; may be 0.
        of: int64 [prompts], the beginning of each.
    """

    heads: np.ndarray
    lengths: np.ndarray
    of: np.ndarray

    @classmethod
    def nowhere(cls, n: int) -> "Cut":
        """All prompts are left whole."""
        return cls(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(n, np.int64))


def shared(rows: Sequence[np.ndarray]) -> Cut:
    """Find the longest beginnings of neighbours; one that is not shared is the whole prompt but for its last token.

    Args:
        rows: int [tokens] each, one token or more. Prompts that begin alike stand side by side.

    Example:
        >>> rows = [np.arange(12), np.r_[0:10, 5], np.arange(20, 24)]
        >>> cut = shared(rows)
        >>> cut.lengths.tolist(), cut.of.tolist()
        ([10, 3], [0, 0, 1])
    """
    heads = []
    lengths = []
    of = []
    for i, row in enumerate(rows):
        most = len(row) - 1
        common = min(most, lengths[-1], _common(row, rows[heads[-1]])) if heads else 0
        if common >= LEAST:
            lengths[-1] = common
        else:
            heads.append(i)
            lengths.append(most)
        of.append(len(heads) - 1)
    return Cut(*(np.array(column, dtype=np.int64) for column in (heads, lengths, of)))


def _common(row: np.ndarray, other: np.ndarray) -> int:
    n = min(len(row), len(other))
    differ = row[:n] != other[:n]
    return int(differ.argmax()) if differ.any() else n


def cut(rows: Sequence[np.ndarray]) -> Cut:
    """Where to cut the prompts of a batch so that the fewest tokens are read, counting padding.

    The rests are as long as the longest behind a beginning that is shared. Where that saves little, nothing is cut.

    Args:
        rows: As for :func:`shared`.
    """
    whole = Cut.nowhere(len(rows))
    if len(rows) < 2:
        return whole
    beginnings = shared(rows)
    tokens = np.array([len(row) for row in rows])
    several = np.bincount(beginnings.of) > 1
    if not several.any():
        return whole
    rest = int((tokens - beginnings.lengths[beginnings.of])[several[beginnings.of]].max())
    lengths = np.where(several, beginnings.lengths, np.maximum(0, tokens[beginnings.heads] - rest))
    read = len(lengths) * int(lengths.max()) + len(rows) * rest
    return beginnings._replace(lengths=lengths) if read < WORTH * len(rows) * int(tokens.max()) else whole


def nearness(rows: Sequence[np.ndarray]) -> np.ndarray:
    """A number for each prompt: sorted from the largest down, prompts that begin alike stand side by side.

    Those with the longest prompt stand first, as where prompts are sorted by length.

    Args:
        rows: As for :func:`shared`, in any order.

    Returns:
        int64 [prompts].
    """
    # big-endian: then bytes sort as the ids do, and rows that begin alike stand together
    order = sorted(range(len(rows)), key=lambda i: rows[i].astype(">u4").tobytes())
    of = np.zeros(len(rows), np.int64)
    of[order] = shared([rows[i] for i in order]).of
    longest = np.zeros(of.max(initial=-1) + 1, np.int64)
    np.maximum.at(longest, of, np.array([len(row) for row in rows], dtype=np.int64))
    rank = np.empty(len(longest), np.int64)
    rank[np.argsort(-longest, kind="stable")] = np.arange(len(longest))[::-1]
    return rank[of]
