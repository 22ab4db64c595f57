"""Processor for causal language models: it turns examples into the token ids of prompts."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

from heedful.lightning_modules.processors.processor import NumberProcessor, Statistics, texts_of, tokens_kept
from heedful.lightning_modules.processors.token_store import TokenStore
from heedful.lightning_modules.prompted.beginnings import beginning_sort_keys
from heedful.lightning_modules.prompted.prompt_tokens import PromptTokens
from heedful.records import BATCH, Composed, Example, ModelError
from heedful.records.prompts import Prompt

ROOM = 4  # fewest tokens that truncation leaves of a part


class PromptProcessor(NumberProcessor):
    """Makes the token ids of prompts, without the prefix that the prompts of all examples share.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        prompt: The prompt.
        chat: Whether the prompt is a chat.
        max_length: Most tokens of a prompt with its answer; a longer prompt loses the end of its longest part.
        longest_answer: Number of tokens reserved for an answer.

    Raises:
        HeedfulError: Instruction and demonstrations leave no room for an example.
    """

    parts = ("prompt", "whole")  # the rows of the numbers: prompts, and the same prompts without truncation

    def __init__(
        self, tokenizer: PreTrainedTokenizerBase, prompt: Prompt, chat: bool, max_length: int, longest_answer: int
    ) -> None:
        self.tokenizer = tokenizer
        self.prompt = prompt
        self.tokens = PromptTokens(tokenizer, prompt, chat)
        self.store = TokenStore(self.tokens.ids_after_prefix, tokenizer.unk_token_id)
        self.budget = max_length - len(self.tokens.prefix) - longest_answer
        nothing = [""] * len(prompt.task.parts)
        if self.budget < self.store.lengths(self._numbered([nothing]))[0] + ROOM * len(nothing):
            raise ModelError(
                f"Instruction and demonstrations have {len(self.tokens.prefix):,} tokens, and the model reads "
                f"{max_length:,}. Lower prompt.tuples, or raise model.max_length."
            )

    def _numbered(self, several: Sequence[Sequence[str]]) -> np.ndarray:
        """Return a number for each prompt, given the texts of its parts; equal prompts have equal numbers."""
        return self.store.numbers([self.tokens.text(self.prompt.question(words)) for words in several])

    def _gathered(self, examples: Composed) -> np.ndarray:
        return self._numbers(examples)  # each prompt is tokenised as a whole

    def _numbers(self, examples: Sequence[Example]) -> np.ndarray:
        blocks = [np.zeros((2, 0), dtype=np.int32)]
        remaining = iter(examples)
        while block := list(islice(remaining, BATCH)):
            several = [self._words(example) for example in block]
            for example, words in zip(block, several, strict=True):
                self.tokens.require_no_special(self.prompt.question(words), example.uid)
            numbers = np.tile(self._numbered(several), (2, 1))
            for i in np.flatnonzero(self.store.lengths(numbers[1]) > self.budget):
                (numbers[0, i],) = self._numbered([self._shortened(several[i])])
            blocks.append(numbers)
        return np.concatenate(blocks, axis=1)

    def _words(self, example: Example) -> Sequence[str]:
        """Return the texts of the parts of an example; a table is converted to text."""
        return texts_of([example.parts[name] for name in self.prompt.task.parts], self.prompt.task.form)

    def _shortened(self, words: Sequence[str]) -> list[str]:
        """Return the texts of the parts; the longest text loses its last tokens until the prompt fits."""
        words = list(words)
        while (over := int(self.store.lengths(self._numbered([words]))[0]) - self.budget) > 0:
            spans = self.tokenizer(words, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
            longest = max(range(len(words)), key=lambda k: len(spans[k]))
            n = max(0, len(spans[longest]) - over)
            words[longest] = words[longest][: spans[longest][n][0]].rstrip() if n else ""
        return words

    def sent(self, example: Example) -> dict[str, Any]:
        """Return what the model receives for an example: ``text``, and ``messages`` if the prompt is a chat."""
        (row,) = self._rows(self.numbers([example])[0])
        ids = [*self.tokens.prefix, *row.tolist()]
        question = self.prompt.question(self._shortened(self._words(example)))
        turns = {"messages": self.prompt.messages(question)} if self.tokens.chat else {}
        return {**turns, "text": self.tokenizer.decode(ids, clean_up_tokenization_spaces=False)}

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        return self.store.lengths(self.numbers(examples)[0]).astype(np.int32)

    def statistics(self, examples: Sequence[Example]) -> Statistics:
        """Return the number of truncated prompts, the share of unknown tokens, and the tokens kept per part."""
        numbers, full = self.numbers(examples)
        is_cut = numbers != full
        kept = {}
        if is_cut.any():
            full = [[*self._words(example)] for example in examples]
            read = [self._shortened(words) if short else words for words, short in zip(full, is_cut, strict=True)]
            kept = tokens_kept(self.prompt.task.parts, self._counts(read), self._counts(full))
        return Statistics(int(is_cut.sum()), self.store.unknown(numbers), kept)

    def _counts(self, rows: Sequence[list[str]]) -> np.ndarray:
        tokenize = partial(self.tokenizer, add_special_tokens=False, verbose=False)
        return np.array([[*map(len, tokenize(words)["input_ids"])] for words in rows]).T

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray:
        numbers = self.numbers(examples)[0]
        return self.store.hashes(numbers, self.store.lengths(numbers))

    def order(self, examples: Sequence[Example], lengths: np.ndarray) -> np.ndarray:
        """Return a sort key per example that puts prompts with the same beginning next to each other: int64."""
        numbers, place = np.unique(self.numbers(examples)[0], return_inverse=True)
        return beginning_sort_keys(self._rows(numbers))[place]

    def _rows(self, numbers: np.ndarray) -> list[np.ndarray]:
        """Return the token ids of prompts, without the prefix of all prompts; ``numbers`` are indices in ``store``."""
        bounds = zip(self.store.starts(numbers), self.store.starts(numbers + 1), strict=True)
        return [self.store.tokens[start:stop] for start, stop in bounds]

    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        """Yield ``rows`` per batch: the token ids of each prompt, without the prefix of all prompts: int32 [tokens]."""
        numbers = self.numbers(examples)[0]
        return ({"rows": self._rows(numbers[batch])} for batch in batches)
