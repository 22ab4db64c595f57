"""Batches of padded token ids, put together from stored ones: many batches in one step, and no Python for a row."""

from collections.abc import Iterator, Sequence

import numpy as np

from heedful.lightning_modules.processors.fingerprints import hashes, powers, scattered

Stretch = tuple[Sequence[int], Sequence[int]]  # token ids and their token types
GROUP = 2**16  # padded tokens of the batches that are put together at once


def share_budget(lengths: np.ndarray, budget: int) -> np.ndarray:
    """How much of each part to keep so that the sum fits: the longest parts are cut first.

    For two parts the result is that of the "longest_first" truncation of Hugging Face tokenizers.

    Args:
        lengths: int64 [parts, examples].
        budget: Most tokens of the parts of an example together.

    Returns:
        int64 [parts, examples].

    Example:
        >>> share_budget(np.array([[10, 8, 2], [3, 8, 3]]), 9).tolist()
        [[6, 4, 2], [3, 5, 3]]
    """
    counts = lengths.copy()
    long = np.flatnonzero(lengths.sum(axis=0) > budget)
    rest = np.full(len(long), budget)
    for rank, part in enumerate(np.argsort(lengths[:, long], axis=0, kind="stable")):
        counts[part, long] = np.minimum(lengths[part, long], rest // (len(lengths) - rank))
        rest -= counts[part, long]
    return counts


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The numbers start, start + 1, ... of each range, one range after the other: int64.

    Example:
        >>> ranges(np.array([5, 0]), np.array([2, 3])).tolist()
        [5, 6, 0, 1, 2]
    """
    return np.repeat(starts - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())


class Frame:
    """The tokens around the parts of an input: special ones, and the words of a template.

    Args:
        stretches: What stands before, between and after the parts: one more than there are parts.
        part_types: The token type of each part.
        pad_id: The token id of padding.
        pads_left: Whether padding stands in front.

    Attributes:
        around: int64 [pieces], the ids of the frame's tokens in their order, with a 0 for each part, and the padding.
        behind: int64 [pieces], the part that each token of the frame stands behind; -1 before the first, and for pieces
            that are no such token.
    """

    def __init__(
        self, stretches: Sequence[Stretch], part_types: Sequence[int], pad_id: int, pads_left: bool = False
    ) -> None:
        self.sizes = [len(ids) for ids, _ in stretches]
        self.size = sum(self.sizes)
        ids = []
        types = []
        behind = []
        self._part_pieces = []
        self._part_types = _weights(part_types)
        self._hashes = [
            hashes(scattered(np.array(ids)) * _weights(types), np.array([len(ids)])) for ids, types in stretches
        ]
        for i, (tokens, token_types) in enumerate(stretches):
            ids = [*ids, *tokens]
            types = [*types, *token_types]
            behind = [*behind, *[i - 1] * len(tokens)]
            if i < len(part_types):
                self._part_pieces.append(len(ids))
                ids = [*ids, 0]
                types = [*types, part_types[i]]
                behind = [*behind, -1]
        mask = [1] * len(ids)
        self._padding = 0 if pads_left else len(ids)  # which piece it is
        for pieces, padding in ((ids, pad_id), (types, 0), (behind, -1), (mask, 0)):
            pieces.insert(self._padding, padding)
        self._part_pieces = [piece + pads_left for piece in self._part_pieces]
        self.around = np.array(ids, np.int64)
        self._types = np.array(types, np.int64)
        self.behind = np.array(behind, np.int64)
        self._mask = np.array(mask, np.int64)

    def fingerprints(self, parts: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The hash of each input, of its token ids and types in their order, without padding.

        Args:
            parts: uint64 [parts, inputs], the hash of the ids of each part.
            counts: int64 [parts, inputs], how many tokens of it.

        Returns:
            uint64 [inputs].
        """
        factors = powers(int(counts.sum(axis=0).max(initial=0)) + self.size + 1)
        place = np.zeros(counts.shape[1], dtype=np.int64)
        sums = np.zeros(counts.shape[1], dtype=np.uint64)
        for i, stretch in enumerate(self._hashes):
            sums += stretch * factors[place]
            place += self.sizes[i]
            if i < len(parts):
                sums += self._part_types[i] * parts[i] * factors[place]
                place += counts[i]
        return sums

    def batches(
        self,
        tokens: np.ndarray,
        starts: np.ndarray,
        counts: np.ndarray,
        batches: Sequence[np.ndarray],
        pad_to: int = 1,
        most: int = 0,
        around: np.ndarray | None = None,
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Token ids, masks and token types of each batch, padded to its longest input: int64 [inputs, tokens] each.

        Args:
            tokens: int32 [tokens], where the parts are cut from.
            starts: int64 [parts, inputs], the first token of each part.
            counts: int64 [parts, inputs], how many tokens of it.
            batches: The inputs of each batch.
            pad_to: What the width of a batch is a multiple of.
            most: Where the next multiple is wider than this, the width is this, or that of the longest input.
            around: int64 [inputs, pieces], other tokens of the frame for each input.
        """
        lengths = counts.sum(axis=0) + self.size
        group: list[np.ndarray] = []
        widths: list[int] = []
        padded = 0
        for batch in batches:
            width = int(lengths[batch].max(initial=0))
            width = max(width, min(-(-width // pad_to) * pad_to, most))
            if group and padded + width * len(batch) > GROUP:
                yield from self._group(tokens, starts, counts, group, widths, around)
                group = []
                widths = []
                padded = 0
            group.append(batch)
            widths.append(width)
            padded += width * len(batch)
        if group:
            yield from self._group(tokens, starts, counts, group, widths, around)

    def _group(
        self,
        tokens: np.ndarray,
        starts: np.ndarray,
        counts: np.ndarray,
        batches: Sequence[np.ndarray],
        widths: Sequence[int],
        around: np.ndarray | None,
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """As :meth:`batches`, for batches that are put together in one step."""
        sizes = [len(batch) for batch in batches]
        rows = np.concatenate(batches)
        starts = starts[:, rows].T
        counts = counts[:, rows].T
        lengths = counts.sum(axis=1) + self.size
        width = np.repeat(widths, sizes)
        # of an input a piece for each token of the frame, for each part, and for the padding
        pieces = np.ones((len(rows), len(self.around)), dtype=np.int64)
        pieces[:, self._part_pieces] = counts
        pieces[:, self._padding] = width - lengths
        ends = np.cumsum(pieces).reshape(pieces.shape)
        around = np.tile(self.around, len(rows)) if around is None else around[rows].ravel()
        types = np.tile(self._types, len(rows))
        mask = np.tile(self._mask, len(rows))
        ids = np.repeat(around, pieces.ravel())
        types = np.repeat(types, pieces.ravel())
        mask = np.repeat(mask, pieces.ravel())
        places = (ends - pieces)[:, self._part_pieces].ravel()
        counts = counts.ravel()
        ids[ranges(places, counts)] = tokens[ranges(starts.ravel(), counts)]
        for size, w, end in zip(sizes, widths, np.cumsum(np.multiply(sizes, widths)).tolist(), strict=True):
            yield tuple(values[end - size * w : end].reshape(size, w) for values in (ids, mask, types))


def _weights(types: Sequence[int]) -> np.ndarray:
    """By what a hash tells token types apart: uint64 [types], odd."""
    return scattered(np.array(types, dtype=np.int64)) | np.uint64(1)
