"""Processors turn examples into inputs of a model. They belong to a model family and import no Lightning."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from heedful.lightning_modules.processors.frame import padded
from heedful.records import Composed, Example, keys

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Statistics:
    """Truncation and vocabulary statistics of examples under a model."""

    truncated: int = 0  # examples
    unknown: float = 0.0  # share of tokens that are out of vocabulary
    # by part, (tokens read, all tokens); empty without truncation
    tokens_kept: Mapping[str, list[int]] = field(default_factory=dict)


class Encoded:
    """Examples as a model reads them. A processor computes each property on first use, and it is cached."""

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
        """Sort key per example: int [examples]."""
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
        """Return the inputs of the model, one batch at a time, given the positions of its examples: int64 each."""
        return self._processor.batches(self.examples, batches)


NO_HIDING_IN_MEMORY = (
    "Attributions hide words in the inputs of a model that Heedful loads, and this one is in memory. Save model and "
    "tokenizer with save_pretrained, and give the folder; or leave attributions out."
)


class Processor:
    """Turns examples into inputs of a model; picklable.

    Everything follows from :meth:`rows`. A processor of inputs that are not token ids defines :meth:`lengths` and
    :meth:`__call__` instead, and a fast processor overrides what it computes without rows.

    Attributes:
        pad_id: Token id of padding.
        pads_left: Whether padding is on the left.
        pad_to: Batches are padded to a multiple of this number of tokens, up to ``max_length``.
        max_length: Longest input of the model, in tokens.
        no_hiding: Why words cannot be hidden in inputs, for attributions; None if they can.
    """

    pad_id: int = 0
    pads_left: bool = False
    pad_to: int = 1
    max_length: int = 2**31
    no_hiding: str | None = (
        "Attributions need one of Heedful's own classes for texts, and one or two texts as parts. Choose such a model "
        "and such parts, or leave attributions out."
    )

    def rows(self, examples: Sequence[Example]) -> list[list[int]] | list[list[list[int]]] | None:
        """Return the token ids of each example, without padding: one list, or several lists, such as one per label.

        ``examples`` is a list, a pool (:class:`~heedful.records.Examples`), or composed of parts of examples in a pool
        (:class:`~heedful.records.Composed`). None if the inputs of the model are not token ids.
        """
        return None

    def encode(self, examples: Sequence[Example]) -> Encoded:
        """Wrap examples in :class:`Encoded`, which encodes them when its properties are first read."""
        return Encoded(self, examples)

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        """Return the number of tokens per example, of the longest list if an example has several: int32 [examples]."""
        return np.array([max(map(len, _lists(row))) for row in self.rows(examples)], dtype=np.int32)

    def order(self, examples: Sequence[Example], lengths: np.ndarray) -> np.ndarray:
        """Return a sort key per example: int [examples]; in descending order, batches need little padding."""
        return lengths

    def statistics(self, examples: Sequence[Example]) -> Statistics:
        """Return truncation and vocabulary statistics of examples; by default, no token is truncated or unknown."""
        return Statistics()

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray | None:
        """Hash the input of the model per example: uint64 [examples], the same in every process; None if unknown."""
        rows = self.rows(examples)
        return None if rows is None else keys(map(str, rows))

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Return the input of the model for a batch; the first dimension of its tensors is the example.

        By default ``input_ids`` and ``attention_mask``: int64 [examples, tokens], or [examples, lists, tokens].
        """
        rows = self.rows(examples) if len(examples) else []
        lists = [ids for row in rows for ids in _lists(row)]
        several = rows[:1] != lists[:1]
        ids = np.fromiter(chain.from_iterable(lists), np.int64)
        batch = self.pad(ids, np.array([*map(len, lists)], dtype=np.int64))
        return {name: values.unflatten(0, (len(rows), -1)) if several else values for name, values in batch.items()}

    def batches(self, examples: Composed, batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        """Return the inputs of the model, one batch at a time; ``batches`` are positions in ``examples``: int64."""
        return (self(examples.take(batch)) for batch in batches)

    def is_token(self, lengths: np.ndarray) -> np.ndarray:
        """Return a mask for inputs with given numbers of tokens, False for padding: bool [inputs, width]."""
        longest = int(lengths.max(initial=0))
        width = max(longest, min(-(-longest // self.pad_to) * self.pad_to, self.max_length))
        place = np.arange(width)
        return place >= width - lengths[:, None] if self.pads_left else place < lengths[:, None]

    def pad(self, ids: np.ndarray, lengths: np.ndarray) -> dict[str, "Tensor"]:
        """Return padded ``input_ids`` and ``attention_mask``: int64 [inputs, width] each.

        Args:
            ids: int [tokens of all inputs], one input after the other.
            lengths: int64 [inputs], the number of tokens per input.
        """
        import torch  # only here: functions are measured without torch

        is_token = self.is_token(lengths)
        batch = {"input_ids": padded(is_token, ids, self.pad_id), "attention_mask": is_token.astype(np.int64)}
        return {name: torch.from_numpy(values) for name, values in batch.items()}


def _lists(row: list[Any]) -> list[list[int]]:
    return row if len(row) and np.ndim(row[0]) else [row]
