"""Batches for training and for evaluation: inputs of the model, labels and positions of the examples."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from heedful.datamodules.base.ahead import ahead
from heedful.records import Composed, Example, Examples, Task, column
from heedful.records.stopping import leave_to_parent


class Indexed(Dataset):
    """A data set that returns a whole batch at once: positions and examples."""

    def __init__(self, examples: Composed) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitems__(self, positions: Sequence[int]) -> tuple[np.ndarray, Composed]:
        indices = np.array(positions, dtype=np.int64)
        return indices, self.examples.take(indices)


class BatchMaker:
    """Builds batches with the keys ``inputs``, ``labels``, ``positions`` and ``size``.

    ``labels`` is :meth:`~heedful.records.TaskKind.targets` as a tensor; ``positions`` is int64 [examples].

    Args:
        task: The task, with its labels and its kind of targets.
    """

    def __init__(self, task: Task) -> None:
        self.kind = task.kind
        self.numbers = {label: i for i, label in enumerate(task.labels)}

    def batch(self, positions: Sequence[int], inputs: dict[str, Any], golds: Sequence[str | None]) -> dict[str, Any]:
        """Build a batch from inputs and gold labels."""
        return {
            "inputs": inputs,
            "labels": torch.from_numpy(self.kind.targets(golds, self.numbers)),
            "positions": np.asarray(positions, dtype=np.int64),
            "size": len(golds),
        }


class Collate(BatchMaker):
    """Collate function for training; picklable.

    Args:
        processor: Encodes examples as ``inputs``.
        task: As for :class:`BatchMaker`.
    """

    def __init__(self, processor: Any, task: Task) -> None:
        super().__init__(task)
        self.processor = processor

    def __call__(self, batch: tuple[Sequence[int], Sequence[Example]]) -> dict[str, Any]:
        positions, examples = batch
        return self.batch(positions, self.processor(examples), list(column(examples, "label")))


class EvaluationLoader:
    """Batches of a pool for evaluation in one process, prefetched unless the device is the CPU.

    Args:
        pool: The examples.
        batches: Positions, batch by batch.
        encoded: The encoded examples.
        task: The task of the model.
        device: Device of the model.
    """

    def __init__(
        self, pool: Examples, batches: Sequence[np.ndarray], encoded: Any, task: Task, device: torch.device
    ) -> None:
        self.pool = pool
        self.batches = batches
        self.encoded = encoded
        self.maker = BatchMaker(task)
        self.device = device

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Iterate over batches of :class:`BatchMaker`."""
        batches = self._batches()
        return batches if self.device.type == "cpu" else ahead(batches, pin=self.device.type == "cuda")

    def _batches(self) -> Iterator[dict[str, Any]]:
        inputs = self.encoded.batches(self.batches)
        golds = self.pool.texts("label", np.concatenate(self.batches))
        start = 0
        for positions, encoded in zip(self.batches, inputs, strict=True):
            yield self.maker.batch(positions, encoded, golds.slice(start, len(positions)).to_pylist())
            start += len(positions)


def loading(examples: Composed, sampler: Any, processor: Any, task: Task, workers: int) -> dict[str, Any]:
    """Arguments of a DataLoader for training.

    Args:
        examples: The training examples.
        sampler: Batch sampler.
        processor: Processor of the model.
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
