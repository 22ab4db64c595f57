"""Layout of the tokens of an input: truncated parts between special tokens and template words."""

from collections.abc import Iterable

import numpy as np


def share_budget(lengths: np.ndarray, budget: int) -> np.ndarray:
    """Return the numbers of tokens to keep, given the tokens per part, int64 [parts, examples], and their largest sum.

    The longest parts are cut first; of two parts as by "longest_first" of Hugging Face tokenizers.

    Example:
        >>> share_budget(np.array([[10, 8, 2], [3, 8, 3]]), 9).tolist()
        [[6, 4, 2], [3, 5, 3]]
    """
    counts = lengths.copy()
    long = np.flatnonzero(lengths.sum(axis=0) > budget)
    unused = np.full(len(long), budget)
    for rank, part in enumerate(np.argsort(lengths[:, long], axis=0, kind="stable")):
        counts[part, long] = np.minimum(lengths[part, long], unused // (len(lengths) - rank))
        unused -= counts[part, long]
    return counts


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Concatenate ranges of ``counts`` consecutive integers from ``starts``: int64.

    Example:
        >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    return np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())


class Frame:
    """Layout of an input as slots. A slot holds all tokens of a part, or one frame token (token outside the parts).

    Args:
        slots: Token id, token type and index of the part per slot; the index is None for a frame token.

    Attributes:
        ids, types: Token ids (undefined for parts) and token types: int64 [slots].
        parts: The index of the part in the slot; -1 for a frame token: int64 [slots].
        behind: The last part up to this slot; -1 before the first: int64 [slots].
        size: Number of frame tokens.
    """

    def __init__(self, slots: Iterable[tuple[int, int, int | None]]) -> None:
        table = [(token, type_, -1 if part is None else part) for token, type_, part in slots]
        self.ids, self.types, self.parts = np.array(table, dtype=np.int64).reshape(-1, 3).T
        self.behind = np.maximum.accumulate(self.parts)
        self.size = int((self.parts < 0).sum())

    def layout(self, starts: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return where the tokens of inputs are in an array of token ids that begins with :attr:`ids`.

        Args:
            starts: Position of the first token per part: int64 [parts, inputs].
            counts: Numbers of tokens of the parts: int64 [parts, inputs].

        Returns:
            Position and slot per token, one input after the other: int64 [tokens of all inputs]; and the number of
            tokens per input: int64 [inputs].
        """
        slots = np.tile(np.arange(len(self.ids)), (starts.shape[1], 1))
        first = slots.copy()
        count = np.ones_like(slots)
        first[:, self.parts >= 0] = starts.T
        count[:, self.parts >= 0] = counts.T
        return ranges(first.ravel(), count.ravel()), np.repeat(slots.ravel(), count.ravel()), count.sum(axis=1)


def padded(is_token: np.ndarray, values: np.ndarray, padding: int) -> np.ndarray:
    """Return an int64 array with the values where ``is_token`` is True, row by row, and padding elsewhere."""
    rows = np.full(is_token.shape, padding, dtype=np.int64)
    rows[is_token] = values
    return rows
