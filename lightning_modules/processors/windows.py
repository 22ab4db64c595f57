"""Processor for extractive readers, which read a question and overlapping windows of a text."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from heedful.lightning_modules.processors.frame import ranges
from heedful.lightning_modules.processors.numbers import combined
from heedful.lightning_modules.processors.texts import TextProcessor
from heedful.records import SPAN, Example, ModelError, SettingError, column, keys


class WindowProcessor(TextProcessor):
    """Encodes a question, which comes first, and a text for extractive readers.

    A long text is split into overlapping windows, so that each span of up to ``overlap`` + 1 tokens lies within one
    window. A question is truncated to half of the room that special tokens and the overlap leave in a window.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        parts: Names of the text and of the question.
        max_length: Most tokens of a window, with the question and special tokens.
        overlap: Tokens that two windows share.

    Raises:
        HeedfulError: As for :class:`TextProcessor`; or the overlap leaves no room; or the tokenizer adds no initial
            special token, which models select for no answer.
    """

    offsets = True

    def __init__(self, tokenizer: PreTrainedTokenizerBase, parts: Sequence[str], max_length: int, overlap: int) -> None:
        super().__init__(tokenizer, tuple(reversed(parts)), max_length)
        if not 0 <= overlap <= self.budget - 2:
            room = f"windows of {max_length} tokens have room for 0 to {self.budget - 2}"
            raise SettingError(f"model.overlap {overlap} does not fit: {room}.")
        if self.frame.parts[0] >= 0:
            name = type(tokenizer).__name__
            raise ModelError(f"The tokenizer {name} puts no token in front, to mean no answer. Take another model.")
        self.overlap = overlap
        self.longest_question = (self.budget - overlap) // 2

    def truncate(self, lengths: np.ndarray) -> np.ndarray:
        return np.stack([np.minimum(lengths[0], self.longest_question), lengths[1]])

    def _plan(self, numbers: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the numbers of question tokens, text tokens, text tokens per window, and windows: [examples] each."""
        question, text = self.truncate(self.token_store.lengths(numbers))
        room = self.budget - question
        return question, text, room, 1 + np.maximum(0, -((room - text) // (room - self.overlap)))

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        question, text, _, windows = self._plan(self.numbers(examples))
        return (windows * (question + self.frame.size) + text + (windows - 1) * self.overlap).astype(np.int32)

    def fingerprints(self, examples: Sequence[Example]) -> np.ndarray:
        """Hash the truncated question, and the characters of the text, since an answer is a span: uint64 [examples]."""
        numbers = self.numbers(examples)
        question = self.token_store.hashes(numbers[0], self._plan(numbers)[0])
        return combined(np.stack([question, keys(column(examples, f"parts.{self.parts[1]}"))]))

    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        """Return the inputs of the model, one batch at a time.

        Returns:
            For each batch: ``encoder``, tensors [windows, tokens]; ``windows``, int64 [windows, 4]: index of the
            example, position of the window's first text token in the text and in the window, and number of text tokens;
            ``texts``; ``characters``, start and end of the tokens per text, int32 [tokens, 2]; and, if the positions of
            all answers are known, ``targets``, int64 [windows, 2]: first and last token of the answer, 0 outside.
        """
        numbers = self.numbers(examples)
        return (self._batch([examples[i] for i in batch.tolist()], numbers[:, batch]) for batch in batches)

    def _batch(self, examples: Sequence[Example], numbers: np.ndarray) -> dict[str, Any]:
        question, text, room, n = self._plan(numbers)
        i = np.repeat(np.arange(len(n)), n)  # example per window
        first = ranges(np.zeros_like(n), n) * (room - self.overlap)[i]
        count = np.minimum(room[i], text[i] - first)
        begin = np.flatnonzero(self.frame.parts == 1)[0] - 1 + question[i]  # the question takes one slot
        starts = self.token_store.starts(numbers)[:, i]
        starts[1] += first
        places, slots, lengths = self.frame.layout(starts, np.stack([question[i], count]))
        bounds = zip(self.token_store.starts(numbers[1]), self.token_store.starts(numbers[1] + 1), strict=True)
        batch = {
            "encoder": self.pad_slots(self.token_store.tokens[places], slots, lengths),
            "windows": np.stack([i, first, begin, count], axis=1),
            "texts": [example.parts[self.parts[1]] for example in examples],
            "characters": [self.token_store.characters[start:stop] for start, stop in bounds],
        }
        answers = [_answer(example.label, example.meta.get("starts", "[]")) for example in examples]
        if None not in answers:
            windows = batch["windows"].tolist()
            targets = [_answer_tokens(batch["characters"][i], answers[i], *window) for i, *window in windows]
            batch["targets"] = torch.tensor(targets, dtype=torch.int64)
        return batch


def _answer(label: str | None, places: str) -> tuple[int, int] | None:
    """Return the characters of the first gold answer with a known place; (0, 0) without golds, None without place."""
    golds = None if label is None else SPAN.parse_gold(label)
    if golds == []:
        return 0, 0
    starts = json.loads(places)
    spans = ((start, start + len(gold)) for gold, start in zip(golds or [], starts, strict=False) if start is not None)
    return next(spans, None)


def _answer_tokens(
    characters: np.ndarray, answer: tuple[int, int], first: int, begin: int, count: int
) -> tuple[int, int]:
    """Return the positions in a window of an answer's first and last token; 0 and 0 if one of them is outside."""
    start = int(np.searchsorted(characters[:, 1], answer[0], side="right"))
    stop = int(np.searchsorted(characters[:, 0], answer[1], side="left")) - 1
    return (begin + start - first, begin + stop - first) if first <= start <= stop < first + count else (0, 0)
