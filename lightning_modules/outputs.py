"""The outputs of a model for a batch, as arrays that stay on the device."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

NO_LABEL_NUMBER = -1  # in place of a label's number: the model wrote something else than a label
NOT_FINITE = -2  # in place of a label's number: the scores of the labels are not finite


class Outputs(NamedTuple):
    """The predictions for the examples of a batch.

    Tensors lie on the device of the model, and nothing has waited for it. Arrays of numpy may take their place.

    Attributes:
        probs: float32 [examples, labels], in the order of ``Task.distribution``; None where that is empty.
        answers: int64 [examples], the number of a label in ``Task.labels``, or :data:`NO_LABEL_NUMBER`, or
            :data:`NOT_FINITE`; texts [examples] where the answers are texts, with None for scores that are not
            finite; None where each answer is the most probable label, or the first of them.
    """

    probs: Tensor | np.ndarray | None = None
    answers: Tensor | np.ndarray | Sequence[str | None] | None = None


def most_probable(scores: Tensor) -> Tensor:
    """The number of the label with the highest score, the first of equal ones: int64 [examples].

    Args:
        scores: float [examples, labels]; a label that is ruled out has -inf.

    Returns:
        The numbers, with :data:`NOT_FINITE` where the highest score is not a finite number. Where rows have no
        probabilities, nothing else shows that a model broke down, and a check here would wait for the device.
    """
    return scores.argmax(dim=-1).masked_fill(~scores.amax(dim=-1).isfinite(), NOT_FINITE)


def label_numbers(answers: Sequence[str | None], labels: Sequence[str]) -> Tensor:
    """The numbers of labels by their names: int64 [answers].

    Args:
        answers: Names of labels, or another text for none of them; None where the outputs are not finite.
        labels: The labels, in order.

    Example:
        >>> label_numbers(["no", "(no label)", None], ["yes", "no"]).tolist()
        [1, -1, -2]
    """
    number = {None: NOT_FINITE} | {label: k for k, label in enumerate(labels)}
    return torch.tensor([number.get(answer, NO_LABEL_NUMBER) for answer in answers], dtype=torch.int64)
