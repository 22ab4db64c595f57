"""Build inputs in which some words are masked or left out, to compute attributions (contributions of words)."""

from collections.abc import Iterator, Sequence

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

    A feature is a word of a part, or the separator after a part (special tokens or template words). Hiding a feature
    hides all of its tokens. A token of several words, such as a byte pair of two punctuation marks, is hidden with any
    of these words. A word that is lost by truncation is a feature without effect.

    Args:
        processor: Processor of the model.
        examples: The examples, whose parts are texts or tables.
        parts: Order of the parts among the features; by default, the reading order of the model.
        delete: Whether hidden words are left out of the input; otherwise the mask token replaces each of
            their tokens. A hidden separator is always masked.

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
        spans = {text: _word_spans(text) for several in texts for text in several}
        words = {text: [text[start:end] for start, end in pairs.tolist()] for text, pairs in spans.items()}
        self.words = [[words[several[q]] for q in order] for several in texts]
        behind = [frame.ids[(frame.parts < 0) & (frame.behind == q)].tolist() for q in order]
        self.separators = [processor.tokenizer.decode(ids).strip() for ids in behind]
        sizes = [[len(words[text]) + 1 for text in several] for several in texts]
        sizes = np.array(sizes, dtype=np.int64).reshape(len(texts), len(rank)).T
        self.segments = sizes[order]
        self.features = sizes.sum(axis=0)
        ends = np.cumsum(self.segments, axis=0)[rank]  # of the features per part, in reading order

        store = processor.new_store(offsets=True)
        numbers = store.numbers([text for several in texts for text in several]).reshape(sizes.T.shape).T
        lengths = store.lengths(numbers)
        counts = processor.truncate(lengths)
        self.truncated = (counts < lengths).any(axis=0)
        first, last = np.zeros((2, len(store.tokens)), dtype=np.int64)  # index in the text of the words of a token
        for text, number in zip(spans, store.numbers([*spans]), strict=True):
            piece = slice(store.starts(number), store.starts(number + 1))
            first[piece], last[piece] = _words_of_tokens(store.characters[piece], spans[text])

        places, self._slots, self._lengths = frame.layout(store.starts(numbers), counts)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._ids = store.tokens[places]
        self._is_text = frame.parts[self._slots] >= 0
        # first and last feature per token: words, or a separator, or -1 before the first part
        example = np.repeat(np.arange(len(texts)), self._lengths)
        part = frame.behind[self._slots]
        words_before = ends[part, example] - sizes[part, example]
        feature = np.where(self._is_text, words_before, np.where(part < 0, -1, ends[part, example] - 1))
        self._first = feature + first[places]
        self._last = feature + last[places]

    def __len__(self) -> int:
        return len(self.words)

    def _hidden(self, examples: np.ndarray, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hide features of inputs, and return three arrays, the arguments of ``TextProcessor.padded``.

        Args:
            examples: int64 [inputs], the example of each input.
            hidden: bool [inputs, features], whether to hide the feature.

        Returns:
            Per token, its id, then the index of its slot (place in the input's layout): [tokens of all inputs] each.
            Per input, the number of tokens: [inputs]. Deleted tokens are left out.
        """
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
        return (self._hidden(examples, hidden)[2] if self.delete else self._lengths[examples]).astype(np.int32)

    def inputs(
        self, examples: np.ndarray, hidden: np.ndarray, batches: Sequence[np.ndarray]
    ) -> Iterator[dict[str, Tensor]]:
        """Return the inputs of the model, one batch at a time.

        Args:
            examples: int64 [inputs], the example of each input.
            hidden: bool [inputs, features], True for hidden features; columns beyond the features of an example are
                ignored.
            batches: int64 [inputs of the batch] each, positions into ``examples``.
        """
        return (self.processor.padded(*self._hidden(examples[batch], hidden[batch])) for batch in batches)

    def features_of_tokens(self, examples: np.ndarray, batches: Sequence[np.ndarray]) -> Iterator[np.ndarray]:
        """Yield, per batch, the index of the feature to which each token belongs: int64 [inputs, tokens].

        The inputs are complete: no feature is hidden. A token of several words belongs to the first word. Tokens before
        the first part and padding have the index -1. The arguments are as for :meth:`inputs`.
        """
        for batch in batches:
            lengths = self._lengths[examples[batch]]
            features = self._first[ranges(self._starts[examples[batch]], lengths)]
            yield padded(self.processor.is_token(lengths), features, -1)


def _word_spans(text: str) -> np.ndarray:
    """The start and end of each word of a text: int32 [words, 2]."""
    return np.array([match.span() for match in WORD.finditer(text)], dtype=np.int32).reshape(-1, 2)


def _words_of_tokens(characters: np.ndarray, spans: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the first and the last word of each token of a text: two arrays int64 [tokens].

    A token without a word, such as a separate space, belongs to the next word, or else to the last word. In a text
    without words, both indices are 0, which is then the index of the separator after the text.

    Args:
        characters: int32 [tokens, 2], start and end of a token.
        spans: int32 [words, 2], start and end of a word.
    """
    most = max(len(spans) - 1, 0)
    first = np.minimum(np.searchsorted(spans[:, 1], characters[:, 0], side="right"), most)
    last = np.minimum(np.searchsorted(spans[:, 0], characters[:, 1], side="left") - 1, most)
    return first, np.maximum(last, first)


def mask_id(tokenizer: PreTrainedTokenizerBase) -> int:
    """Return the id that replaces hidden tokens: of the mask token, else T5's first sentinel, else the unknown token.

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
