"""Processors turn examples into tensors. They belong to a model family, and know nothing of Lightning."""

from array import array
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from records import Example, Examples, HeedError


class Processor(Protocol):
    """Turns examples into a model's input; picklable.

    Attributes:
        truncated: How many examples of the last call of :meth:`lengths` were truncated.
    """

    truncated: int

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        """Cost of each example, in tokens: int32 [examples]."""
        ...

    def __call__(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Input of the model for these examples; every tensor has them as its first dimension."""
        ...


class TokenStore:
    """Token ids of texts, each text tokenised once and kept as int32 in one flat array."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self.tokenizer = tokenizer
        self._index: dict[str, int] = {}
        self._starts = array("q", [0])
        self._ids = array("i")

    def add(self, texts: Sequence[str], batch: int = 4096) -> None:
        """Tokenise those texts that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self._index]
        for start in range(0, len(new), batch):
            chunk = new[start : start + batch]
            encoded = self.tokenizer(chunk, add_special_tokens=False, return_attention_mask=False, verbose=False)
            for text, ids in zip(chunk, encoded["input_ids"], strict=True):
                self._index[text] = len(self._starts) - 1
                self._ids.extend(ids)
                self._starts.append(len(self._ids))

    def length(self, text: str) -> int:
        """Number of tokens of a text that was added."""
        i = self._index[text]
        return self._starts[i + 1] - self._starts[i]

    def ids(self, text: str, limit: int) -> array:
        """The first ``limit`` token ids of a text that was added."""
        i = self._index[text]
        return self._ids[self._starts[i] : min(self._starts[i + 1], self._starts[i] + limit)]


def share_budget(lengths: Sequence[int], budget: int) -> list[int]:
    """How much of each part to keep so that the sum fits: the longest parts are cut first.

    For two parts the result is that of the "longest_first" truncation of Hugging Face tokenizers.

    Example:
        >>> share_budget([10, 3], 9), share_budget([8, 8], 9), share_budget([2, 3], 9)
        ([6, 3], [4, 5], [2, 3])
    """
    kept = list(lengths)
    order = sorted(range(len(lengths)), key=lambda i: lengths[i])
    for rank, i in enumerate(order):
        kept[i] = min(lengths[i], budget // (len(order) - rank))
        budget -= kept[i]
    return kept


class TextProcessor:
    """Text parts for encoders that read one or two sequences.

    Each text is tokenised once; a pair is put together from the ids of its parts and the special tokens of the
    tokenizer's own template, so that a swapped part costs no second tokenisation. Batches are padded to their longest
    example.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        parts: Names of the parts, in reading order.
        max_length: Most tokens of an input, special tokens included; the longest part is cut first.

    Raises:
        HeedError: More than two parts, a ``max_length`` without room for a token of each part, or a tokenizer whose
            pairs are not its parts side by side.
    """

    PROBES = ("The dog's 2nd walk (today)!", " a", "È vero — 100 %")

    def __init__(self, tokenizer: PreTrainedTokenizerBase, parts: Sequence[str], max_length: int) -> None:
        if not 1 <= len(parts) <= 2:
            raise HeedError(f"An encoder reads one or two parts, and this task has {len(parts)}: {', '.join(parts)}.")
        self.tokenizer, self.parts, self.max_length, self.truncated = tokenizer, tuple(parts), max_length, 0
        self.store = TokenStore(tokenizer)
        self.pad_id = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
        self.token_types = "token_type_ids" in tokenizer.model_input_names
        self._read_template()
        self.budget = max_length - sum(len(ids) for ids, _ in self._special)
        if self.budget < len(parts):
            raise HeedError(f"--model.max_length {max_length} leaves no room for a token of each part.")
        self._check_template()

    def _read_template(self) -> None:
        """Find the special tokens before, between and after the parts, and the token type of every stretch."""
        encoded = self.tokenizer(*["a"] * len(self.parts), return_token_type_ids=True)
        sequence = encoded.sequence_ids(0)
        self._special: list[tuple[list[int], list[int]]] = [([], [])]
        self._part_types: list[int] = []
        for token, type_, part in zip(encoded["input_ids"], encoded["token_type_ids"], sequence, strict=True):
            if part is None:
                self._special[-1][0].append(token)
                self._special[-1][1].append(type_)
            elif part == len(self._part_types):  # the first token of the next part
                self._part_types.append(type_)
                self._special.append(([], []))
        if len(self._part_types) != len(self.parts):
            raise HeedError(
                f"The tokenizer {type(self.tokenizer).__name__} does not keep {len(self.parts)} parts apart."
            )

    def _check_template(self) -> None:
        for first in self.PROBES:
            for second in self.PROBES:
                texts = [first, second][: len(self.parts)]
                self.store.add(texts)
                ids, types = self._splice([self.store.ids(t, 10**9) for t in texts])
                encoded = self.tokenizer(*texts, return_token_type_ids=True)
                if [ids, types] != [encoded["input_ids"], encoded["token_type_ids"]]:
                    raise HeedError(
                        f"The tokenizer {type(self.tokenizer).__name__} encodes a pair differently from its parts: "
                        "it cannot be used as an encoder here."
                    )

    def _splice(self, parts: Sequence[array]) -> tuple[list[int], list[int]]:
        ids, types = list(self._special[0][0]), list(self._special[0][1])
        for part, type_, (special, special_types) in zip(parts, self._part_types, self._special[1:], strict=True):
            ids += [*part, *special]
            types += [type_] * len(part) + special_types
        return ids, types

    def _columns(self, examples: Sequence[Example]) -> list[list[str]]:
        if isinstance(examples, Examples):
            columns = [list(examples.column(f"parts.{part}")) for part in self.parts]
        else:
            columns = [[example.parts[part] for example in examples] for part in self.parts]
        for column in columns:
            self.store.add(column)
        return columns

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        columns = self._columns(examples)
        tokens = np.zeros(len(examples), dtype=np.int32)
        for column in columns:
            tokens += np.fromiter(map(self.store.length, column), dtype=np.int32, count=len(column))
        self.truncated = int((tokens > self.budget).sum())
        return np.minimum(tokens, self.budget) + np.int32(self.max_length - self.budget)

    def __call__(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        spliced = []
        for texts in zip(*self._columns(examples), strict=True):
            kept = share_budget([self.store.length(text) for text in texts], self.budget)
            spliced.append(self._splice([self.store.ids(t, n) for t, n in zip(texts, kept, strict=True)]))
        shape = len(spliced), max((len(ids) for ids, _ in spliced), default=0)
        input_ids = np.full(shape, self.pad_id, dtype=np.int64)
        mask, types = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        for row, (ids, token_types) in enumerate(spliced):
            input_ids[row, : len(ids)], types[row, : len(ids)], mask[row, : len(ids)] = ids, token_types, 1
        batch = {"input_ids": input_ids, "attention_mask": mask}
        if self.token_types:
            batch["token_type_ids"] = types
        return {name: torch.from_numpy(values) for name, values in batch.items()}
