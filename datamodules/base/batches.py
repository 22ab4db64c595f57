"""Batches of examples of similar length, in a fixed order, for evaluation. Imports no torch."""

from collections.abc import Sequence

import numpy as np

from heedful.records import Examples


def evaluation_batches(
    lengths: np.ndarray, keys: Sequence[int] | Sequence[str] | np.ndarray, batch_size: int, first: int | None = None
) -> list[np.ndarray]:
    """Sort examples by decreasing length, then by key, and cut the sorted list into batches.

    Batches depend on the full list only, so that predictions are bit-identical on any number of processes.

    Args:
        lengths: int [examples], lengths, or other numbers that are close for examples of similar length.
        keys: Unique number or text of each example, which breaks ties between equal lengths.
        batch_size: Examples in a batch.
        first: Size of the first batch; by default ``batch_size``. Another size gives all examples other batch mates.

    Returns:
        Positions of the examples per batch.
    """
    order = np.lexsort((np.asarray(keys), -np.asarray(lengths)))
    cuts = range(batch_size if first is None else first, len(order), batch_size)
    return [batch for batch in np.split(order, list(cuts)) if len(batch)]


def base_batches(pool: Examples, order: np.ndarray, positions: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Cut the examples to predict into batches of similar length. Examples of equal length are sorted by uid.

    Args:
        pool: All examples.
        order: int [pool], length per example, or numbers that are similar for examples of similar length.
        positions: int64, positions in the pool of the examples to predict.
        batch_size: Maximum number of examples in a batch.

    Returns:
        For each batch, the positions of its examples in the pool.
    """
    uid_ranks = np.argsort(pool.uid_order)
    return [positions[batch] for batch in evaluation_batches(order[positions], uid_ranks[positions], batch_size)]


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
