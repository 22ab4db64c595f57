"""Processors turn examples into tensors. They belong to a model family, and know nothing of Lightning."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from records import BATCH, Example, HeedError, Part, TableForm, keys, spooling


class Processor(Protocol):
    """Turns examples into a model's input; picklable.

    Attributes:
        truncated: How many examples of the last call of :meth:`lengths` were truncated.
        unknown: Which share of their tokens the tokenizer does not know.
    """

    truncated: int
    unknown: float

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        """Cost of each example, in tokens: int32 [examples]."""
        ...

    def __call__(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        """Input of the model for these examples; every tensor has them as its first dimension."""
        ...


class TokenStore:
    """Token ids of texts: each text is tokenised once, and its ids are kept in a memory-mapped file, not in memory.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        offsets: Whether to keep, too, which characters each token stands for.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, offsets: bool = False) -> None:
        self.tokenizer, self.offsets = tokenizer, offsets
        self.unknown_id = -1 if tokenizer.unk_token_id is None else tokenizer.unk_token_id
        self._keys = np.zeros(0, dtype=np.uint64)  # of all texts, sorted
        self._number = np.zeros(0, dtype=np.int32)  # of the text with each key, in the order of adding
        self._starts = np.zeros(1, dtype=np.int64)
        self._unknown = np.zeros(0, dtype=np.int64)  # of the tokens of each text, how many are unknown
        self._ids = np.zeros((0, 3 if offsets else 1), dtype=np.int32)  # id, first character, character behind the last
        self._file, self._owner = None, os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_ids": np.array(self._ids), "_file": None}

    def numbers(self, texts: Sequence[str]) -> np.ndarray:
        """The number of each text, to ask for its ids by; texts that are new are tokenised."""
        wanted = keys(texts)
        place, known = self._find(wanted)
        if not known.all():
            _, first = np.unique(wanted[~known], return_index=True)
            self._add([texts[i] for i in np.flatnonzero(~known)[np.sort(first)]])
            place, _ = self._find(wanted)
        return self._number[place]

    def _find(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place = np.searchsorted(self._keys, wanted)
        known = place < len(self._keys)
        known[known] = self._keys[place[known]] == wanted[known]
        return place, known

    def _add(self, texts: list[str]) -> None:
        settings = {"return_attention_mask": False, "return_offsets_mapping": self.offsets, "verbose": False}
        encoded = self.tokenizer(texts, add_special_tokens=False, **settings)
        lengths = np.fromiter(map(len, encoded["input_ids"]), np.int64, len(texts))
        ids = np.empty((lengths.sum(), self._ids.shape[1]), np.int32)
        ids[:, 0] = np.fromiter(chain.from_iterable(encoded["input_ids"]), np.int32, len(ids))
        if self.offsets:
            flat = chain.from_iterable(chain.from_iterable(encoded["offset_mapping"]))
            ids[:, 1:] = np.fromiter(flat, np.int32, 2 * len(ids)).reshape(-1, 2)
        added = keys(texts)
        order = np.argsort(added)
        at = np.searchsorted(self._keys, added[order])
        self._keys = np.insert(self._keys, at, added[order])
        self._number = np.insert(self._number, at, (len(self._number) + order).astype(np.int32))
        self._starts = np.concatenate([self._starts, self._starts[-1] + np.cumsum(lengths)])
        ends = np.cumsum(lengths)
        unknown = np.concatenate([[0], np.cumsum(ids[:, 0] == self.unknown_id)])
        unknown = unknown[ends] - unknown[ends - lengths]
        for i in np.flatnonzero(lengths == 0):  # an empty vocabulary of bytes says nothing of what it does not know
            unknown[i] = bool(texts[i].strip())
        self._unknown = np.concatenate([self._unknown, unknown])
        self._append(ids)

    def _append(self, ids: np.ndarray) -> None:
        with spooling():
            if self._file is None or self._owner != os.getpid():  # another process has a file of its own
                self._file, self._owner = tempfile.TemporaryFile(prefix="heed-"), os.getpid()  # noqa: SIM115
                ids = np.concatenate([self._ids, ids])
            self._file.seek(0, os.SEEK_END)
            self._file.write(ids)  # numpy's tofile may say nothing of a full disk
            self._file.flush()
        width = self._ids.shape[1]
        if size := self._file.tell() // (4 * width):
            self._ids = np.memmap(self._file, np.int32, "r", shape=(size, width)).view(np.ndarray)

    def lengths(self, numbers: np.ndarray) -> np.ndarray:
        """Number of tokens of each text: int64 [texts]."""
        return self._starts[numbers + 1] - self._starts[numbers]

    def unknown(self, numbers: np.ndarray) -> float:
        """The share of unknown tokens in texts; one that is encoded to nothing counts as one of them."""
        unknown = self._unknown[numbers]
        return float(unknown.sum() / max(1, np.maximum(self.lengths(numbers), unknown).sum()))

    def ids(self, number: int, limit: int) -> np.ndarray:
        """The first ``limit`` token ids of a text: int32 [tokens]."""
        start = self._starts[number]
        return self._ids[start : min(self._starts[number + 1], start + limit), 0]

    def characters(self, number: int) -> np.ndarray:
        """Of each token of a text its first character and the one behind its last: int32 [tokens, 2]."""
        return self._ids[self._starts[number] : self._starts[number + 1], 1:]


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


def columns(examples: Sequence[Example], parts: Sequence[str]) -> list[Iterator[Part]]:
    """Each of these parts of all examples; of a pool, no example need be made."""
    if hasattr(examples, "column"):
        return [examples.column(f"parts.{part}") for part in parts]
    return [map(itemgetter(part), (example.parts for example in examples)) for part in parts]


class TextProcessor:
    """Text parts for encoders that read one or two sequences.

    Each text is tokenised once; a pair is put together from the ids of its parts and the special tokens of the
    tokenizer's own template, so that a swapped part costs no second tokenisation. Batches are padded to their longest
    example.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        parts: Names of the parts, in reading order.
        max_length: Most tokens of an input, special tokens included; the longest part is cut first.
        form: How tables are put into words.

    Raises:
        HeedError: More than two parts, a ``max_length`` without room for a token of each part, or a tokenizer whose
            pairs are not its parts side by side.
    """

    PROBES = ("The dog's 2nd walk (today)!", " a", "È vero — 100 %")
    REFUSAL = "The tokenizer {} encodes a pair differently from its parts: it cannot be used as an encoder here."
    offsets = False  # whether it must be known which characters a token stands for

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        parts: Sequence[str],
        max_length: int,
        form: TableForm | None = None,
    ) -> None:
        self.tokenizer, self.parts, self.max_length = tokenizer, tuple(parts), max_length
        self.form = form or TableForm()
        self.truncated, self.unknown = 0, 0.0
        self.store = TokenStore(tokenizer, self.offsets)
        self.pad_id = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
        self.token_types = "token_type_ids" in tokenizer.model_input_names
        self._read_template()
        self.budget = max_length - sum(len(ids) for ids, _ in self._special)
        if self.budget < len(parts):
            raise HeedError(f"§model.max_length {max_length} leaves no room for a token of each part.")
        self._check_template()

    def _read_template(self) -> None:
        """Find the special tokens before, between and after the parts, and the token type of every stretch."""
        if not 1 <= len(self.parts) <= 2:
            raise HeedError(
                f"An encoder reads one or two parts, and this task has {len(self.parts)}: {', '.join(self.parts)}."
            )
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
        for texts in self._probes():
            lengths = self.store.lengths(numbers := self.store.numbers(self._texts(texts)))
            row = np.zeros((2, sum(lengths) + self.max_length - self.budget), dtype=np.int64)
            self._splice([self.store.ids(*pair) for pair in zip(numbers, lengths, strict=True)], *row)
            encoded = self.tokenizer(*self._whole(texts), return_token_type_ids=True)
            if row.tolist() != [encoded["input_ids"], encoded["token_type_ids"]]:
                raise HeedError(self.REFUSAL.format(type(self.tokenizer).__name__))

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

    def _splice(self, parts: Sequence[np.ndarray], ids: np.ndarray, types: np.ndarray) -> int:
        """Write token ids and token types of an input into the start of two rows; returns its length."""
        end = 0
        for values, type_ in self._stretches(parts):
            start, end = end, end + len(values)
            ids[start:end], types[start:end] = values, type_
        return end

    def _stretches(self, parts: Sequence[np.ndarray]) -> Iterator[tuple[np.ndarray | list[int], int | list[int]]]:
        yield self._special[0]
        for part, type_, special in zip(parts, self._part_types, self._special[1:], strict=True):
            yield part, type_
            yield special

    def _numbers(self, examples: Sequence[Example]) -> np.ndarray:
        """Number of the text of each part: int32 [parts, examples]."""
        rows = zip(*columns(examples, self.parts), strict=True)
        found = [np.zeros((len(self.parts), 0), dtype=np.int32)]
        while texts := [self._texts(parts) for parts in islice(rows, BATCH)]:
            numbers = self.store.numbers(list(chain.from_iterable(texts)))
            found.append(numbers.reshape(len(texts), len(self.parts)).T)
        return np.concatenate(found, axis=1)

    def _texts(self, parts: Sequence[Part]) -> Sequence[str]:
        """The parts of an example as text."""
        texts = [part for part in parts if isinstance(part, str)]
        if len(texts) == len(parts):
            return parts
        return [part if isinstance(part, str) else self.form.text(part, texts) for part in parts]

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        numbers = self._numbers(examples)
        self.unknown = self.store.unknown(numbers)
        tokens = self.store.lengths(numbers).sum(axis=0).astype(np.int32)
        self.truncated = int((tokens > self.budget).sum())
        return np.minimum(tokens, self.budget) + np.int32(self.max_length - self.budget)

    def __call__(self, examples: Sequence[Example]) -> dict[str, Tensor]:
        numbers = self._numbers(examples).T
        kept = [share_budget(lengths, self.budget) for lengths in self.store.lengths(numbers).tolist()]
        pairs = (zip(*row, strict=True) for row in zip(numbers.tolist(), kept, strict=True))
        return self._batch([[self.store.ids(*pair) for pair in row] for row in pairs])

    def _batch(self, rows: Sequence[Sequence[np.ndarray]]) -> dict[str, Tensor]:
        """Padded inputs from the token ids of the parts of each: int64 [inputs, tokens]."""
        special = self.max_length - self.budget
        width = special + max((sum(map(len, parts)) for parts in rows), default=-special)
        ids = np.full((len(rows), width), self.pad_id, dtype=np.int64)
        types, mask = np.zeros_like(ids), np.zeros_like(ids)
        for row, parts in enumerate(rows):
            mask[row, : self._splice(parts, ids[row], types[row])] = 1
        batch = {"input_ids": ids, "attention_mask": mask} | ({"token_type_ids": types} if self.token_types else {})
        return {name: torch.from_numpy(values) for name, values in batch.items()}
