"""The processor of models that read one or two texts."""

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from heedful.lightning_modules.predictor import Statistics
from heedful.lightning_modules.processors.frame import Frame, share_budget
from heedful.lightning_modules.processors.hiding import HiddenWords
from heedful.lightning_modules.processors.processor import NumberProcessor, kept_of
from heedful.lightning_modules.processors.token_store import ESCAPED, MARKED, TokenStore, mark_error, mark_in
from heedful.records import BATCH, Composed, Example, HeedfulError, ModelError, Part, TableForm, column


class TextProcessor(NumberProcessor):
    """Text parts for encoders that read one or two sequences.

    Each text is tokenised once; a pair is put together from the ids of its parts and the special tokens of the
    tokenizer's own template, so that a swapped part costs no second tokenisation. Batches are padded to their longest
    example.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        parts: Names of the parts, in reading order.
        max_length: Most tokens of an input, special tokens included; the longest part is cut first.
        form: How tables are put into words.
        pad_id: The token id of padding; by default the tokenizer's.
        pads_left: Whether padding stands in front.

    Raises:
        HeedfulError: More than two parts, a ``max_length`` without room for a token of each part, or a tokenizer whose
            pairs are not its parts side by side.
    """

    PROBES = ("The dog's 2nd walk (today)!", " a", "È vero — 100 %")
    room = "Raise it."  # what to do where ``max_length`` leaves none
    offsets = False  # whether it must be known which characters a token stands for

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        parts: Sequence[str],
        max_length: int,
        form: TableForm | None = None,
        pad_id: int | None = None,
        pads_left: bool = False,
    ) -> None:
        super().__init__()
        self.tokenizer = tokenizer
        self.parts = tuple(parts)
        self.max_length = max_length
        self.form = form or TableForm()
        self.store = TokenStore(tokenizer, self.offsets)
        self.pad_id = (tokenizer.pad_token_id or 0) if pad_id is None else pad_id
        self.pads_left = pads_left
        self.token_types = "token_type_ids" in tokenizer.model_input_names
        self.frame = self._read_frame()
        self.budget = max_length - self.frame.size
        if self.budget < len(parts):
            raise ModelError(
                f"model.max_length {max_length} leaves no room for the parts beside {self.frame.size} other tokens. "
                f"{self.room}"
            )
        self._check_frame()

    def _read_frame(self) -> Frame:
        """Find the special tokens before, between and after the parts, and the token type of every stretch."""
        if not 1 <= len(self.parts) <= 2:
            raise ModelError(
                f"An encoder reads one or two parts, and the data have {len(self.parts)}: {', '.join(self.parts)}. "
                "Name two data.parts, or take model t5."
            )
        encoded = self.tokenizer(*["a"] * len(self.parts), return_token_type_ids=True)
        sequence = encoded.sequence_ids(0)
        special: list[tuple[list[int], list[int]]] = [([], [])]
        part_types: list[int] = []
        for token, type_, part in zip(encoded["input_ids"], encoded["token_type_ids"], sequence, strict=True):
            if part is None:
                special[-1][0].append(token)
                special[-1][1].append(type_)
            elif part == len(part_types):  # the first token of the next part
                part_types.append(type_)
                special.append(([], []))
        if len(part_types) != len(self.parts):
            raise self._unfit_tokenizer()
        return Frame(special, part_types, self.pad_id, self.pads_left)

    def _unfit_tokenizer(self) -> HeedfulError:
        name = type(self.tokenizer).__name__
        return ModelError(f"The tokenizer {name} reads a whole otherwise than its parts. Take another model.")

    def _check_frame(self) -> None:
        probes = [*self._probes()]
        numbers = self.store.numbers([text for texts in probes for text in self.texts(texts)])
        numbers = numbers.reshape(len(probes), -1).T
        starts = self.store.starts(numbers)
        counts = self.store.lengths(numbers)
        alone = np.arange(len(probes))[:, None]
        batches = self.frame.batches(self.store.tokens, starts, counts, alone)
        for texts, (ids, _, types) in zip(probes, batches, strict=True):
            encoded = self.tokenizer(*self._whole(texts), return_token_type_ids=True)
            if [*ids.tolist(), *types.tolist()] != [encoded["input_ids"], encoded["token_type_ids"]]:
                raise self._unfit_tokenizer()

    def _probes(self) -> set[tuple[str, ...]]:
        """Texts for the parts, in which any two parts side by side have all pairs of probes; never more than nine."""
        n = len(self.PROBES)
        return {
            tuple(self.PROBES[(first + step * i) % n] for i in range(len(self.parts)))
            for first in range(n)
            for step in range(n)
        }

    def _whole(self, texts: Sequence[str]) -> Sequence[str]:
        """The arguments of the tokenizer itself for an example with these parts."""
        return texts

    def _gathered(self, examples: Composed) -> np.ndarray:
        numbers = super()._gathered(examples)
        changed = np.flatnonzero(examples.borrowed)
        if len(changed) and self.form.keep is not None and examples.pool.tables:
            # which rows of a table are read depends on the text beside it
            numbers[:, changed] = self._numbers(examples.take(changed))
        return numbers

    def _numbers(self, examples: Sequence[Example]) -> np.ndarray:
        rows = zip(*(column(examples, f"parts.{part}") for part in self.parts), strict=True)
        blocks = [np.zeros((len(self.parts), 0), dtype=np.int32)]
        while texts := [self.texts(parts) for parts in islice(rows, BATCH)]:
            of_block = self.store.numbers(list(chain.from_iterable(texts)))
            blocks.append(of_block.reshape(len(texts), len(self.parts)).T)
        numbers = np.concatenate(blocks, axis=1)
        if len(marked := np.argwhere(self.store.states(numbers).T == MARKED)):
            example = examples[int(marked[0, 0])]
            text = self.texts([example.parts[part] for part in self.parts])[marked[0, 1]]
            raise mark_error(example.uid, mark_in(self.tokenizer, text))
        return numbers

    def texts(self, parts: Sequence[Part]) -> Sequence[str]:
        """The parts of an example as text, as they are tokenised."""
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts):
            return parts
        return [part if isinstance(part, str) else self.form.text(part, texts) for part in parts]

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        return self.lengths_of(self.numbers(examples))

    def lengths_of(self, numbers: np.ndarray) -> np.ndarray:
        """As :meth:`lengths`, for the :meth:`numbers` of examples."""
        tokens = self.store.lengths(numbers).sum(axis=0).astype(np.int32)
        return np.minimum(tokens, self.budget) + np.int32(self.frame.size)

    def statistics(self, examples: Sequence[Example]) -> Statistics:
        return self.statistics_of(self.numbers(examples))

    def statistics_of(self, numbers: np.ndarray) -> Statistics:
        """As :meth:`statistics`, for the :meth:`numbers` of examples."""
        lengths = self.store.lengths(numbers)
        truncated = int((lengths.sum(axis=0) > self.budget).sum())
        kept = kept_of(self.parts, share_budget(lengths, self.budget), lengths) if truncated else {}
        return Statistics(truncated, self.store.unknown(numbers), self.count_escaped(numbers), kept)

    def count_escaped(self, numbers: np.ndarray) -> int:
        """Number of examples that hold the characters of a special token, from the :meth:`numbers` of examples."""
        return int((self.store.states(numbers) == ESCAPED).any(axis=0).sum())

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray:
        return self.fingerprints_of(self.numbers(examples))

    def fingerprints_of(self, numbers: np.ndarray) -> np.ndarray:
        """As :meth:`fingerprints`, for the :meth:`numbers` of examples."""
        counts = share_budget(self.store.lengths(numbers), self.budget)
        return self.frame.fingerprints(self.store.hashes(numbers, counts), counts)

    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        return self.batches_of(self.numbers(examples), batches)

    def batches_of(self, numbers: np.ndarray, batches: Sequence[np.ndarray]) -> Iterator[dict[str, Tensor]]:
        """As :meth:`batches`, for the :meth:`numbers` of examples: int64 [examples, tokens] each."""
        counts = share_budget(self.store.lengths(numbers), self.budget)
        return self._framed(self.store.starts(numbers), counts, batches)

    def _framed(
        self, starts: np.ndarray, counts: np.ndarray, batches: Sequence[np.ndarray]
    ) -> Iterator[dict[str, Tensor]]:
        """Inputs of the model, of which each part is ``counts`` tokens from ``starts``: int64 [parts, inputs] both."""
        return self.framed(self.store.tokens, starts, counts, batches)

    def framed(
        self,
        tokens: np.ndarray,
        starts: np.ndarray,
        counts: np.ndarray,
        batches: Sequence[np.ndarray],
        around: np.ndarray | None = None,
    ) -> Iterator[dict[str, Tensor]]:
        """Inputs of the model with the special tokens; the arguments are as for :meth:`Frame.batches`."""
        widths = self.pad_to, self.max_length
        for ids, mask, types in self.frame.batches(tokens, starts, counts, batches, *widths, around):
            batch = {"input_ids": ids, "attention_mask": mask} | ({"token_type_ids": types} if self.token_types else {})
            yield {name: torch.from_numpy(values) for name, values in batch.items()}

    def hiding(self, examples: Sequence[Example], parts: Sequence[str] = (), delete: bool = False) -> HiddenWords:
        return HiddenWords(self, examples, parts, delete)
