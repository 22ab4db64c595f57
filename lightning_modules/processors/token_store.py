"""Token ids of texts, each tokenised once."""

import os
import tempfile
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from heedful.lightning_modules.processors.fingerprints import hashes, scattered
from heedful.lightning_modules.processors.frame import ranges
from heedful.records import HeedfulError, ModelError, keys, spooling

HASHED = 20  # bits of the tokens that are hashed at once
PIECE = 512  # texts that are tokenised at once; of more, Python collects garbage for longer than they take
ESCAPED, MARKED = 1, 2  # of a text with a special token in it: read as its characters, or by no means


def marks(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """The special tokens of a tokenizer, with their ids; the unknown token is one where it is also another."""
    token_of_role = {**tokenizer.special_tokens_map}
    unknown = token_of_role.pop("unk_token", None)
    shared = unknown in token_of_role.values()
    ids = zip(tokenizer.all_special_tokens, tokenizer.all_special_ids, strict=True)
    return {token: i for token, i in ids if token.strip() and (shared or token != unknown)}


def mark_in(tokenizer: PreTrainedTokenizerBase, text: str) -> str | None:
    """A special token that stands in a text as its characters."""
    return next((token for token in tokenizer.all_special_tokens if token.strip() and token in text), None)


def mark_error(uid: str, mark: str | None) -> HeedfulError:
    """The error about an example that holds a special token."""
    return ModelError(f"{uid} holds {mark!r}, which the model reads as a mark of its own. Change the text.")


def tokenised(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], offsets: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokenise texts without special tokens around them.

    A text is data: where it holds the characters of a special token ("</s>"), it is tokenised again as if that were
    none. Vocabularies of words and pieces may have the special token among them all the same.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        texts: Texts.
        offsets: Whether to say which characters each token stands for.

    Returns:
        The number of tokens of each text, int64 [texts]; the id of each token and, with ``offsets``, its first
        character and the one behind its last, int32 [tokens, 1 or 3]; and of each text :data:`ESCAPED`, :data:`MARKED`
        or 0, uint8 [texts].
    """
    lengths, rows = _rows(tokenizer, texts, offsets)
    states = np.zeros(len(texts), np.uint8)
    special = [*marks(tokenizer).values()]
    held = _holding(special, lengths, rows)
    if (unknown := tokenizer.unk_token) is not None:
        for i in np.flatnonzero(_holding([tokenizer.unk_token_id], lengths, rows)).tolist():
            held[i] |= unknown in texts[i]  # any word that is not known has this id; the mark itself must stand there
    if held.any():
        of_text = np.split(rows, np.cumsum(lengths)[:-1])
        again = np.flatnonzero(held)
        # what stands in the data must not speak as a mark of the model: its characters are read like any others
        new_lengths, others = _rows(tokenizer, [texts[i] for i in again.tolist()], offsets, split_special_tokens=True)
        states[again] = np.where(_holding(special, new_lengths, others), MARKED, ESCAPED)
        for i, other in zip(again.tolist(), np.split(others, np.cumsum(new_lengths)[:-1]), strict=True):
            of_text[i] = other
        lengths[again] = new_lengths
        rows = np.concatenate(of_text)
    return lengths, rows, states


def _rows(
    tokenizer: PreTrainedTokenizerBase, texts: Sequence[str], offsets: bool, **settings: bool
) -> tuple[np.ndarray, np.ndarray]:
    settings |= {"return_attention_mask": False, "return_token_type_ids": False, "verbose": False}
    encoded = tokenizer(list(texts), add_special_tokens=False, return_offsets_mapping=offsets, **settings)
    lengths = np.fromiter(map(len, encoded["input_ids"]), np.int64, len(texts))
    rows = np.empty((lengths.sum(), 3 if offsets else 1), np.int32)
    rows[:, 0] = np.fromiter(chain.from_iterable(encoded["input_ids"]), np.int32, len(rows))
    if offsets:
        flat = chain.from_iterable(chain.from_iterable(encoded["offset_mapping"]))
        rows[:, 1:] = np.fromiter(flat, np.int32, 2 * len(rows)).reshape(-1, 2)
    return lengths, rows


def _holding(ids: Sequence[int], lengths: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Which texts have one of these tokens: bool [texts]."""
    held = np.zeros(len(lengths), dtype=bool)
    held[np.repeat(np.arange(len(lengths)), lengths)[np.isin(rows[:, 0], ids)]] = True
    return held


class TokenStore:
    """Token ids of texts: each text is tokenised once, and its ids are kept in a memory-mapped file, not in memory.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        offsets: Whether to keep, too, which characters each token stands for.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, offsets: bool = False) -> None:
        self.tokenizer = tokenizer
        self.offsets = offsets
        self.unknown_id = -1 if tokenizer.unk_token_id is None else tokenizer.unk_token_id
        self._keys = np.zeros(0, dtype=np.uint64)  # of all texts, sorted
        self._number = np.zeros(0, dtype=np.int32)  # of the text with each key, in the order of adding
        self._starts = np.zeros(1, dtype=np.int64)
        self._unknown = np.zeros(0, dtype=np.int64)  # of the tokens of each text, how many are unknown
        self._hashes = np.zeros(0, dtype=np.uint64)  # of the tokens of each text
        self._states = np.zeros(0, dtype=np.uint8)  # of each text, whether a special token stands in it
        self._ids = np.zeros((0, 3 if offsets else 1), dtype=np.int32)  # id, first character, character behind the last
        self._file = None
        self._owner = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_ids": np.array(self._ids), "_file": None}

    def numbers(self, texts: Sequence[str]) -> np.ndarray:
        """The number of each text, to ask for its ids by; texts that are new are tokenised."""
        wanted = keys(texts)
        place, is_stored = self._find(wanted)
        if not is_stored.all():
            _, first = np.unique(wanted[~is_stored], return_index=True)
            self._add([texts[i] for i in np.flatnonzero(~is_stored)[np.sort(first)]])
            place, _ = self._find(wanted)
        return self._number[place]

    def _find(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        place = np.searchsorted(self._keys, wanted)
        is_stored = place < len(self._keys)
        is_stored[is_stored] = self._keys[place[is_stored]] == wanted[is_stored]
        return place, is_stored

    def _encoded(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As :func:`tokenised`: the rows are those of :attr:`_ids`."""
        return tokenised(self.tokenizer, texts, self.offsets)

    def _add(self, texts: list[str]) -> None:
        pieces = [self._encoded(texts[start : start + PIECE]) for start in range(0, len(texts), PIECE)]
        lengths, ids, states = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
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
        self._hashes = np.concatenate([self._hashes, hashes(scattered(ids[:, 0]), lengths)])
        self._states = np.concatenate([self._states, states])
        self._append(ids)

    def _append(self, ids: np.ndarray) -> None:
        with spooling():
            if self._file is None or self._owner != os.getpid():  # another process has a file of its own
                self._file = tempfile.TemporaryFile(prefix="heedful-")  # noqa: SIM115
                self._owner = os.getpid()
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

    def states(self, numbers: np.ndarray) -> np.ndarray:
        """Of each text :data:`ESCAPED` or :data:`MARKED` where it holds a special token, else 0: uint8."""
        return self._states[numbers]

    def starts(self, numbers: np.ndarray) -> np.ndarray:
        """Where each text begins in :attr:`tokens`: int64 [texts]."""
        return self._starts[numbers]

    def hashes(self, numbers: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The hash of the first tokens of texts (:func:`~heedful.lightning_modules.processors.fingerprints.hashes`).

        Args:
            numbers: int [any shape].
            counts: How many tokens of each: int64 of that shape.

        Returns:
            uint64 of that shape.
        """
        whole_hashes = self._hashes[numbers]
        cut = counts < self.lengths(numbers)
        if cut.any():
            pairs, of = np.unique(numbers[cut].astype(np.int64) << 32 | counts[cut], return_inverse=True)
            first_tokens = pairs & (2**32 - 1)
            ends = np.flatnonzero(np.diff(np.cumsum(first_tokens) >> HASHED)) + 1
            pieces = zip(np.split(self.starts(pairs >> 32), ends), np.split(first_tokens, ends), strict=True)
            each = [hashes(scattered(self.tokens[ranges(starts, counts)]), counts) for starts, counts in pieces]
            whole_hashes[cut] = np.concatenate(each)[of]
        return whole_hashes

    def keys(self, numbers: np.ndarray) -> np.ndarray:
        """The hash of each text as it is written: uint64 [texts]."""
        by_number = np.empty_like(self._keys)
        by_number[self._number] = self._keys
        return by_number[numbers]

    @property
    def tokens(self) -> np.ndarray:
        """The token ids of all texts, one after the other: int32 [tokens]."""
        return self._ids[:, 0]

    def characters(self, number: int) -> np.ndarray:
        """Of each token of a text its first character and the one behind its last: int32 [tokens, 2]."""
        return self._ids[self._starts[number] : self._starts[number + 1], 1:]
