"""Inputs in which words are hidden: masks in token ids, part by part, so that nothing crosses from one to the next."""

from collections.abc import Iterator, Sequence

import numpy as np
from torch import Tensor
from transformers import PreTrainedTokenizerBase

from heedful.lightning_modules.processors.frame import padded, ranges
from heedful.lightning_modules.processors.processor import Processor
from heedful.lightning_modules.processors.texts import TextProcessor
from heedful.records import Example, ModelError, column
from heedful.records.parts.words import word_spans

SENTINEL = "<extra_id_0>"  # what a T5 was trained to read in place of hidden words


class HiddenWords:
    """Some examples, their features, and the inputs in which some of these are hidden.

    The features of an example are, part by part, the words of the part and the separator that follows: special tokens,
    or words of a template. A hidden feature is hidden in all of its tokens. A token of several words, such as a
    byte pair of two signs, is hidden with any of them. Tokens that the model does not read, since the example is too
    long, are never there; their words are features without effect.

    Args:
        processor: Of the model.
        examples: The examples, whose parts are texts or tables.
        parts: In which order their features stand; by default the one in which the model reads them.
        delete: Whether hidden words are left out of the input; otherwise the mask token replaces each of
            their tokens. A hidden separator is always masked.

    Raises:
        HeedfulError: The model reads something else than texts, or its tokenizer has no token to hide them by.

    Attributes:
        parts: Names of the parts, in the order of the features.
        words: Per example the words per part.
        separators: Text of the separator per part.
        truncated: Which examples are longer than the model reads: bool [examples].
        features: The number of features per example: int64 [examples].
        segments: The number of features per part, with its separator, and example: int64 [parts, examples].
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
        rank = [self.parts.index(part) for part in processor.parts]  # of each part that the model reads
        order = np.argsort(rank)
        columns = [column(examples, f"parts.{part}") for part in processor.parts]
        texts = [processor.texts(parts) for parts in zip(*columns, strict=True)]
        spans = {text: word_spans(text) for several in texts for text in several}
        words = {text: [text[start:end] for start, end in pairs.tolist()] for text, pairs in spans.items()}
        self.words = [[words[several[q]] for q in order] for several in texts]
        behind = [frame.ids[(frame.parts < 0) & (frame.behind == q)].tolist() for q in order]
        self.separators = [processor.tokenizer.decode(ids).strip() for ids in behind]
        sizes = [[len(words[text]) + 1 for text in several] for several in texts]
        sizes = np.array(sizes, dtype=np.int64).reshape(len(texts), len(rank)).T
        self.segments = sizes[order]
        self.features = sizes.sum(axis=0)
        ends = np.cumsum(self.segments, axis=0)[rank]  # of the features of each part that the model reads

        store = processor.new_store(offsets=True)
        numbers = store.numbers([text for several in texts for text in several]).reshape(sizes.T.shape).T
        lengths = store.lengths(numbers)
        counts = processor.truncate(lengths)
        self.truncated = (counts < lengths).any(axis=0)
        first, last = np.zeros((2, len(store.tokens)), dtype=np.int64)  # word in its text of each token
        for text, number in zip(spans, store.numbers([*spans]), strict=True):
            piece = slice(store.starts(number), store.starts(number + 1))
            first[piece], last[piece] = _words_of_tokens(store.characters[piece], spans[text])

        places, self._slots, self._lengths = frame.layout(store.starts(numbers), counts)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._ids = store.tokens[places]
        self._is_text = frame.parts[self._slots] >= 0
        # the features of each token, from the first to the last: words, or a separator, or -1 for what stands in front
        example = np.repeat(np.arange(len(texts)), self._lengths)
        part = frame.behind[self._slots]
        words_before = ends[part, example] - sizes[part, example]
        feature = np.where(self._is_text, words_before, np.where(part < 0, -1, ends[part, example] - 1))
        self._first = feature + first[places]
        self._last = feature + last[places]

    def __len__(self) -> int:
        return len(self.words)

    def _hidden(self, examples: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The tokens of inputs as ``TextProcessor.padded`` takes them; the arguments are as for :meth:`inputs`."""
        lengths = self._lengths[examples]
        at = ranges(self._starts[examples], lengths)
        rows = np.repeat(np.arange(len(examples)), lengths)
        # running sums: any of the features from the first to the last of a token is hidden where the sum grows
        sums = np.zeros((len(hidden), hidden.shape[1] + 1), dtype=np.int32)
        np.cumsum(hidden, axis=1, out=sums[:, 1:])
        is_hidden = sums[rows, self._last[at] + 1] > sums[rows, self._first[at]]
        ids = np.where(is_hidden, self.mask_id, self._ids[at])
        if not self.delete:
            return ids, self._slots[at], lengths
        stays = ~(is_hidden & self._is_text[at])
        return ids[stays], self._slots[at[stays]], np.bincount(rows[stays], minlength=len(examples))

    def lengths(self, examples: np.ndarray, hidden: np.ndarray) -> np.ndarray:
        """Cost of each input, in tokens: int32 [inputs]; the arguments are as for :meth:`inputs`."""
        return (self._hidden(examples, hidden)[2] if self.delete else self._lengths[examples]).astype(np.int32)

    def inputs(
        self, examples: np.ndarray, hidden: np.ndarray, batches: Sequence[np.ndarray]
    ) -> Iterator[dict[str, Tensor]]:
        """Input of the model for each batch.

        Args:
            examples: int64 [inputs], which example each input is made of.
            hidden: bool [inputs, features], which of its features are hidden; further columns are ignored.
            batches: int64 [inputs of the batch] each, positions into ``examples``.
        """
        return (self.processor.padded(*self._hidden(examples[batch], hidden[batch])) for batch in batches)

    def features_of_tokens(self, examples: np.ndarray, batches: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
        """The feature that each token of an input belongs to, nothing hidden: int64 [inputs, tokens] for each batch.

        A token of several words belongs to the first; -1 for tokens in front and for padding.
        """
        for batch in batches:
            lengths = self._lengths[examples[batch]]
            features = self._first[ranges(self._starts[examples[batch]], lengths)]
            yield padded(self.processor.is_token(lengths), features, -1)


def _words_of_tokens(characters: np.ndarray, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last word in a token: int64 [tokens] both.

    A token of no word, such as a space of its own, goes with the next one, or else with the last. A text without words
    has the following separator for its tokens.

    Args:
        characters: int32 [tokens, 2], start and end of a token.
        spans: int32 [words, 2], likewise for words.
    """
    most = max(len(spans) - 1, 0)
    first = np.minimum(np.searchsorted(spans[:, 1], characters[:, 0], side="right"), most)
    last = np.minimum(np.searchsorted(spans[:, 0], characters[:, 1], side="left") - 1, most)
    return first, np.maximum(last, first)


def mask_id(tokenizer: PreTrainedTokenizerBase) -> int:
    """The id of the token that replaces hidden tokens.

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
