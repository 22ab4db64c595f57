"""Base class of processors that store each content once and number it, and what such processors share."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from heedful.lightning_modules.processors.processor import Processor
from heedful.records import EMPTIED, Composed, Example, Examples, Part, TableForm
from heedful.records.example import emptied

MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplication modulo 2**64 is invertible
# processor to examples to their numbers; not an attribute, since processors are pickled
NUMBERS: WeakKeyDictionary["NumberProcessor", WeakKeyDictionary[Sequence[Example], np.ndarray]] = WeakKeyDictionary()


class NumberProcessor(Processor, ABC):
    """A processor that stores the content of each part once, and refers to a content by its number in the store.

    A composed example consists of parts of examples in a pool: its numbers are copied from the numbers of the pool.
    """

    parts: tuple[str, ...]  # names of the rows of the numbers

    def numbers(self, examples: Sequence[Example]) -> np.ndarray:
        """Return the number of the content of each part: int32 [parts, examples]; cached except for lists."""
        if not isinstance(examples, Examples | Composed):
            return self._numbers(examples)
        numbers = NUMBERS.setdefault(self, WeakKeyDictionary())
        if examples not in numbers:
            look_up = self._gathered if isinstance(examples, Composed) else self._numbers
            numbers[examples] = look_up(examples)
        return numbers[examples]

    def _gathered(self, examples: Composed) -> np.ndarray:
        """Return the numbers of composed examples: a part has the number of the example of the pool that lends it."""
        positions, size = examples.positions, len(examples.pool)
        in_pool = positions < size  # other examples keep their parts
        lenders = {part: np.where(in_pool, lent, positions) for part, lent in examples.lenders.items()}
        further = [*examples.extra]
        if any((lent == EMPTIED).any() for lent in lenders.values()):  # -1, the last of the numbers
            empty = {name: emptied(examples.pool.value(f"parts.{name}", 0)) for name in examples.pool.parts}
            further.append(Example("", empty))
        numbers = self.numbers(examples.pool)
        if further:
            numbers = np.concatenate([numbers, self._numbers(further)], axis=1)
        return np.stack([numbers[row, lenders.get(part, positions)] for row, part in enumerate(self.parts)])

    @abstractmethod
    def _numbers(self, examples: Sequence[Example]) -> np.ndarray:
        """Store the content of each part, and return its number: int32 [parts, examples]."""

    @abstractmethod
    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]: ...

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        return next(iter(self.batches(examples, [np.arange(len(examples))])))


def texts_of(parts: Sequence[Part], form: TableForm) -> Sequence[str]:
    """Return the texts of the parts of an example; a table is converted to text."""
    texts = [part for part in parts if isinstance(part, str)]
    if len(texts) == len(parts):
        return texts
    return [part if isinstance(part, str) else form.text(part, texts) for part in parts]


def combined(hashes: np.ndarray) -> np.ndarray:
    """Combine hashes, uint64 [parts, examples], into one per example: uint64 [examples]; the order of parts counts."""
    total = np.zeros_like(hashes[0])
    for hash_of_part in hashes:
        total = (total ^ (total >> np.uint64(29))) * MIX + hash_of_part
    return total


def tokens_kept(parts: Sequence[str], counts: np.ndarray, lengths: np.ndarray) -> dict[str, list[int]]:
    """Return [tokens read, all tokens] for each part, summed over examples; empty if no example is truncated.

    ``counts`` are the numbers of tokens read, ``lengths`` of all tokens: int64 [parts, examples].

    Example:
        >>> tokens_kept(["premise", "hypothesis"], np.array([[5, 3], [2, 2]]), np.array([[9, 3], [2, 2]]))
        {'premise': [8, 12], 'hypothesis': [4, 4]}
    """
    if (counts == lengths).all():
        return {}
    return dict(zip(parts, np.stack([counts.sum(axis=1), lengths.sum(axis=1)], axis=1).tolist(), strict=True))
