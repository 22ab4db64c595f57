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
from heedful.lightning_modules.processors.processor import NumberProcessor, Statistics, combined, kept_of
from heedful.lightning_modules.processors.token_store import TokenStore, plain_tokenizer
from heedful.records import BATCH, Composed, Example, ModelError, Part, TableForm, column

TOGETHER = 2048  # inputs whose tokens are gathered at once, for several batches


class TextProcessor(NumberProcessor):
    """Encodes one or two text parts.

    Each distinct text is tokenised once. A pair is the concatenation of the ids of its parts and of special tokens, so
    that a swapped part is not tokenised again. Batches are padded to their longest example.

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
            raise ModelError(
                f"model.max_length {max_length} leaves no room for the parts: {self.frame.size} tokens are around "
                f"them. {self.room}"
            )
        n = len(self.PROBES)
        if not all(map(self._is_right, ([self.PROBES[(k + i) % n] for i in range(len(parts))] for k in range(n)))):
            raise ModelError(
                f"The tokenizer {type(tokenizer).__name__} reads a whole otherwise than its parts. Take another model."
            )

    def new_store(self, offsets: bool) -> TokenStore:
        """Return an empty store of token ids that begins with the frame tokens, which surround the texts."""
        return TokenStore(
            plain_tokenizer(self.tokenizer, offsets), self.tokenizer.unk_token_id, self.frame.ids, offsets
        )

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
        """Whether the processor encodes an example as the tokenizer does.

        The processor encodes the text of each part alone, and joins the tokens with the frame tokens (tokens outside
        the parts). The tokenizer encodes all parts in one call. Both must give the same token ids and token types.
        """
        encoded = self.tokenizer(*self._whole(texts), return_token_type_ids=True)
        numbers = self.token_store.numbers(self.texts(texts))[:, None]
        if self.frame.behind.max(initial=-1) + 1 != len(numbers):  # the vocabulary is empty
            return False
        places, slots, _ = self.frame.layout(self.token_store.starts(numbers), self.token_store.lengths(numbers))
        ids = self.token_store.tokens[places].tolist()
        return (ids, self.frame.types[slots].tolist()) == (encoded["input_ids"], encoded["token_type_ids"])

    def _whole(self, texts: Sequence[str]) -> Sequence[str]:
        """Return the arguments of a single tokenizer call that encodes a whole input; here, ``texts`` unchanged.

        ``texts`` holds the text of each part. A subclass with a template returns one text, the filled template.
        """
        return texts

    def _gathered(self, examples: Composed) -> np.ndarray:
        numbers = super()._gathered(examples)
        changed = np.flatnonzero(examples.borrowed)
        if len(changed) and self.form.keep is not None and examples.pool.tables:
            # which rows of a table are read depends on the other text
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
        """Return the texts to tokenise for the parts of an example; a table is converted to text."""
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts):
            return parts
        return [part if isinstance(part, str) else self.form.text(part, texts) for part in parts]

    def text_numbers(self, examples: Sequence[Example]) -> np.ndarray:
        """Return, for each text of each example, its index in the token store: int32 [texts, examples]."""
        return self.numbers(examples)[: len(self.text_parts)]

    def truncate(self, lengths: np.ndarray) -> np.ndarray:
        """Convert the number of tokens per text to the number after truncation: int64 [texts, examples]."""
        return share_budget(lengths, self.budget)

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        counts = self.truncate(self.token_store.lengths(self.text_numbers(examples)))
        return (counts.sum(axis=0) + self.frame.size).astype(np.int32)

    def statistics(self, examples: Sequence[Example]) -> Statistics:
        numbers = self.text_numbers(examples)
        lengths = self.token_store.lengths(numbers)
        counts = self.truncate(lengths)
        truncated = int((counts < lengths).any(axis=0).sum())
        unknown = self.token_store.unknown(numbers)
        return Statistics(truncated, unknown, kept_of(self.text_parts, counts, lengths))

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray:
        """Hash the token ids of each example's truncated texts: uint64 [examples].

        The tokens around the texts are the same for all examples.
        """
        numbers = self.text_numbers(examples)
        return combined(self.token_store.hashes(numbers, self.truncate(self.token_store.lengths(numbers))))

    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        numbers = self.text_numbers(examples)
        starts = self.token_store.starts(numbers)
        counts = self.truncate(self.token_store.lengths(numbers))
        step = max(1, TOGETHER // max(1, max(map(len, batches), default=1)))
        for several in (batches[k : k + step] for k in range(0, len(batches), step)):
            rows = np.concatenate(several)
            places, slots, lengths = self.frame.layout(starts[:, rows], counts[:, rows])
            inputs = np.cumsum([len(batch) for batch in several])[:-1]
            tokens = np.concatenate([[0], np.cumsum(lengths)])[inputs]
            pieces = (self.token_store.tokens[places], tokens), (slots, tokens), (lengths, inputs)
            for batch in zip(*(np.split(values, ends) for values, ends in pieces), strict=True):
                yield self.padded(*batch)

    def is_token(self, lengths: np.ndarray) -> np.ndarray:
        """Return a mask for inputs with given numbers of tokens, False for padding: bool [inputs, width].

        The width is a multiple of ``pad_to``, up to the longest input of the model.
        """
        longest = int(lengths.max(initial=0))
        width = max(longest, min(-(-longest // self.pad_to) * self.pad_to, self.max_length))
        place = np.arange(width)
        return place >= width - lengths[:, None] if self.pads_left else place < lengths[:, None]

    def padded(self, ids: np.ndarray, slots: np.ndarray, lengths: np.ndarray) -> dict[str, Tensor]:
        """Return the input tensors of the model, padded: token ids, mask and token types, int64 [inputs, width] each.

        Args:
            ids: int [tokens of all inputs], one input after the other.
            slots: int64 [tokens of all inputs], the index of the token's slot in :attr:`frame`, the layout of an input.
                A slot is a place for one part or for one token around the parts. The slot determines the token type.
            lengths: int64 [inputs], the number of tokens per input.
        """
        is_token = self.is_token(lengths)
        batch = {"input_ids": padded(is_token, ids, self.pad_id), "attention_mask": is_token.astype(np.int64)}
        if self.token_types:
            batch["token_type_ids"] = padded(is_token, self.frame.types[slots], 0)
        return {name: torch.from_numpy(values) for name, values in batch.items()}
