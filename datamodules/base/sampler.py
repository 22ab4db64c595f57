"""Batches of examples of similar length: deterministic for evaluation, random for training."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Sampler

from heedful.records import Examples, generator


def evaluation_batches(
    lengths: np.ndarray, keys: Sequence[int] | Sequence[str] | np.ndarray, batch_size: int, first: int | None = None
) -> list[np.ndarray]:
    """Cut a list of examples, sorted by (-length, key), into batches.

    Batches depend only on the full list, so predictions are bit-identical on any number of processes.

    Args:
        lengths: int [examples], lengths or any other numbers that are similar for similar examples.
        keys: Unique number or text of each example, which sorts examples of equal length.
        batch_size: Examples in a batch.
        first: Size of the first batch, if different; it shifts all other batches.

    Returns:
        Positions into the list, batch by batch.
    """
    order = np.lexsort((np.asarray(keys), -np.asarray(lengths)))
    cuts = range(batch_size if first is None else first, len(order), batch_size)
    return [batch for batch in np.split(order, list(cuts)) if len(batch)]


def base_batches(pool: Examples, order: np.ndarray, positions: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Cut unchanged examples into batches; equal numbers in ``order`` are sorted by uid.

    Args:
        pool: The examples.
        order: int [pool], numbers that are similar for examples of similar length.
        positions: int64, positions in the pool of the examples to predict.
        batch_size: Maximum number of examples in a batch.

    Returns:
        Positions in the pool, batch by batch.
    """
    uid_ranks = np.argsort(pool.uid_order)
    return [positions[batch] for batch in evaluation_batches(order[positions], uid_ranks[positions], batch_size)]


def snug_batches(lengths: np.ndarray, batch_size: int, padding: int) -> list[np.ndarray]:
    """Like :func:`evaluation_batches`, but also limits the padding of a batch.

    Args:
        lengths: int [examples].
        batch_size: Maximum number of examples in a batch.
        padding: Maximum number of padding tokens in a batch.

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


def share(batches: Sequence[np.ndarray], rank: int, world: int) -> list[np.ndarray]:
    """The batches of one rank: batch j goes to rank j mod world, and ranks above world get none."""
    return list(batches[rank::world]) if rank < world else []


class TrainingSampler(Sampler[list[int]]):
    """Random batches of similar length, a function of (seed, epoch), which can start in the middle of an epoch.

    Examples are shuffled, sorted by length within windows of many batches, and cut; then the batches are shuffled. All
    ranks get the same number of batches; at most ``world - 1`` batches are dropped in an epoch.

    Args:
        lengths: int [examples].
        batch_size: Examples in a batch of one rank.
        seed: The run's seed.
        rank: Rank of this process.
        world: Number of processes.
        window: Number of batches that are sorted together: a larger window wastes less padding, a smaller one is more
            random.

    Attributes:
        start: Number of skipped batches at the start of the epoch, in a resumed run.
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
        """Number of batches dropped in every epoch, for equal numbers on all ranks."""
        return -(-len(self.lengths) // self.batch_size) % self.world

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, which determines the order."""
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
    """DataLoader that starts at the trainer's position, in a resumed run perhaps in the middle of an epoch.

    Lightning requests an iterator before it restores the progress of a resumed run and before it sets the epoch, so
    everything happens at the first batch.

    Args:
        position: Returns the number of finished batches of the epoch; called at the first batch.
        **kwargs: As for DataLoader; ``batch_sampler`` is a :class:`TrainingSampler`.
    """

    def __init__(self, *args: Any, position: Callable[[], int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.position = position

    def __iter__(self) -> Iterator[Any]:
        self.batch_sampler.start = self.position()
        yield from super().__iter__()

    def state_dict(self) -> dict[str, Any]:
        """Return an empty state, since the trainer stores the position; this method tells Lightning that the loader can
        resume."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Do nothing: the state is empty."""
