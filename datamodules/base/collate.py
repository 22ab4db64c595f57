"""Examples with their positions, and the batches that models take."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import Dataset

from records import Example, Task, percent
from records.stopping import leave_to_parent


class Numbered(Dataset):
    """Pairs of (position, example)."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    def __getitem__(self, i: int) -> tuple[int, Example]:
        return i, self.examples[i]


class Collate:
    """Makes a batch of (position, example) pairs; picklable.

    The batch holds ``inputs`` (from the processor), ``labels`` (:meth:`~records.TaskKind.targets` as a tensor),
    ``positions`` (a list) and ``size``.

    Args:
        processor: Of the model.
        task: Says which labels there are, and what a model is trained towards.
    """

    def __init__(self, processor: Any, task: Task) -> None:
        self.processor, self.kind = processor, task.kind
        self.numbers = {label: i for i, label in enumerate(task.labels)}

    def __call__(self, items: Sequence[tuple[int, Example]]) -> dict[str, Any]:
        examples = [example for _, example in items]
        return {
            "inputs": self.processor(examples),
            "labels": torch.from_numpy(self.kind.targets([example.label for example in examples], self.numbers)),
            "positions": [position for position, _ in items],
            "size": len(items),
        }


def loading(examples: Sequence[Example], sampler: Any, processor: Any, task: Task, workers: int) -> dict[str, Any]:
    """The arguments of a DataLoader.

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


def how_read(processor: Any) -> str:
    """How much of the examples that it has just counted a processor leaves out or does not know, for a message."""
    text = f" {processor.truncated:,} are longer than the model reads and are truncated." if processor.truncated else ""
    return text + (
        f" {percent(processor.unknown)} of the tokens are unknown to the model." if processor.unknown else ""
    )
