"""Batches of examples of similar length in random order, for training."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Sampler

from heedful.records import generator


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
