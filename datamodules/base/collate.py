"""Build batches for training and for evaluation: inputs of the model, labels, and positions of the examples."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from heedful.datamodules.base.ahead import ahead
from heedful.records import Composed, Example, Examples, Task, column
from heedful.stopping import leave_to_parent


def make_batch(task: Task, positions: Any, inputs: dict[str, Any], golds: Sequence[str | None]) -> dict[str, Any]:
    """Build a batch from encoded examples.

    Args:
        task: The task of the model.
        positions: Positions of the examples in their data set.
        inputs: Inputs of the model.
        golds: Gold labels as text, or None for unlabelled examples.

    Returns:
        A dictionary with "inputs"; "labels", the gold labels as :meth:`~heedful.records.TaskKind.targets` in a tensor;
        "positions", int64 [examples]; "size", the number of examples.
    """
    numbers = {label: i for i, label in enumerate(task.labels)}
    return {
        "inputs": inputs,
        "labels": torch.from_numpy(task.kind.targets(golds, numbers)),
        "positions": np.asarray(positions, dtype=np.int64),
        "size": len(golds),
    }


class Indexed(Dataset):
    """Wraps examples for a DataLoader; a batch is fetched in one step, as (positions, examples)."""

    def __init__(self, examples: Composed) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitems__(self, positions: Sequence[int]) -> tuple[np.ndarray, Composed]:
        indices = np.array(positions, dtype=np.int64)
        return indices, self.examples.take(indices)


class Collate:
    """Picklable collate function for training: turns (positions, examples) into the batch of :func:`make_batch`.

    Args:
        processor: Encodes examples as inputs of the model.
        task: The task of the model.
    """

    def __init__(self, processor: Any, task: Task) -> None:
        self.processor = processor
        self.task = task

    def __call__(self, batch: tuple[Sequence[int], Sequence[Example]]) -> dict[str, Any]:
        positions, examples = batch
        return make_batch(self.task, positions, self.processor(examples), list(column(examples, "label")))


class EvaluationLoader:
    """Iterates over the validation batches, in the format of :func:`make_batch`; a thread prefetches them on a GPU.

    Args:
        pool: The validation examples.
        batches: Positions of the examples per batch of this process.
        encoded: The encoded validation examples.
        task: The task of the model.
        device: Device of the model; on the CPU, nothing is prefetched.
    """

    def __init__(
        self, pool: Examples, batches: Sequence[np.ndarray], encoded: Any, task: Task, device: torch.device
    ) -> None:
        self.pool = pool
        self.batches = batches
        self.encoded = encoded
        self.task = task
        self.device = device

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        batches = self._batches()
        return batches if self.device.type == "cpu" else ahead(batches, pin=self.device.type == "cuda")

    def _batches(self) -> Iterator[dict[str, Any]]:
        inputs = self.encoded.batches(self.batches)
        golds = self.pool.texts("label", np.concatenate(self.batches))
        start = 0
        for positions, encoded in zip(self.batches, inputs, strict=True):
            yield make_batch(self.task, positions, encoded, golds.slice(start, len(positions)).to_pylist())
            start += len(positions)


def training_loader_arguments(
    examples: Composed, sampler: Any, processor: Any, task: Task, workers: int
) -> dict[str, Any]:
    """Return the keyword arguments of a DataLoader that loads training batches.

    Args:
        examples: The training examples.
        sampler: Batch sampler.
        processor: Encodes examples as inputs of the model.
        task: The task of the model.
        workers: Number of worker processes.
    """
    return {
        "dataset": Indexed(examples),
        "batch_sampler": sampler,
        "collate_fn": Collate(processor, task),
        "num_workers": workers,
        "persistent_workers": False,
        "worker_init_fn": leave_to_parent,
        "pin_memory": torch.cuda.is_available(),
    }
