"""Texts with questions about them, read in windows where they are long."""

import json
from collections.abc import Sequence
from itertools import starmap
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from lightning_modules.processors.texts import TextProcessor
from records import SPAN, Example, HeedError


class WindowProcessor(TextProcessor):
    """A text and a question, for models that cut the answer out of the text.

    The question comes first. A text that does not fit behind it is read in windows, of which each begins with the last
    tokens of the one before, so that a piece of ``overlap`` + 1 tokens stands whole in one of them, wherever it begins.
    A text is never cut short; a question is, at half of what the overlap leaves.

    Args:
        tokenizer: A fast Hugging Face tokenizer.
        parts: Names of the text and of the question.
        max_length: Most tokens of a window, with the question and special tokens.
        overlap: Tokens that two windows share.

    Raises:
        HeedError: As for :class:`TextProcessor`; the overlap leaves no room; or no special token stands in front, which
            a model points at where there is no answer.
    """

    offsets = True

    def __init__(self, tokenizer: PreTrainedTokenizerBase, parts: Sequence[str], max_length: int, overlap: int) -> None:
        super().__init__(tokenizer, tuple(reversed(parts)), max_length)
        if not 0 <= overlap <= self.budget - 2:
            raise HeedError(
                f"§model.overlap {overlap}: windows of {max_length} tokens leave room for 0 to {self.budget - 2}."
            )
        if not self._special[0][0]:
            raise HeedError(f"The tokenizer {type(tokenizer).__name__} puts no token in front that means no answer.")
        self.overlap, self.longest_question = overlap, (self.budget - overlap) // 2

    def _plan(self, numbers: np.ndarray) -> np.ndarray:
        """Of each example (question, text): tokens of the question, of the text, room for the text, windows: int64
        [4, examples]."""
        question, text = self.store.lengths(numbers)
        question = np.minimum(question, self.longest_question)
        room = self.budget - question
        return np.stack([question, text, room, 1 + np.maximum(0, -((room - text) // (room - self.overlap)))])

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        numbers = self._numbers(examples)
        self.unknown = self.store.unknown(numbers)
        self.truncated = int((self.store.lengths(numbers[0]) > self.longest_question).sum())
        question, text, _, windows = self._plan(numbers)
        special = self.max_length - self.budget
        return (windows * (question + special) + text + (windows - 1) * self.overlap).astype(np.int32)

    def _parts(self, numbers: np.ndarray, first: int, count: int) -> list[np.ndarray]:
        """The token ids of a question, and of ``count`` tokens of its text."""
        question, text = numbers
        return [self.store.ids(question, self.longest_question), self.store.ids(text, first + count)[first:]]

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        """Input of the model.

        Returns:
            ``encoder``, tensors [windows, tokens]; ``windows``, int64 [windows, 4]: the example, the first token of the
            text that the window has, where that stands in the window, and how many follow it, itself included;
            ``texts``; ``characters``, of each text :meth:`TokenStore.characters`; and ``targets``, int64 [windows, 2],
            the first and the last token of the answer, 0 and 0 where the window has none, if all examples have answers
            at known places.
        """
        numbers = self._numbers(examples)
        windows = [
            (i, first, len(self._special[0][0]) + question + len(self._special[1][0]), min(room, text - first))
            for i, (question, text, room, n) in enumerate(self._plan(numbers).T.tolist())
            for first in range(0, n * (room - self.overlap), room - self.overlap)
        ]
        batch = {
            "encoder": self._batch([self._parts(numbers[:, i], first, count) for i, first, _, count in windows]),
            "windows": np.array(windows, dtype=np.int64).reshape(-1, 4),
            "texts": [example.parts[self.parts[1]] for example in examples],
            "characters": [np.array(self.store.characters(number)) for number in numbers[1]],
        }
        answers = [_answer(example) for example in examples]
        if None not in answers:
            spans = list(starmap(tokens_of, zip(batch["characters"], answers, strict=True)))
            batch["targets"] = torch.tensor([_target(spans[w[0]], *w[1:]) for w in windows], dtype=torch.int64)
        return batch


def _answer(example: Example) -> tuple[int, int] | None:
    """First character of the answer to learn, and the one behind its last; (0, 0) for no answer; None if not known."""
    golds = None if example.label is None else SPAN.parse_gold(example.label)
    if golds == []:
        return 0, 0
    starts = json.loads(example.meta.get("starts", "[]"))
    known = ((start, start + len(gold)) for gold, start in zip(golds or [], starts, strict=False) if start is not None)
    return next(known, None)


def tokens_of(characters: np.ndarray, answer: tuple[int, int]) -> tuple[int, int]:
    """The first and the last token of a piece of a text; the last stands before the first where it has none.

    Args:
        characters: int [tokens, 2], as :meth:`TokenStore.characters` returns them.
        answer: Its first character, and the one behind its last.
    """
    start, stop = answer
    first = np.searchsorted(characters[:, 1], start, side="right")
    return int(first), int(np.searchsorted(characters[:, 0], stop, side="left")) - 1


def _target(span: tuple[int, int], first: int, begin: int, count: int) -> tuple[int, int]:
    """Where an answer stands in a window, if it does with all of its tokens."""
    start, stop = span
    whole = first <= start <= stop < first + count
    return (begin + start - first, begin + stop - first) if whole else (0, 0)
