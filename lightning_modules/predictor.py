"""What the engine needs of a model, whatever the model is: a network, a function, or a server."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from heedful.records import Example


@dataclass(frozen=True)
class Statistics:
    """How much of some examples a model reads.

    Attributes:
        truncated: Number of examples that are longer than the model reads.
        unknown: Share of their tokens that are out of vocabulary.
        escaped: Number of examples that hold the characters of a special token, such as [SEP], as text.
        tokens_kept: Part name to the number of tokens that the model reads, and of all; empty where none is truncated.
    """

    truncated: int = 0
    unknown: float = 0.0
    escaped: int = 0
    tokens_kept: Mapping[str, list[int]] = field(default_factory=dict)


class Encodes(Protocol):
    """The functions of examples that :class:`Encoded` caches; see :class:`.processors.processor.Processor`."""

    def lengths(self, examples: Any) -> np.ndarray: ...

    def order(self, examples: Any, lengths: np.ndarray) -> np.ndarray: ...

    def fingerprints(self, examples: Any) -> np.ndarray | None: ...

    def statistics(self, examples: Any) -> Statistics: ...

    def batches(self, examples: Any, batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]: ...


class Encoded:
    """Examples as a model reads them. Each property is computed on first use and cached.

    Args:
        encoder: Computes the properties.
        examples: A list, a pool or a composition of a pool.
    """

    def __init__(self, encoder: Encodes, examples: Sequence[Example]) -> None:
        self._encoder = encoder
        self.examples = examples

    def __len__(self) -> int:
        return len(self.examples)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Cost of each example, in tokens: int32 [examples]."""
        return self._encoder.lengths(self.examples)

    @cached_property
    def order(self) -> np.ndarray:
        """Sort key of batches, in descending order, so that the examples of a batch are alike: int [examples]."""
        return self._encoder.order(self.examples, self.lengths)

    @cached_property
    def fingerprints(self) -> np.ndarray | None:
        """Hash of the model's input for each example: uint64 [examples]; None where that input is not known."""
        return self._encoder.fingerprints(self.examples)

    @cached_property
    def statistics(self) -> Statistics:
        """How much of the examples the model reads."""
        return self._encoder.statistics(self.examples)

    def batches(self, batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        """Inputs of the model, a batch at a time.

        Args:
            batches: int64 [examples of the batch] each, positions into the examples.
        """
        return self._encoder.batches(self.examples, batches)
