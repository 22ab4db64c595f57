"""A store of token ids, in which each distinct text is tokenised once."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from heedful.records import digests, keys

PIECE = 512  # texts per call of the tokenizer; with more, garbage collection takes longer than tokenisation


def plain_tokenizer(
    tokenizer: PreTrainedTokenizerBase, offsets: bool = False
) -> Callable[[list[str]], Mapping[str, Any]]:
    """Return a function that tokenises texts without special tokens: "</s>" in a text is ordinary text."""
    settings = {"add_special_tokens": False, "split_special_tokens": True, "return_offsets_mapping": offsets}
    return partial(tokenizer, **settings, return_attention_mask=False, return_token_type_ids=False, verbose=False)


class TokenStore:
    """Stores the token ids of numbered texts in one array. Each distinct text is tokenised once.

    Args:
        encode: Maps texts to ``input_ids`` and, with ``offsets``, ``offset_mapping``.
        unknown_id: Id of the unknown token; None without one.
        first: Ids at the start of the store.
        offsets: Whether to store the characters of tokens.
    """

    def __init__(
        self,
        encode: Callable[[list[str]], Mapping[str, Any]],
        unknown_id: int | None,
        first: Sequence[int] = (),
        offsets: bool = False,
    ) -> None:
        self._encode = encode
        self._unknown_id = -1 if unknown_id is None else unknown_id
        self._keys = np.array([2**64 - 1], dtype=np.uint64)  # hashes of all texts, sorted; the last entry is a sentinel
        self._number = np.array([-1], dtype=np.int32)  # number of a text, in the order of the keys
        self._starts = np.array([len(first)])
        self._unknown = np.zeros(0, dtype=np.int64)  # number of unknown tokens per text
        self._hashes = np.zeros(0, dtype=np.uint64)  # hash of the ids per text
        self._rows = np.zeros((len(first), 3 if offsets else 1), dtype=np.int32)  # ids, characters; free rows
        self._rows[:, 0] = first

    def numbers(self, texts: Sequence[str]) -> np.ndarray:
        """Return the index of each text in the store: int32 [texts]; new texts are tokenised and stored."""
        wanted = keys(texts)
        is_new = self._keys[np.searchsorted(self._keys, wanted)] != wanted
        if is_new.any():
            new, first = np.unique(wanted[is_new], return_index=True)
            self._add([texts[i] for i in np.flatnonzero(is_new)[first]])
            at = np.searchsorted(self._keys, new)
            self._number = np.insert(self._number, at, np.arange(len(self._keys) - 1, len(self._keys) - 1 + len(new)))
            self._keys = np.insert(self._keys, at, new)
        return self._number[np.searchsorted(self._keys, wanted)]

    def _add(self, texts: list[str]) -> None:
        pieces = [self._encoded(texts[start : start + PIECE]) for start in range(0, len(texts), PIECE)]
        lengths, rows = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        is_unknown = rows[:, 0] == self._unknown_id
        unknown = np.bincount(np.repeat(np.arange(len(texts)), lengths)[is_unknown], minlength=len(texts))
        for i in np.flatnonzero(lengths == 0):  # a byte-level tokenizer without vocabulary drops all text
            unknown[i] = bool(texts[i].strip())
        data = rows[:, 0].tobytes()
        ends = np.cumsum(lengths)
        hashes = digests(data[4 * start : 4 * stop] for start, stop in pairwise([0, *ends.tolist()]))
        end = self._starts[-1]
        if end + len(rows) > len(self._rows):  # doubling makes the time of adding texts linear in their number
            self._rows = np.concatenate([self._rows[:end], np.empty((end + len(rows), rows.shape[1]), np.int32)])
        self._rows[end : end + len(rows)] = rows
        self._starts = np.concatenate([self._starts, end + ends])
        self._unknown = np.concatenate([self._unknown, unknown])
        self._hashes = np.concatenate([self._hashes, hashes])

    def _encoded(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of tokens per text, and a row per token: its id and, with ``offsets``, its characters."""
        encoded = self._encode(texts)
        lengths = np.fromiter(map(len, encoded["input_ids"]), np.int64, len(texts))
        rows = np.empty((lengths.sum(), self._rows.shape[1]), np.int32)
        rows[:, 0] = np.fromiter(chain.from_iterable(encoded["input_ids"]), np.int32, len(rows))
        if rows.shape[1] > 1:
            flat = chain.from_iterable(chain.from_iterable(encoded["offset_mapping"]))
            rows[:, 1:] = np.fromiter(flat, np.int32, 2 * len(rows)).reshape(-1, 2)
        return lengths, rows

    def lengths(self, numbers: np.ndarray) -> np.ndarray:
        """Return the number of tokens per text, given the numbers of texts: int64, same shape as ``numbers``."""
        return self._starts[numbers + 1] - self._starts[numbers]

    def starts(self, numbers: np.ndarray) -> np.ndarray:
        """Return the index of each text's first token in :attr:`tokens`: int64, same shape as ``numbers``."""
        return self._starts[numbers]

    def unknown(self, numbers: np.ndarray) -> float:
        """Return the share of unknown tokens in texts; a text that loses all tokens counts as one unknown token."""
        unknown = self._unknown[numbers]
        return float(unknown.sum() / max(1, np.maximum(self.lengths(numbers), unknown).sum()))

    def hashes(self, numbers: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Hash the first ``counts`` tokens of texts: uint64, same shape as ``numbers``, the same in all processes."""
        hashes = self._hashes[numbers]
        cut = counts < self.lengths(numbers)
        if cut.any():
            pairs, place = np.unique(numbers[cut].astype(np.int64) << 32 | counts[cut], return_inverse=True)
            starts = self._starts[pairs >> 32].tolist()
            pieces = zip(starts, (pairs & (2**32 - 1)).tolist(), strict=True)
            hashes[cut] = digests(self._rows[start : start + n, 0].tobytes() for start, n in pieces)[place]
        return hashes

    @property
    def tokens(self) -> np.ndarray:
        """The token ids of all texts, one after the other, followed by free places: int32 [capacity]."""
        return self._rows[:, 0]

    @property
    def characters(self) -> np.ndarray:
        """Positions of the first character of each token and of the character after its last: int32 [capacity, 2]."""
        return self._rows[:, 1:]
