"""Inputs in which words are hidden: masks in token ids, part by part, so that nothing crosses from one to the next."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Protocol

import numpy as np
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from heedful.lightning_modules.processors.frame import Frame, ranges, share_budget
from heedful.lightning_modules.processors.token_store import tokenised
from heedful.records import Example, ModelError, Part, column
from heedful.records.parts.words import word_spans

SENTINEL = "<extra_id_0>"  # what a T5 was trained to read in place of hidden words


class TextInputs(Protocol):
    """The processor whose inputs have words hidden."""

    tokenizer: PreTrainedTokenizerBase
    parts: tuple[str, ...]
    frame: Frame
    budget: int

    def texts(self, parts: Sequence[Part]) -> Sequence[str]: ...

    def framed(
        self,
        tokens: np.ndarray,
        starts: np.ndarray,
        counts: np.ndarray,
        batches: Sequence[np.ndarray],
        around: np.ndarray | None = None,
    ) -> Iterator[dict[str, Tensor]]: ...


class HiddenWords:
    """Some examples, their features, and the inputs in which some of these are hidden.

    The features of an example are, part by part, the words of the part and the separator behind it: the special tokens
    there, or words of a template. A hidden feature is hidden in all of its tokens. A token of several words, such as a
    byte pair of two signs, is hidden with any of them. Tokens that the model does not read, since the example is too
    long, are never there; their words are features without effect.

    Args:
        processor: Of the model.
        examples: The examples, whose parts are texts or tables.
        parts: In which order their features stand; by default the one in which the model reads them.
        delete: Whether hidden words are left out of the input; otherwise the mask token stands in place of each of
            their tokens. A hidden separator is always masked.

    Raises:
        HeedfulError: The tokenizer has no token that can stand for a hidden one.

    Attributes:
        parts: Names of the parts, in the order of the features.
        words: Of each example the words of each part.
        separators: What stands behind each part, as text.
        truncated: Which examples are longer than the model reads: bool [examples].
    """

    def __init__(
        self, processor: TextInputs, examples: Sequence[Example], parts: Sequence[str] = (), delete: bool = False
    ) -> None:
        self.processor = processor
        self.delete = delete
        self.parts = tuple(parts) or processor.parts
        self._segment = [self.parts.index(part) for part in processor.parts]  # of each part that the model reads
        self.mask_id = mask_id(processor.tokenizer)
        columns = [column(examples, f"parts.{part}") for part in processor.parts]
        texts = [processor.texts(parts) for parts in zip(*columns, strict=True)]
        spans = [[word_spans(text) for text in several] for several in texts]
        frame = processor.frame
        decode = processor.tokenizer.decode
        order = np.argsort(self._segment).tolist()
        self.words = []
        for several, of in zip(texts, spans, strict=True):
            self.words.append([[several[q][start:end] for start, end in of[q].tolist()] for q in order])
        self.separators = [decode(frame.around[frame.behind == q].tolist()).strip() for q in order]
        # the first feature of each part of each example, then how many there are: int64 [parts + 1, examples]
        sizes = np.array([[len(own) + 1 for own in of] for of in self.words], dtype=np.int64).reshape(-1, len(order)).T
        self._columns = np.concatenate([np.zeros((1, len(texts)), dtype=np.int64), np.cumsum(sizes, axis=0)])
        self._tokenise(list(chain.from_iterable(texts)), list(chain.from_iterable(spans)))

    def _tokenise(self, texts: list[str], spans: list[np.ndarray]) -> None:
        """Keep the tokens of all texts, one after the other, and which words each token stands for."""
        lengths, rows, _ = tokenised(self.processor.tokenizer, texts, offsets=True)
        self._tokens = rows[:, 0].astype(np.int64)
        offsets = np.split(rows[:, 1:].astype(np.int64), np.cumsum(lengths)[:-1]) if texts else []
        words = [_words_of_tokens(own, of) for own, of in zip(offsets, spans, strict=True)]
        self._first, self._last = np.concatenate(words, axis=1) if words else np.zeros((2, 0), dtype=np.int64)
        shape = -1, len(self.parts)
        self._starts = (np.cumsum(lengths) - lengths).reshape(shape).T
        counts = lengths.reshape(shape).T
        self._counts = share_budget(counts, self.processor.budget)
        self.truncated = counts.sum(axis=0) > self.processor.budget

    def __len__(self) -> int:
        return len(self.words)

    @property
    def features(self) -> np.ndarray:
        """The number of features of each example: int64 [examples]."""
        return self._columns[-1]

    @property
    def segments(self) -> np.ndarray:
        """The number of features of each part of each example, with its separator: int64 [parts, examples]."""
        return np.diff(self._columns, axis=0)

    def _hidden(self, examples: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The tokens of inputs, where each part of each begins, and how many tokens it has.

        Args:
            examples: int64 [inputs].
            hidden: bool [inputs, features].

        Returns:
            int64 [tokens]; int64 [parts, inputs]; the same.
        """
        # running sums: any of the words from the first to the last of a token is hidden where the sum grows
        sums = np.concatenate([np.zeros((len(hidden), 1), np.int32), np.cumsum(hidden, axis=1, dtype=np.int32)], axis=1)
        tokens, counts = [], []
        for q, segment in enumerate(self._segment):
            own = self._counts[q, examples]
            at = ranges(self._starts[q, examples], own)
            rows = np.repeat(np.arange(len(examples)), own)
            first = self._columns[segment, examples][rows]
            is_hidden = sums[rows, first + self._last[at] + 1] > sums[rows, first + self._first[at]]
            if self.delete:
                tokens.append(self._tokens[at[~is_hidden]])
                own = np.bincount(rows[~is_hidden], minlength=len(examples))
            else:
                tokens.append(np.where(is_hidden, self.mask_id, self._tokens[at]))
            counts.append(own)
        sizes = np.array(counts).reshape(len(counts), len(examples))
        return np.concatenate(tokens), (np.cumsum(sizes) - sizes.ravel()).reshape(sizes.shape), sizes

    def lengths(self, examples: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Cost of each input, in tokens: int32 [inputs]; the arguments are as for :meth:`inputs`."""
        counts = self._hidden(examples, hidden)[2] if self.delete else self._counts[:, examples]
        return (counts.sum(axis=0) + self.processor.frame.size).astype(np.int32)

    def inputs(
        self, examples: np.ndarray, hidden: np.ndarray, batches: Sequence[np.ndarray]
    ) -> Iterator[dict[str, Tensor]]:
        """Input of the model for each batch.

        Args:
            examples: int64 [inputs], which example each input is made of.
            hidden: bool [inputs, features], which of its features are hidden; further columns are ignored.
            batches: int64 [inputs of the batch] each, positions into ``examples``.
        """
        frame = self.processor.frame
        around = np.tile(frame.around, (len(examples), 1))
        for q, segment in enumerate(self._segment):
            is_hidden = hidden[np.arange(len(examples)), self._columns[segment + 1, examples] - 1]
            around[np.ix_(is_hidden, frame.behind == q)] = self.mask_id
        return self.processor.framed(*self._hidden(examples, hidden), batches, around)

    def features_of_tokens(self, examples: np.ndarray, batches: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
        """The feature that each token of an input belongs to, nothing hidden: int64 [inputs, tokens] for each batch.

        A token of several words belongs to the first; -1 for tokens in front and for padding.
        """
        frame = self.processor.frame
        starts = self._starts[:, examples]
        counts = self._counts[:, examples]
        around = np.full((len(examples), len(frame.around)), -1, dtype=np.int64)
        features = np.zeros(len(self._tokens), dtype=np.int64)
        for q, segment in enumerate(self._segment):
            around[:, frame.behind == q] = self._columns[segment + 1, examples, None] - 1
            at = ranges(self._starts[q], self._counts[q])
            features[at] = np.repeat(self._columns[segment], self._counts[q]) + self._first[at]
        for batch in self.processor.framed(features, starts, counts, batches, around):
            yield batch["input_ids"].numpy()


def _words_of_tokens(offsets: np.ndarray, spans: np.ndarray) -> np.ndarray:
    """The first and the last word that each token stands for: int64 [2, tokens].

    A token of no word, such as a space of its own, goes with the next one, or else with the last. A text without words
    has the separator behind it for its tokens.

    Args:
        offsets: int64 [tokens, 2], the characters of each token.
        spans: int32 [words, 2], those of each word.
    """
    first = np.searchsorted(spans[:, 1], offsets[:, 0], side="right")
    last = np.searchsorted(spans[:, 0], offsets[:, 1], side="left") - 1
    most = max(len(spans) - 1, 0)
    first = np.minimum(first, most)
    return np.stack([first, np.maximum(np.minimum(last, most), first)])


def mask_id(tokenizer: PreTrainedTokenizerBase) -> int:
    """The id of the token that stands in place of a hidden one.

    It is the mask token, or the first sentinel of a T5, or the token for unknown words.

    Raises:
        HeedfulError: The tokenizer has none of them.
    """
    if tokenizer.mask_token_id is not None:
        return tokenizer.mask_token_id
    sentinel = tokenizer.get_vocab().get(SENTINEL)
    if (token := tokenizer.unk_token_id if sentinel is None else sentinel) is None:
        raise ModelError(
            f"The tokenizer {type(tokenizer).__name__} has neither a mask nor an unknown token to hide words by. Take "
            "another model, or leave attributions out."
        )
    return token
