"""Answers that somebody has recorded, in the place of a model."""

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from heedful.lightning_modules.function import Function, Inputs, quoted
from heedful.lightning_modules.outputs import Outputs
from heedful.records import NO_LABEL, ModelError


class Recorded(Function):
    """The answers of a model that is not at hand; nothing is asked.

    Args:
        name: What the model is called.
        labels: Label name to its further spellings among the answers.
        same: When two texts are one answer, where answers are free texts.
        is_ordered: Whether somebody says the order of the labels, so that an array of probabilities has a meaning.

    Attributes:
        unanswered: How many inputs have no answer.
        source: What messages call the file of the answers that are being added.
    """

    def __init__(
        self, name: str = "answers", labels: Any = None, same: Any = None, is_ordered: bool = False
    ) -> None:  # no file can name the answers
        super().__init__(_nobody, labels, same, is_ordered)
        self.name = name
        self.source = name
        self.unanswered = 0

    @property
    def description(self) -> str:
        return self.source

    def add(self, keys: np.ndarray, answers: Sequence[Any], rows: Sequence[int]) -> dict[int, str]:
        """Add answers: labels, texts, or probabilities as a list or by label.

        Args:
            keys: uint64 [answers], of the inputs that they are answers to.
            answers: The answers.
            rows: Where each stands in its file, for messages.

        Returns:
            The place of each that is not an answer, and why.

        Raises:
            HeedfulError: One cannot be what is meant, such as a label that is not known.
        """
        assert self.answered is not None
        are_probs = [isinstance(answer, list | dict) for answer in answers]
        if any(one != are_probs[0] for one in are_probs):
            other = {"row": rows[are_probs.index(not are_probs[0])]}
            raise ModelError(
                f"{self.description} holds probabilities for some inputs and not for others, as for {quoted(other)}. "
                "Give one or the other for all."
            )
        texts, probs = self._read(answers, Inputs({"row": [*rows]}, keys, np.zeros(len(keys), dtype=bool)))
        self.answered.add(keys, self.answered.numbered(texts), probs)
        return {}

    def finish(self) -> None:
        """Have all that was added be found."""
        assert self.answered is not None
        self.answered.index()

    def _label(self, value: Any, row: Mapping[str, Any]) -> str:
        return NO_LABEL if value == "" and self.same is None else super()._label(value, row)

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        assert self.answered is not None
        places = self.answered.find(inputs["function"].keys)
        if (places < 0).any():
            raise KeyError(f"{int((places < 0).sum())} inputs have no answer.")
        return self.outputs(*self.answered.at(places))

    def counts_of(self, counted: Mapping[tuple[str, str], int]) -> dict[str, Any]:
        return super().counts_of(counted) | ({"unanswered": self.unanswered} if self.unanswered else {})


def _nobody(inputs: list[dict[str, Any]]) -> NoReturn:
    raise NotImplementedError  # the model is not at hand
