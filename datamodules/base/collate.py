"""Examples with their positions, and the batches that models take."""

import json
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import Dataset

from records import Example, percent


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
    and ``size``. Of soft labels, ``labels`` is the worth of each: float32 [examples, labels].

    Args:
        processor: Of the model.
        labels: Names of the labels, in their order.
        soft: Whether a gold label is a JSON object of labels and what they are worth.
    """

    def __init__(self, processor: Any, labels: Sequence[str], soft: bool = False) -> None:
        self.processor, self.index, self.soft = processor, {label: i for i, label in enumerate(labels)}, soft

    def __call__(self, items: Sequence[tuple[int, Example]]) -> dict[str, Any]:
        examples = [example for _, example in items]
        return {
            "inputs": self.processor(examples),
            "labels": self._worth(examples) if self.soft else self._numbers(examples),
            "positions": [position for position, _ in items],
            "size": len(items),
        }

    def _numbers(self, examples: Sequence[Example]) -> torch.Tensor:
        return torch.tensor([self.index.get(example.label, -1) for example in examples], dtype=torch.int64)

    def _worth(self, examples: Sequence[Example]) -> torch.Tensor:
        """What people answered that is no label is left out: no output stands for it."""
        worth = torch.zeros(len(examples), len(self.index))
        for row, example in enumerate(examples):
            for label, value in json.loads(example.label).items():
                if label in self.index:
                    worth[row, self.index[label]] = value
        return worth


def how_read(processor: Any) -> str:
    """How much of the examples that it has just counted a processor leaves out or does not know, for a message."""
    text = f" {processor.truncated:,} are longer than the model reads and are truncated." if processor.truncated else ""
    return text + (
        f" {percent(processor.unknown)} of the tokens are unknown to the model." if processor.unknown else ""
    )
