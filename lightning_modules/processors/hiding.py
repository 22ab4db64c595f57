"""Build inputs in which some words are masked or left out, to compute attributions (contributions of words)."""

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from heedful.lightning_modules.processors.frame import padded, ranges
from heedful.lightning_modules.processors.processor import Processor
from heedful.lightning_modules.processors.texts import TextProcessor
from heedful.records import Example, ModelError, column
from heedful.records.text import WORD

SENTINEL = "<extra_id_0>"  # sentinel that replaces hidden words in the pretraining of T5


class HiddenWords:
    """Makes inputs of examples in which some features are hidden.

    A feature is a word of a part, or the separator after a part (special tokens or template words). A token of several
    words is hidden with any of these words. A word that is lost by truncation is a feature without effect.

    Args:
        processor: Processor of the model.
        examples: The examples, whose parts are texts or tables.
        parts: Order of the parts among the features; by default, the reading order of the model.
        delete: Whether hidden words are left out; otherwise, and in separators, the mask token replaces each token.

    Raises:
        HeedfulError: The model does not read texts, or its tokenizer has no mask token.

    Attributes:
        parts: Names of the parts, in the order of the features.
        words: Words per part, for each example.
        separators: Text of the separator after each part.
        truncated: Whether examples are truncated: bool [examples].
        features: Number of features per example: int64 [examples].
        segments: Number of features per part, including its separator: int64 [parts, examples].
    """

    def __init__(
        self, processor: Processor, examples: Sequence[Example], parts: Sequence[str] = (), delete: bool = False
    ) -> None:
        if processor.no_hiding is not None or not isinstance(processor, TextProcessor):
            raise ModelError(str(processor.no_hiding))
        self.processor = processor
        self.delete = delete
        self.parts = tuple(parts) or processor.parts
        self.mask_id = mask_id(processor.tokenizer)
        frame = processor.frame
        rank = [self.parts.index(part) for part in processor.parts]  # per part, in reading order
        order = np.argsort(rank)
        columns = [column(examples, f"parts.{part}") for part in processor.parts]
        texts = [processor.texts(parts) for parts in zip(*columns, strict=True)]
        spans = {text: [word.span() for word in WORD.finditer(text)] for text in chain.from_iterable(texts)}
        self.words = [[WORD.findall(several[q]) for q in order] for several in texts]
        behind = [frame.ids[(frame.parts < 0) & (frame.behind == q)].tolist() for q in order]
        self.separators = [processor.tokenizer.decode(ids).strip() for ids in behind]
        sizes = [[len(spans[text]) + 1 for text in several] for several in texts]
        sizes = np.array(sizes, dtype=np.int64).reshape(len(texts), len(rank)).T
        self.segments = sizes[order]
        self.features = sizes.sum(axis=0)
        begin = (np.cumsum(self.segments, axis=0) - self.segments)[rank]  # first feature per part, in reading order

        store = processor.new_store(offsets=True)
        numbers = store.numbers([*chain.from_iterable(texts)]).reshape(sizes.T.shape).T
        lengths = store.lengths(numbers)
        counts = processor.truncate(lengths)
        self.truncated = (counts < lengths).any(axis=0)
        first, last = np.zeros((2, len(store.tokens)), dtype=np.int64)  # index in the text of the words of a token
        for text, number in zip(spans, store.numbers([*spans]), strict=True):
            piece = slice(store.starts(number), store.starts(number + 1))
            first[piece], last[piece] = _words_of_tokens(store.characters[piece], np.array(spans[text]))

        places, self._slots, self._lengths = frame.layout(store.starts(numbers), counts)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._ids = store.tokens[places]
        self._is_text = frame.parts[self._slots] >= 0
        # first and last feature per token: words, or a separator, or -1 before the first part
        example = np.repeat(np.arange(len(texts)), self._lengths)
        part = frame.behind[self._slots]
        feature = begin[part, example] + np.where(self._is_text, 0, sizes[part, example] - 1)
        feature[part < 0] = -1
        self._first = feature + first[places]
        self._last = feature + last[places]

    def __len__(self) -> int:
        return len(self.words)

    def _hide(self, examples: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the arguments of :meth:`TextProcessor.pad_slots` for inputs with hidden features."""
        lengths = self._lengths[examples]
        at = ranges(self._starts[examples], lengths)
        rows = np.repeat(np.arange(len(examples)), lengths)
        # cumulative sums: a token is hidden where the sum grows from its first to its last feature
        sums = np.zeros((len(hidden), hidden.shape[1] + 1), dtype=np.int32)
        np.cumsum(hidden, axis=1, out=sums[:, 1:])
        is_hidden = sums[rows, self._last[at] + 1] > sums[rows, self._first[at]]
        ids = np.where(is_hidden, self.mask_id, self._ids[at])
        if not self.delete:
            return ids, self._slots[at], lengths
        stays = ~(is_hidden & self._is_text[at])
        return ids[stays], self._slots[at[stays]], np.bincount(rows[stays], minlength=len(examples))

    def lengths(self, examples: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Return the number of tokens per input: int32 [inputs]; arguments as for :meth:`inputs`."""
        return (self._hide(examples, hidden)[2] if self.delete else self._lengths[examples]).astype(np.int32)

    def inputs(
        self, examples: np.ndarray, hidden: np.ndarray, batches: Sequence[np.ndarray]
    ) -> Iterator[dict[str, Tensor]]:
        """Return the inputs of the model, one batch at a time.

        Args:
            examples: The example of each input: int64 [inputs].
            hidden: Whether to hide a feature; columns beyond the features of an example are ignored: bool [inputs,
                features].
            batches: Positions in ``examples``: int64 each.
        """
        return (self.processor.pad_slots(*self._hide(examples[batch], hidden[batch])) for batch in batches)

    def features_of_tokens(self, examples: np.ndarray, batches: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield, per batch of complete inputs, the first feature of each token, or -1: int64 [inputs, tokens]."""
        for batch in batches:
            lengths = self._lengths[examples[batch]]
            features = self._first[ranges(self._starts[examples[batch]], lengths)]
            yield padded(self.processor.is_token(lengths), features, -1)


def _words_of_tokens(characters: np.ndarray, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the first and the last word of each token, given the characters of tokens and words."""
    # a token without a word, such as a space, belongs to the next word, or else to the last; in a text without words,
    # 0 is the index of the separator after the text
    spans, most = spans.reshape(-1, 2), max(len(spans) - 1, 0)
    first = np.minimum(np.searchsorted(spans[:, 1], characters[:, 0], side="right"), most)
    last = np.minimum(np.searchsorted(spans[:, 0], characters[:, 1], side="left") - 1, most)
    return first, np.maximum(last, first)


def mask_id(tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the id of the mask token, else of T5's first sentinel or the unknown token; raise ModelError without."""
    if tokenizer.mask_token_id is not None:
        return tokenizer.mask_token_id
    sentinel = tokenizer.get_vocab().get(SENTINEL)
    if (token := tokenizer.unk_token_id if sentinel is None else sentinel) is None:
        raise ModelError(
            f"The tokenizer {type(tokenizer).__name__} has neither a mask nor an unknown token to hide words by. Take "
            "another model, or leave attributions out."
        )
    return token
