"""Batches of examples of similar length, in a fixed order, for evaluation. Imports no torch."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from heedful.records import Examples

EXAMPLES = 64  # examples per batch without a limit of tokens
MOST_EXAMPLES = 4096  # examples per batch with a limit of tokens


class BatchSize(NamedTuple):
    """Largest size of an evaluation batch.

    Attributes:
        examples: Number of examples.
        tokens: Number of tokens, padding included; None without a limit. A longer example is a batch of its own.
    """

    examples: int
    tokens: int | None = None

    @classmethod
    def of(cls, data: Any, predictor: Any, device: Any) -> "BatchSize":
        """Return the batch size of a measurement.

        Without settings, a CPU gets batches of 64 examples, and an accelerator as many tokens as the model names
        (:meth:`Predictor.tokens_that_fill`).

        Args:
            data: The data module, with the settings ``eval_batch_size`` and ``eval_tokens``.
            predictor: The model, bound to its task.
            device: The device of the model.
        """
        tokens = data.eval_tokens
        if tokens is None and device.type == "cuda":
            tokens = predictor.tokens_that_fill(device)
        return cls(data.eval_batch_size or (EXAMPLES if tokens is None else MOST_EXAMPLES), tokens)

    def cuts(self, lengths: np.ndarray) -> list[int]:
        """Return where to cut a list of examples into batches: indices of the first examples of batches, but the first.

        Args:
            lengths: int [examples], number of tokens per example.

        Example:
            >>> BatchSize(3).cuts(np.full(8, 9)), BatchSize(3, tokens=16).cuts(np.array([20, 9, 8, 8, 2, 2, 2, 2]))
            ([3, 6], [1, 2, 4, 7])
        """
        if self.tokens is None:
            return list(range(self.examples, len(lengths), self.examples))
        cuts, begin = [], 0
        while begin < len(lengths):
            widths = np.maximum.accumulate(lengths[begin : begin + self.examples].astype(np.int64))
            tokens = widths * np.arange(1, len(widths) + 1)
            begin += max(1, int(np.searchsorted(tokens, self.tokens, side="right")))
            cuts.append(begin)
        return cuts[:-1]


def evaluation_batches(
    lengths: np.ndarray,
    order: np.ndarray,
    keys: Sequence[int] | Sequence[str] | np.ndarray,
    size: BatchSize,
    is_shifted: bool = False,
) -> list[np.ndarray]:
    """Sort examples by decreasing order key, then by key, and cut the sorted list into batches.

    Batches depend on the full list only, so that predictions are bit-identical on any number of processes.

    Args:
        lengths: int [examples], number of tokens per example.
        order: int [examples], numbers that are close for examples of similar length, such as the lengths.
        keys: Unique number or text of each example, which breaks ties between equal order keys.
        size: Largest size of a batch.
        is_shifted: Whether the first batch has half the examples, which gives all examples other batch mates.

    Returns:
        Positions of the examples per batch.
    """
    positions = np.lexsort((np.asarray(keys), -np.asarray(order)))
    lengths = np.asarray(lengths)[positions]
    first = 0
    if is_shifted:
        full = size.examples if size.tokens is None else next(iter(size.cuts(lengths)), len(lengths))
        first = max(1, min(-(-full // 2), len(lengths) // 2))
    cuts = [first] * is_shifted + [first + cut for cut in size.cuts(lengths[first:])]
    return [batch for batch in np.split(positions, cuts) if len(batch)]


def base_batches(pool: Examples, encoded: Any, positions: np.ndarray, size: BatchSize) -> list[np.ndarray]:
    """Cut the examples to predict into batches of similar length. Examples of equal length are sorted by uid.

    Args:
        pool: All examples.
        encoded: The encoded pool, with ``lengths`` and ``order``.
        positions: int64, positions in the pool of the examples to predict.
        size: Largest size of a batch.

    Returns:
        For each batch, the positions of its examples in the pool.
    """
    uid_ranks = np.argsort(pool.uid_order)
    columns = (column[positions] for column in (encoded.lengths, encoded.order, uid_ranks))
    return [positions[batch] for batch in evaluation_batches(*columns, size)]


def snug_batches(lengths: np.ndarray, batch_size: int, padding: int) -> list[np.ndarray]:
    """Sort examples by decreasing length, and cut the list into batches of limited size and limited padding.

    Args:
        lengths: int [examples], number of tokens per example.
        batch_size: Maximum number of examples in a batch.
        padding: Maximum number of padding tokens in a batch.

    Returns:
        Positions of the examples per batch.

    Example:
        >>> [batch.tolist() for batch in snug_batches(np.array([3, 9, 8, 3, 2]), 3, padding=4)]
        [[1, 2], [0, 3, 4]]
    """
    order = np.argsort(-lengths, kind="stable")
    cuts = []
    begin = 0
    padded = 0
    for i, length in enumerate(lengths[order].tolist()):
        more = int(lengths[order[begin]]) - length
        if i - begin == batch_size or padded + more > padding:
            cuts.append(i)
            begin = i
            padded = 0
            more = 0
        padded += more
    return [batch for batch in np.split(order, cuts) if len(batch)]


def batches_of_rank(batches: Sequence[np.ndarray], rank: int, world: int) -> list[np.ndarray]:
    """Return the batches of a rank: every ``world``-th batch, from batch ``rank`` on; no batch if ``rank >= world``."""
    return list(batches[rank::world]) if rank < world else []
