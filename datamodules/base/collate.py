"""Batches of examples, with their positions, as models take them: for training and for evaluation."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset

from heedful.datamodules.base.ahead import ahead
from heedful.records import Composed, Example, Examples, Task, column
from heedful.records.stopping import leave_to_parent


class Numbered(Dataset):
    """Examples that are taken by the batch: their positions, and themselves."""

    def __init__(self, examples: Composed) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitems__(self, positions: Sequence[int]) -> tuple[np.ndarray, Composed]:
        indices = np.array(positions, dtype=np.int64)
        return indices, self.examples.take(indices)


class BatchMaker:
    """Makes batches of inputs, labels and positions.

    A batch holds ``inputs``, ``labels`` (:meth:`~heedful.records.TaskKind.targets` as a tensor), ``positions`` (int64
    [examples]) and ``size``.

    Args:
        task: Says which labels there are, and what a model is trained towards.
    """

    def __init__(self, task: Task) -> None:
        self.kind = task.kind
        self.numbers = {label: i for i, label in enumerate(task.labels)}

    def batch(self, positions: Sequence[int], inputs: dict[str, Any], golds: Sequence[str | None]) -> dict[str, Any]:
        """The batch of examples with these inputs and gold labels."""
        return {
            "inputs": inputs,
            "labels": torch.from_numpy(self.kind.targets(golds, self.numbers)),
            "positions": np.asarray(positions, dtype=np.int64),
            "size": len(golds),
        }


class Collate(BatchMaker):
    """Makes a batch of examples and their positions; picklable.

    Args:
        processor: Makes ``inputs`` of examples.
        task: As for :class:`BatchMaker`.
    """

    def __init__(self, processor: Any, task: Task) -> None:
        super().__init__(task)
        self.processor = processor

    def __call__(self, batch: tuple[Sequence[int], Sequence[Example]]) -> dict[str, Any]:
        positions, examples = batch
        return self.batch(positions, self.processor(examples), list(column(examples, "label")))


class EvaluationLoader:
    """The batches of a pool that one process evaluates; another device than the CPU finds them ready.

    Args:
        pool: The examples.
        batches: Positions of each batch.
        encoded: The examples as the model reads them.
        task: What the model sees.
        device: Where the model is.
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
        """Batches as :class:`BatchMaker` makes them."""
        batches = self._batches()
        return batches if self.device.type == "cpu" else ahead(batches, pin=self.device.type == "cuda")

    def _batches(self) -> Iterator[dict[str, Any]]:
        inputs = self.encoded.batches(self.batches)
        golds = self.pool.texts("label", np.concatenate(self.batches))
        start = 0
        for positions, of_batch in zip(self.batches, inputs, strict=True):
            yield self.maker.batch(positions, of_batch, golds.slice(start, len(positions)).to_pylist())
            start += len(positions)


def loading(examples: Composed, sampler: Any, processor: Any, task: Task, workers: int) -> dict[str, Any]:
    """The arguments of a DataLoader for training.

    Args:
        examples: What it loads.
        sampler: Gives the positions of each batch.
        processor: Of the model.
        task: What the model sees.
        workers: Processes that prepare batches.
    """
    return {
        "dataset": Numbered(examples),
        "batch_sampler": sampler,
        "collate_fn": Collate(processor, task),
        "num_workers": workers,
        "persistent_workers": False,
        "worker_init_fn": leave_to_parent,
        "pin_memory": torch.cuda.is_available(),
    }
