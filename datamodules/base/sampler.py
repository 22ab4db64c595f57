"""Batches of examples of similar length: in a fixed order for evaluation, in random order for training."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Sampler

from heedful.records import Examples, generator


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


class TrainingSampler(Sampler[list[int]]):
    """Samples random batches of examples of similar length, as a function of seed and epoch.

    Examples are shuffled, sorted by length within windows of several batches, and cut into batches, which are then
    shuffled. All ranks get the same number of batches, so that at most ``world - 1`` batches are dropped in an epoch.

    Args:
        lengths: int [examples], length per example.
        batch_size: Examples in a batch of one rank.
        seed: The run's seed.
        rank: Rank of this process.
        world: Number of processes.
        window: Number of batches in a window: a larger window needs less padding, a smaller one is more random.

    Attributes:
        start: Number of batches to skip at the start of the epoch, in a run that resumes within it.
    """

    def __init__(
        self, lengths: np.ndarray, batch_size: int, seed: int, rank: int = 0, world: int = 1, window: int = 32
    ) -> None:
        self.lengths = lengths
        self.batch_size = batch_size
        self.seed = seed
        self.rank = rank
        self.world = world
        self.window = window
        self.epoch = self.start = 0
        self.sampler = self  # Lightning calls set_epoch on the attribute of this name

    @property
    def dropped(self) -> int:
        """Number of batches that are dropped in every epoch, so that all ranks get the same number."""
        return -(-len(self.lengths) // self.batch_size) % self.world

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which determines the order of the batches."""
        self.epoch = epoch

    def __len__(self) -> int:
        return -(-len(self.lengths) // self.batch_size) // self.world

    def __iter__(self) -> Iterator[list[int]]:
        rng = generator(self.seed, "order", self.epoch)
        order = rng.permutation(len(self.lengths))
        size = self.batch_size * self.window
        windows = [order[start : start + size] for start in range(0, len(order), size)]
        by_length = np.concatenate([w[np.argsort(self.lengths[w], kind="stable")] for w in windows])
        batches = [by_length[start : start + self.batch_size] for start in range(0, len(order), self.batch_size)]
        shuffled = rng.permutation(len(batches))[: len(self) * self.world]
        for j in shuffled[self.rank :: self.world][self.start :]:
            yield batches[j].tolist()


class TrainingLoader(DataLoader):
    """DataLoader for training; in a resumed run, it can start in the middle of an epoch.

    Lightning creates the iterator before it restores the progress of a resumed run and before it sets the epoch.
    Therefore the iterator reads the progress and the epoch only when the first batch is requested.

    Args:
        position: Returns the number of finished batches of the epoch.
        **kwargs: As for DataLoader; ``batch_sampler`` is a :class:`TrainingSampler`.
    """

    def __init__(self, *args: Any, position: Callable[[], int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.position = position

    def __iter__(self) -> Iterator[Any]:
        self.batch_sampler.start = self.position()
        yield from super().__iter__()

    def state_dict(self) -> dict[str, Any]:
        """Return an empty state, since the trainer stores the position in the epoch.

        Lightning treats a loader with this method as resumable.
        """
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Do nothing: the state is empty."""
