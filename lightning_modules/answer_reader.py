"""Read the values that a user's function returns as answers: labels, free texts, probabilities, or no answer."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from heedful.records import NO_LABEL, SPAN, SettingError, Task, listing
from heedful.records.answers import Same, without_surrogates
from heedful.records.text import composed

ROUNDED = 1e-2  # largest distance of a sum of probabilities from 1
EXACT = 1e-6  # rounding error of the sum of a float32 softmax
KEYS = "answer", "label"  # keys under which a dictionary may hold the answer
Answer = str | np.ndarray  # a label, a text, or NO_LABEL; or probabilities, float32 [labels]


class Unreadable(Exception):
    """Raised if a function returned a value that cannot be read as an answer.

    The message ends a sentence that begins with "FUNCTION answered VALUE to INPUT".
    """


class AnswerReader:
    """Converts the values that a user's function returns to answers.

    Args:
        task: The task, which defines the labels.
        spellings: Maps each accepted spelling of a label to the label.
        same: Maps each free-text answer to its representative, the first answer read that is treated as equal; None if
            answers are labels.
        is_ordered: Whether the user gave the order of the labels; lists of probabilities require it.
        has_numbers: Whether an integer that is not a spelling is the index of a label in that order.
    """

    def __init__(
        self, task: Task, spellings: Mapping[str, str], same: Same | None, is_ordered: bool, has_numbers: bool
    ) -> None:
        self.task, self.same, self.is_ordered = task, same, is_ordered
        self.spellings = spellings
        self._by_case = {composed(text).lower(): label for text, label in spellings.items()}
        self._has_numbers = has_numbers and not any(label.isdecimal() for label in task.labels)

    @property
    def known(self) -> Mapping[str, str]:
        """Maps texts to their answers, for texts whose answer is known without a call of :meth:`read`.

        If answers are labels: maps each accepted spelling to its label. If answers are free texts: maps each text that
        was read earlier to its representative, the first text treated as equal.
        """
        return self.spellings if self.same is None else self.same.representatives

    def read(self, value: Any) -> Any:
        """Read one value that the function returned.

        Returns:
            A label, a free text or NO_LABEL. If the value holds probabilities, they are returned in the order of the
            labels, for :meth:`probabilities`, which checks them.

        Raises:
            Unreadable: The value is none of these.
            SettingError: The value holds probabilities, and the labels or, for a list, their order were not given.
        """
        value = plain_value(value)
        if isinstance(value, Mapping):
            inner = [value[key] for key in KEYS if key in value and key not in self.spellings]
            return self.read(inner[0]) if inner else self._in_order(value)
        if isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str):  # label and score
            return self.read(value[0])
        if isinstance(value, list | tuple | np.ndarray):
            self._require_labels(self.is_ordered)
            return value
        return NO_LABEL if value is None else self._label(value)

    def _label(self, value: Any) -> str:
        """Return the label that a value names; or for free texts, the representative of the text.

        The representative is the first text read so far that ``same`` treats as equal, such as "Paris." for "paris". An
        empty text is NO_LABEL (no answer), unless the answers of the task are spans. Unpaired surrogates are replaced.

        Raises:
            Unreadable: The value is neither a label nor a free text.
        """
        if not isinstance(value, str | int | float) or value != value:
            raise Unreadable(", which is not a label or a text. Return None where there is no answer.")
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, float) and self.same is not None:
            raise Unreadable(
                ", a number where texts are compared. Return probabilities, and name their labels=[...], or compare "
                "the number with a threshold."
            )
        text = without_surrogates(str(value)).strip()
        if not text and self.task.kind is not SPAN:
            return NO_LABEL
        if self.same is not None:
            return self.same(text)
        label = self.spellings.get(text) or self._by_case.get(composed(text).lower())
        is_place = self._has_numbers and type(value) is int and 0 <= value < len(self.task.labels)
        if label is None and isinstance(value, float):
            raise Unreadable(", which is not a label. Return a label, or the probabilities of all labels=[...].")
        if label is None and not is_place:
            raise Unreadable(
                f"; the labels are {listing(self.task.labels)}. Pass all labels as labels=[...], or same= for free "
                "texts; for heedful.score, to write_inputs."
            )
        return self.task.labels[value] if label is None else label

    def _in_order(self, value: Mapping[Any, Any]) -> list[Any]:
        """Convert a dictionary of label to probability to a list in the order of the labels; missing labels get 0."""
        self._require_labels(True)
        by_label: dict[str, Any] = {}
        for text, probability in value.items():
            label = self.read(text)
            if label in by_label:
                raise Unreadable(f", with two probabilities of {label!r}. Return one for each label.")
            by_label[label] = probability
        return [by_label.get(label, 0.0) for label in self.task.labels]

    def _require_labels(self, is_ordered: bool) -> None:
        if not self.task.labels or not is_ordered:
            raise SettingError(
                "predict returned probabilities in an unknown order. Name the labels in order: labels=[...]. Or return "
                "a label, or a dictionary {label: probability}, for each input."
            )

    def probabilities(self, values: Sequence[Any]) -> np.ndarray | int:
        """Check the probabilities of all inputs, and scale them to the sum 1.

        Args:
            values: For each input, the probabilities of the labels, as :meth:`read` returns them.

        Returns:
            float32 [inputs, labels]; or the index of the first input with invalid probabilities.
        """
        n = len(self.task.labels)
        arrays = [_floats(value, n) for value in values]
        if wrong := [place for place, array in enumerate(arrays) if array is None]:
            return wrong[0]
        probs = np.array(arrays)
        sums = probs.sum(axis=1, dtype=np.float64)
        sound = np.isfinite(probs).all(axis=1) & (probs >= 0).all(axis=1) & (np.abs(sums - 1) <= ROUNDED)
        if not sound.all():
            return int((~sound).argmax())
        sums[np.abs(sums - 1) <= EXACT] = 1  # keep the bits of a float32 softmax; half precision is renormalised
        return (probs / sums[:, None]).astype(np.float32)


def _floats(value: Any, n: int) -> np.ndarray | None:
    """Convert a list of ``n`` numbers to float32 [n]; return None for any other value."""
    try:
        array = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        return None
    return array if array.shape == (n,) else None


def plain_value(value: Any) -> Any:
    """Convert a tensor to a numpy array, and a scalar, an array with one element or an enum member to a Python value.

    Any other value is returned unchanged.
    """
    if hasattr(value, "detach"):  # a tensor of torch, which is imported if there is one
        value = value.detach().cpu()
        value = (value.float() if value.is_floating_point() else value).numpy()
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.size == 1):
        value = value.item()
    return value.value if isinstance(value, Enum) else value


def values_of(returned: Any) -> list[Any] | None:
    """Convert what a function returned for its inputs to a list of values; return None if it is not a sequence."""
    if hasattr(returned, "detach"):
        returned = returned.detach().cpu()
    is_sequence = hasattr(returned, "__len__") and hasattr(returned, "__getitem__") and not hasattr(returned, "columns")
    if isinstance(returned, str | bytes | Mapping) or not is_sequence or getattr(returned, "ndim", 1) == 0:
        return None
    return returned.tolist() if isinstance(returned, np.ndarray) and returned.ndim == 1 else list(returned)
