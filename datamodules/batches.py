"""Examples with their positions, and the batches that models take."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import Dataset

from records import Example


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

    The batch holds ``inputs`` (from the processor), ``labels`` (int64 [examples]; -1 for none), ``positions`` (a list)
    and ``size``.
    """

    def __init__(self, processor: Any, labels: Sequence[str]) -> None:
        self.processor, self.index = processor, {label: i for i, label in enumerate(labels)}

    def __call__(self, items: Sequence[tuple[int, Example]]) -> dict[str, Any]:
        examples = [example for _, example in items]
        return {
            "inputs": self.processor(examples),
            "labels": torch.tensor([self.index.get(example.label, -1) for example in examples], dtype=torch.int64),
            "positions": [position for position, _ in items],
            "size": len(items),
        }
