"""``Outputs``: the predictions of a model for a batch."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

NO_LABEL_NUMBER = -1  # in place of a label's number: the model wrote something else than a label
NOT_FINITE = -2  # in place of a label's number: the scores of the labels are not finite
Scale = Literal["probability", "logit"]  # of what an attribution explains


class Outputs(NamedTuple):
    """The predictions for the examples of a batch: numpy arrays, or tensors on the device of the model.

    Attributes:
        probs: Probabilities, float32 [examples, labels], in the order of ``Task.distribution``; None if the model has
            none.
        answers: Indices of labels in ``Task.labels``, int64 [examples], :data:`NO_LABEL_NUMBER` or :data:`NOT_FINITE`;
            or free texts, None for scores that are not finite. The attribute is None if each answer is the most
            probable label (in a tie, the first).
        scores: Numbers that are no probabilities, such as margins: float64 [examples]; None if the model has none.
    """

    probs: "Tensor | np.ndarray | None" = None
    answers: "Tensor | np.ndarray | Sequence[str | None] | None" = None
    scores: "Tensor | np.ndarray | None" = None


def most_probable(scores: "Tensor") -> "Tensor":
    """Return the index of the label with the highest score, the first in a tie: int64 [examples].

    Args:
        scores: float [examples, labels]; -inf excludes a label. If the highest score is not finite, the index is
            :data:`NOT_FINITE`.
    """
    return scores.argmax(dim=-1).masked_fill(~scores.amax(dim=-1).isfinite(), NOT_FINITE)


def label_numbers(answers: Sequence[str | None], labels: Sequence[str]) -> np.ndarray:
    """Convert label names to indices, other texts to NO_LABEL_NUMBER, and None to NOT_FINITE: int64 [answers].

    Example:
        >>> label_numbers(["no", "(no label)", None], ["yes", "no"]).tolist()
        [1, -1, -2]
    """
    number = {None: NOT_FINITE} | {label: k for k, label in enumerate(labels)}
    return np.array([number.get(answer, NO_LABEL_NUMBER) for answer in answers], dtype=np.int64)
