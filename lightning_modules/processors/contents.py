"""Processor for models that are Python functions: it makes a dictionary of contents and a hash for each input."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from heedful.lightning_modules.processors.numbers import NumberProcessor, combined
from heedful.lightning_modules.processors.processor import NO_HIDING_IN_MEMORY
from heedful.records import EMPTIED, Composed, Example, Examples, Options, Table, column, keys


class Inputs:
    """The inputs of a batch, in a class that Lightning does not search for tensors.

    Attributes:
        parts: Maps each part name to the contents of this part, one per input.
        keys: 64-bit hash of the contents per input: uint64 [inputs].
        again: Whether an input repeats an unchanged example, for the null control: bool [inputs].
    """

    def __init__(self, parts: Mapping[str, list[Any]], keys: np.ndarray, again: np.ndarray) -> None:
        self.parts, self.keys, self.again = parts, keys, again

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The inputs as dictionaries from part names to contents, made anew, since a function may modify them."""
        return [dict(zip(self.parts, contents, strict=True)) for contents in zip(*self.parts.values(), strict=True)]

    def take(self, places: np.ndarray) -> "Inputs":
        """Return the inputs with the given indices."""
        parts = {part: [contents[i] for i in places.tolist()] for part, contents in self.parts.items()}
        return Inputs(parts, self.keys[places], self.again[places])


class FunctionProcessor(NumberProcessor):
    """Turns examples into dictionaries from part names to contents, the inputs of a Python function.

    Fingerprints (hashes of what a model reads) are None: it is unknown what the function reads.

    Args:
        parts: Names of the parts.
    """

    no_hiding = NO_HIDING_IN_MEMORY

    def __init__(self, parts: Sequence[str]) -> None:
        self.parts = tuple(parts)
        self._hashes = np.zeros(0, dtype=np.uint64)  # by number of the content
        self._bytes = np.zeros(0, dtype=np.int64)

    def _numbers(self, examples: Sequence[Example]) -> np.ndarray:
        numbers = np.empty((len(self.parts), len(examples)), dtype=np.int32)
        for row, part in enumerate(self.parts):
            texts = [value if isinstance(value, str) else value.encode() for value in column(examples, f"parts.{part}")]
            numbers[row] = np.arange(len(texts)) + len(self._bytes)
            self._hashes = np.concatenate([self._hashes, keys(texts)])
            self._bytes = np.concatenate([self._bytes, [len(text.encode()) for text in texts]]).astype(np.int64)
        return numbers

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        """Length per example in bytes, over all parts: int32 [examples]."""
        numbers = self.numbers(examples)  # before _hashes and _bytes, which it may extend
        return self._bytes[numbers].sum(axis=0).astype(np.int32)

    def hashed(self, examples: Sequence[Example]) -> np.ndarray:
        """Hash the contents of all parts of each example to 64 bits: uint64 [examples]."""
        numbers = self.numbers(examples)  # before _hashes and _bytes, which it may extend
        return combined(self._hashes[numbers])

    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        examples = Composed.whole(examples) if isinstance(examples, Examples) else examples
        hashed, again = self.hashed(examples), examples.repeated
        for batch in batches:
            yield {"function": Inputs(self._contents(examples.take(batch)), hashed[batch], again[batch])}

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        again = examples.repeated if isinstance(examples, Composed) else np.zeros(len(examples), dtype=bool)
        return {"function": Inputs(self._contents(examples), self.hashed(examples), again)}

    def _contents(self, examples: Sequence[Example]) -> dict[str, list[Any]]:
        return {part: self._values(examples, part) for part in self.parts}

    def _values(self, examples: Sequence[Example], part: str) -> list[Any]:
        """Return the content of a part for each example: a text, a table as a dictionary, or a list of options."""
        if isinstance(examples, Composed) and part not in examples.pool.kinds and len(examples):
            lenders = examples.lenders.get(part, examples.positions)
            if max(examples.positions.max(), lenders.max()) < len(examples.pool) and lenders.min() != EMPTIED:
                return examples.pool.texts(f"parts.{part}", lenders).to_pylist()  # faster than one by one
        values = column(examples, f"parts.{part}")
        tables = [v.texts if isinstance(v, Options) else v for v in values]
        return [{"title": v.title, **v.values} if isinstance(v, Table) else v for v in tables]
