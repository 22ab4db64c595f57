"""Batches of examples of like length: for evaluation, exact on any number of processes; for training, still random."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Sampler

from heedful.records import generator


def evaluation_batches(
    lengths: np.ndarray, keys: Sequence[int] | Sequence[str] | np.ndarray, batch_size: int, first: int | None = None
) -> list[np.ndarray]:
    """Cut a list of examples, sorted by (-length, key), into batches.

    The batches are a function of the whole list, and of nothing else: given whole to one process or another, each
    gives the same bits.

    Args:
        lengths: int [examples], or another number by which examples that are alike are near.
        keys: A number or a text for each example, unique, to sort examples of equal length by.
        batch_size: Examples in a batch.
        first: Size of the first batch, if another; it shifts all the others.

    Returns:
        Positions into the list, batch by batch.
    """
    order = np.lexsort((np.asarray(keys), -np.asarray(lengths)))
    cuts = range(batch_size if first is None else first, len(order), batch_size)
    return [batch for batch in np.split(order, list(cuts)) if len(batch)]


def snug_batches(lengths: np.ndarray, batch_size: int, padding: int) -> list[np.ndarray]:
    """As :func:`evaluation_batches`, but a batch also ends where more would be padding than it costs to begin another.

    Args:
        lengths: int [examples].
        batch_size: Most examples in a batch.
        padding: Most tokens of padding in a batch.

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
    """The batches of one process: batch j goes whole to rank j mod world, and none to a rank beyond."""
    return list(batches[rank::world]) if rank < world else []


class TrainingSampler(Sampler[list[int]]):
    """Random batches of like length, a function of (seed, epoch), from any place on.

    Examples are shuffled, sorted by length within windows of many batches, cut, and the batches shuffled. All ranks get
    the same number of batches; at most ``world - 1`` are dropped in an epoch.

    Args:
        lengths: int [examples].
        batch_size: Examples in a batch of one rank.
        seed: The run's seed.
        rank: This process.
        world: Number of processes.
        window: How many batches are sorted together: more makes batches more alike, fewer more random.

    Attributes:
        start: Batches of the epoch that are left out at its beginning, since they were trained on before.
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
        """Batches dropped in every epoch so that all ranks have as many."""
        return -(-len(self.lengths) // self.batch_size) % self.world

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch."""
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
    """Begins where the trainer stands: in a resumed run, perhaps in the middle of an epoch.

    Lightning asks for an iterator before it restores the progress of a resumed run and before it sets the epoch. So
    nothing happens, and no worker starts, until the first batch is asked for.

    Args:
        position: Gives the number of batches of the epoch that are done; called at the first batch.
        **kwargs: As for DataLoader; ``batch_sampler`` is a :class:`TrainingSampler`.
    """

    def __init__(self, *args: Any, position: Callable[[], int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.position = position

    def __iter__(self) -> Iterator[Any]:
        self.batch_sampler.start = self.position()
        yield from super().__iter__()

    def state_dict(self) -> dict[str, Any]:
        """Nothing: the trainer keeps the position. That there is this method tells Lightning that a run can resume."""
        return {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Nothing to load."""
