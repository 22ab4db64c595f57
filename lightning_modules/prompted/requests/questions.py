"""Examples to questions of a prompt, for models behind a server."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from heedful.lightning_modules.processors.processor import Processor
from heedful.records import Composed, Example, column
from heedful.records.prompts.prompt import Prompt


class QuestionProcessor(Processor):
    """Makes the questions about examples.

    Args:
        prompt: Says how a question is put.
    """

    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt
        self._around = len(prompt.text(""))

    def _questions(self, examples: Sequence[Example]) -> list[str]:
        parts = [column(examples, f"parts.{part}") for part in self.prompt.task.parts]
        return [self.prompt.question(values) for values in zip(*parts, strict=True)]

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        """Characters of each prompt, with its demonstrations: int32 [examples]."""
        return np.array([self._around + len(text) for text in self._questions(examples)], dtype=np.int32)

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        """``questions``, texts [examples], and ``repeats``, 1 for an example of the null control: ints [examples]."""
        repeated = examples.repeated if isinstance(examples, Composed) else np.zeros(len(examples), dtype=bool)
        return {"questions": self._questions(examples), "repeats": repeated.astype(int).tolist()}
