"""Processor for models that read one or two texts."""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from heedful.lightning_modules.processors.frame import Frame, padded, share_budget
from heedful.lightning_modules.processors.numbers import NumberProcessor, combined, texts_of, tokens_kept
from heedful.lightning_modules.processors.processor import Statistics
from heedful.lightning_modules.processors.token_store import TokenStore, plain_tokenizer
from heedful.records import BATCH, Composed, Example, ModelError, Part, TableForm, column

TOGETHER = 32  # batches whose layout is computed in one step


class TextProcessor(NumberProcessor):
    """Encodes one or two text parts.

    Each distinct text is tokenised once, however often it is swapped: a pair is the concatenation of the ids of its
    parts and of special tokens.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        parts: Names of the parts, in reading order.
        max_length: Most tokens of an input, special tokens included; the longest part is cut first.
        form: Format of tables as text.
        pad_id: Id of the padding token; by default from the tokenizer.
        pads_left: Whether padding is on the left.

    Raises:
        HeedfulError: There are more than two parts, ``max_length`` leaves no room for one token per part, or the
            tokenizer does not encode a pair as the concatenation of its parts.
    """

    PROBES = ("The dog's 2nd walk (today)!", " a", "È vero — 100 %")
    room = "Raise it."  # remedy if ``max_length`` leaves no room
    no_hiding = None
    offsets = False  # whether the store keeps the characters of tokens

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        parts: Sequence[str],
        max_length: int,
        form: TableForm | None = None,
        pad_id: int | None = None,
        pads_left: bool = False,
    ) -> None:
        self.tokenizer = tokenizer
        self.parts = self.text_parts = tuple(parts)
        self.max_length = max_length
        self.form = form or TableForm()
        self.pad_id = (tokenizer.pad_token_id or 0) if pad_id is None else pad_id
        self.pads_left = pads_left
        self.token_types = "token_type_ids" in tokenizer.model_input_names
        self.frame = self._read_frame()
        self.token_store = self.new_store(self.offsets)
        self.budget = max_length - self.frame.size
        if self.budget < len(parts):
            around = f"{self.frame.size} tokens are around them"
            raise ModelError(f"model.max_length {max_length} leaves no room for the parts: {around}. {self.room}")
        probes = (self.PROBES[k:] + self.PROBES[:k] for k in range(len(self.PROBES)))
        if not all(self._is_right((texts * len(parts))[: len(parts)]) for texts in probes):
            raise ModelError(
                f"The tokenizer {type(tokenizer).__name__} reads a whole otherwise than its parts. Take another model."
            )

    def new_store(self, offsets: bool) -> TokenStore:
        """Return an empty store of token ids that begins with the frame tokens, which surround the texts."""
        encode = plain_tokenizer(self.tokenizer, offsets)
        return TokenStore(encode, self.tokenizer.unk_token_id, self.frame.ids, offsets)

    def _read_frame(self) -> Frame:
        """Return the layout of an input: special tokens before, between and after the parts, and all token types."""
        if not 1 <= len(self.parts) <= 2:
            raise ModelError(
                f"An encoder reads one or two parts, and the data have {len(self.parts)}: {', '.join(self.parts)}. "
                "Name two data.parts, or take model t5."
            )
        encoded = self.tokenizer(*["a"] * len(self.parts), return_token_type_ids=True)
        tokens = zip(encoded["input_ids"], encoded["token_type_ids"], encoded.sequence_ids(0), strict=True)
        groups = ((part, [*group]) for part, group in groupby(tokens, itemgetter(2)))
        return Frame(chain.from_iterable(group if part is None else group[:1] for part, group in groups))

    def _is_right(self, texts: Sequence[str]) -> bool:
        """Whether joined texts and frame tokens have the ids and types that the tokenizer gives in one call."""
        encoded = self.tokenizer(*self._whole(texts), return_token_type_ids=True)
        numbers = self.token_store.numbers(self.texts(texts))[:, None]
        if self.frame.behind.max(initial=-1) + 1 != len(numbers):  # the vocabulary is empty
            return False
        places, slots, _ = self.frame.layout(self.token_store.starts(numbers), self.token_store.lengths(numbers))
        ids = self.token_store.tokens[places].tolist()
        return (ids, self.frame.types[slots].tolist()) == (encoded["input_ids"], encoded["token_type_ids"])

    def _whole(self, texts: Sequence[str]) -> Sequence[str]:
        """Return the arguments of a single tokenizer call that encodes the texts of the parts."""
        return texts

    def _gathered(self, examples: Composed) -> np.ndarray:
        numbers = super()._gathered(examples)
        changed = np.flatnonzero(examples.borrowed)
        if len(changed) and self.form.keep is not None and examples.pool.tables:  # the other text decides on rows
            numbers[:, changed] = self._numbers(examples.take(changed))
        return numbers

    def _numbers(self, examples: Sequence[Example]) -> np.ndarray:
        rows = zip(*(column(examples, f"parts.{part}") for part in self.text_parts), strict=True)
        blocks = [np.zeros((len(self.text_parts), 0), dtype=np.int32)]
        while texts := [self.texts(parts) for parts in islice(rows, BATCH)]:
            numbers = self.token_store.numbers(list(chain.from_iterable(texts)))
            blocks.append(numbers.reshape(len(texts), -1).T)
        return np.concatenate(blocks, axis=1)

    def texts(self, parts: Sequence[Part]) -> Sequence[str]:
        """Return the texts to tokenise for the parts of an example."""
        return texts_of(parts, self.form)

    def truncate(self, lengths: np.ndarray) -> np.ndarray:
        """Convert the number of tokens per text to the number after truncation: int64 [texts, examples]."""
        return share_budget(lengths, self.budget)

    def _read(self, examples: Sequence[Example]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the numbers of the texts, their tokens, and the tokens that are read: [texts, examples] each."""
        numbers = self.numbers(examples)[: len(self.text_parts)]
        lengths = self.token_store.lengths(numbers)
        return numbers, lengths, self.truncate(lengths)

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        return (self._read(examples)[2].sum(axis=0) + self.frame.size).astype(np.int32)

    def statistics(self, examples: Sequence[Example]) -> Statistics:
        numbers, lengths, counts = self._read(examples)
        truncated = int((counts < lengths).any(axis=0).sum())
        return Statistics(truncated, self.token_store.unknown(numbers), tokens_kept(self.text_parts, counts, lengths))

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray:
        """Hash the token ids of each example's truncated texts: uint64 [examples]."""
        numbers, _, counts = self._read(examples)
        return combined(self.token_store.hashes(numbers, counts))

    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        numbers, _, counts = self._read(examples)
        starts = self.token_store.starts(numbers)
        for i in range(0, len(batches), TOGETHER):
            several = np.concatenate(batches[i : i + TOGETHER])
            places, slots, lengths = self.frame.layout(starts[:, several], counts[:, several])
            ids, ends = self.token_store.tokens[places], np.cumsum([0, *lengths])
            first = 0
            for batch in batches[i : i + TOGETHER]:
                inputs = slice(first, first := first + len(batch))
                tokens = slice(ends[inputs.start], ends[inputs.stop])
                yield self.pad_slots(ids[tokens], slots[tokens], lengths[inputs])

    def pad_slots(self, ids: np.ndarray, slots: np.ndarray, lengths: np.ndarray) -> dict[str, Tensor]:
        """Return padded token ids, mask and token types: int64 [inputs, width] each.

        ``slots`` are the slots of the ids in :attr:`frame`, and ``lengths`` the number of ids per input: int64.
        """
        batch = self.pad(ids, lengths)
        if self.token_types:
            is_token = batch["attention_mask"].numpy().astype(bool)
            batch["token_type_ids"] = torch.from_numpy(padded(is_token, self.frame.types[slots], 0))
        return batch
