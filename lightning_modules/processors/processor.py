"""Processors turn examples into inputs of a model. They belong to a model family and import no Lightning."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from heedful.records import EMPTIED, Composed, Example, Examples
from heedful.records.example import emptied

MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplication modulo 2**64 is invertible


@dataclass(frozen=True)
class Statistics:
    """Truncation and vocabulary statistics of examples under a model.

    Attributes:
        truncated: Number of truncated examples.
        unknown: Share of tokens that are out of vocabulary.
        tokens_kept: Maps part names to (tokens read, all tokens); empty without truncation.
    """

    truncated: int = 0
    unknown: float = 0.0
    tokens_kept: Mapping[str, list[int]] = field(default_factory=dict)


class Encoded:
    """Examples as a model reads them. Each property is computed on first use and cached.

    Args:
        processor: Computes the properties.
        examples: A list, a pool, or a composition of parts of examples in a pool.
    """

    def __init__(self, processor: "Processor", examples: Sequence[Example]) -> None:
        self._processor = processor
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Number of tokens per example: int32 [examples]."""
        return self._processor.lengths(self.examples) if len(self) else np.zeros(0, dtype=np.int32)

    @cached_property
    def order(self) -> np.ndarray:
        """Sort key per example: int [examples]. Batches that follow it in descending order need little padding."""
        return self._processor.order(self.examples, self.lengths) if len(self) else self.lengths

    @cached_property
    def fingerprints(self) -> np.ndarray | None:
        """Hash of the model's input for each example: uint64 [examples]; None if the input is unknown."""
        return self._processor.fingerprints(self.examples) if len(self) else np.zeros(0, dtype=np.uint64)

    @cached_property
    def statistics(self) -> Statistics:
        """Truncation and vocabulary statistics of the examples."""
        return self._processor.statistics(self.examples)

    def batches(self, batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        """Return the inputs of the model, one batch at a time.

        Args:
            batches: The examples per batch, by position: int64 [examples of the batch] each.
        """
        return self._processor.batches(self.examples, batches)


NO_HIDING_IN_MEMORY = (
    "Attributions hide words in the inputs of a model that Heedful loads, and this one is in memory. Save model and "
    "tokenizer with save_pretrained, and give the folder; or leave attributions out."
)


class Processor(ABC):
    """Turns examples into inputs of a model. Processors are picklable.

    The methods take ``examples`` as a list, a pool (:class:`~heedful.records.Examples`), or a composition of parts of
    examples in a pool (:class:`~heedful.records.Composed`).

    Attributes:
        pad_to: Batches are padded to a multiple of this number of tokens, up to the longest input of the model.
        no_hiding: Why words cannot be hidden in inputs, for attributions; None if they can.
    """

    pad_to: int = 1
    no_hiding: str | None = (
        "Attributions need one of Heedful's own classes for texts, and one or two texts as parts. Choose such a model "
        "and such parts, or leave attributions out."
    )

    def encode(self, examples: Sequence[Example]) -> Encoded:
        """Wrap examples in :class:`Encoded`, which encodes them when its properties are first read."""
        return Encoded(self, examples)

    @abstractmethod
    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        """Return the number of tokens per example: int32 [examples]."""

    def order(self, examples: Sequence[Example], lengths: np.ndarray) -> np.ndarray:
        """Return a sort key per example: int [examples]; in descending order, examples of one length are neighbours.

        ``lengths`` is the number of tokens per example.
        """
        return lengths

    def statistics(self, examples: Sequence[Example]) -> Statistics:
        """Return truncation and vocabulary statistics of examples; by default, no token is truncated or unknown."""
        return Statistics()

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray | None:
        """Hash the input of the model per example: equal inputs have equal hashes.

        Returns:
            uint64 [examples], the same in every process; None if the input is unknown.
        """
        return None

    @abstractmethod
    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Return the input of the model for a batch; the first dimension of its tensors is the example."""

    def batches(self, examples: Composed, batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        """Return the inputs of the model, one batch at a time.

        Args:
            examples: The examples.
            batches: int64 [examples of the batch] each, positions into ``examples``.
        """
        return (self(examples.take(batch)) for batch in batches)


# processor to examples to their numbers; not an attribute, since processors are pickled
NUMBERS: WeakKeyDictionary["NumberProcessor", WeakKeyDictionary[Sequence[Example], np.ndarray]] = WeakKeyDictionary()


class NumberProcessor(Processor):
    """A processor that keeps a store of the contents of parts, and refers to a content by its number in the store.

    The parts of a pool (the examples that an evaluation changes) are stored once. A composed example consists of parts
    of examples in the pool, so its numbers are copied from the numbers of the pool, without reading contents again.

    Attributes:
        parts: Names of the parts, in the order of the rows of :meth:`numbers`.
    """

    parts: tuple[str, ...]

    def numbers(self, examples: Sequence[Example]) -> np.ndarray:
        """Return the number of each part's content, its index in the store: int32 [parts, examples].

        The same number means the same content. The result is cached for a pool and for composed examples.
        """
        if not isinstance(examples, Examples | Composed):
            return self._numbers(examples)
        numbers = NUMBERS.setdefault(self, WeakKeyDictionary())
        if examples not in numbers:
            is_composed = isinstance(examples, Composed)
            numbers[examples] = self._gathered(examples) if is_composed else self._numbers(examples)
        return numbers[examples]

    def _gathered(self, examples: Composed) -> np.ndarray:
        """Return the index of the content of each part of composed examples: int32 [parts, examples].

        A part keeps the index that it has in the example of the pool from which it comes.
        """
        numbers = self.numbers(examples.pool)
        positions = examples.positions
        if len(examples.extra):
            numbers = np.concatenate([numbers, self._numbers(examples.extra)], axis=1)
        gathered = numbers[:, positions]
        for row, part in enumerate(self.parts):
            if part not in examples.lenders:
                continue
            # examples outside the pool keep their parts
            lenders = np.where(positions < len(examples.pool), examples.lenders[part], positions)
            gathered[row] = numbers[row, lenders]
            if (empty := lenders == EMPTIED).any():
                nothing = {name: emptied(examples.pool.value(f"parts.{name}", 0)) for name in examples.pool.parts}
                gathered[row, empty] = self._numbers([Example("", nothing)])[row, 0]
        return gathered

    @abstractmethod
    def _numbers(self, examples: Sequence[Example]) -> np.ndarray:
        """Store the content of each part, and return its index: int32 [parts, examples], as :meth:`numbers`."""

    @abstractmethod
    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        """Return the inputs of the model, one batch at a time, as in :class:`Processor`."""

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        return next(iter(self.batches(examples, [np.arange(len(examples))])))


def combined(hashes: np.ndarray) -> np.ndarray:
    """Combine the hashes of an example's parts into one hash per example; the order of the parts counts.

    Args:
        hashes: uint64 [parts, examples].

    Returns:
        uint64 [examples].
    """
    total = np.zeros_like(hashes[0])
    for hash_of_part in hashes:
        total = (total ^ (total >> np.uint64(29))) * MIX + hash_of_part
    return total


def kept_of(parts: Sequence[str], counts: np.ndarray, lengths: np.ndarray) -> dict[str, list[int]]:
    """Return [tokens read, all tokens] for each part, summed over the examples; empty if no example is truncated.

    Args:
        parts: Names of the parts.
        counts: Number of tokens read: int64 [parts, examples].
        lengths: Number of all tokens: int64 [parts, examples].

    Example:
        >>> kept_of(["premise", "hypothesis"], np.array([[5, 3], [2, 2]]), np.array([[9, 3], [2, 2]]))
        {'premise': [8, 12], 'hypothesis': [4, 4]}
    """
    if (counts == lengths).all():
        return {}
    return dict(zip(parts, np.stack([counts.sum(axis=1), lengths.sum(axis=1)], axis=1).tolist(), strict=True))
