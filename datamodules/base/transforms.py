"""Transforms: what is done to the examples of a split on their way from a source to a model, composed in order.

A transform is called with a reader of what those before it leave, and with the split that is asked for. Most are a
:class:`Change` of its examples. One that needs other examples asks the reader for them, as :class:`Divided` does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from heedful.datamodules.base.counts import Counts
from heedful.datamodules.sources.values import Rows
from heedful.records import Examples

Split = Literal["train", "validation"]
RowTransform = Callable[[Rows, str, Split], Rows]  # of the rows of a source, which the text names in errors
Reader = Callable[[Split], Examples]
Transform = Callable[[Reader, Split], Examples]


def composed(read: Reader, transforms: Iterable[Transform]) -> Reader:
    """A reader of what transforms, one after the other, make of the examples that are read."""
    for transform in transforms:
        read = partial(transform, read)
    return read


@dataclass(frozen=True)
class Change:
    """Changes examples.

    Attributes:
        change: Returns what becomes of them.
        split: The split whose examples are changed; None for each.
    """

    change: Callable[[Examples], Examples]
    split: Split | None = None

    def __call__(self, read: Reader, split: Split) -> Examples:
        examples = read(split)
        return self.change(examples) if self.split in (None, split) else examples


class Divided:
    """Takes the validation examples out of the training set, which is read once.

    Args:
        divide: Returns (rest, validation) of the training set.
        counts: What was counted in the training set is said of the validation examples as well.
    """

    def __init__(self, divide: Callable[[Examples], tuple[Examples, Examples]], counts: Counts) -> None:
        self.divide = divide
        self.counts = counts
        self.divided: tuple[Examples, Examples] | None = None

    def __call__(self, read: Reader, split: Split) -> Examples:
        if self.divided is None:
            self.divided = self.divide(read("train"))
            self.counts.take_over()
        train, validation = self.divided
        return validation if split == "validation" else train
