"""A model that calls a user's Python function: its values are labels, free texts or probabilities."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from hashlib import sha256
from inspect import getsource, unwrap
from reprlib import Repr
from typing import Any

import numpy as np

from heedful.lightning_modules.outputs import Outputs, label_numbers
from heedful.lightning_modules.predictor import Capabilities, Predictor
from heedful.lightning_modules.processors.contents import FunctionProcessor, Inputs
from heedful.records import NO_LABEL, HeedfulError, ModelError, SettingError, Task, listing
from heedful.records.answers import Same, without_surrogates
from heedful.records.text import composed

LONGEST = 80  # characters of an exception that a message quotes
SHORT = Repr()
SHORT.maxdict, SHORT.maxstring, SHORT.maxother = 2, 30, 30  # parts of an input, and characters, that a message quotes
STEADY = 1e-3  # largest difference of probabilities between two calls; other batches round otherwise
ROUNDED = 1e-2  # largest distance of a sum of probabilities from 1
EXACT = 1e-6  # rounding error of the sum of a float32 softmax
ADDRESS = re.compile(" at 0x[0-9a-f]+")  # in the text of an object without one of its own
KEYS = "answer", "label"  # keys under which a dictionary may hold the answer
Answer = str | np.ndarray  # a label, a text, or NO_LABEL; or probabilities, float32 [labels]
Predict = Callable[[list[dict[str, Any]]], Any]
InputKey = tuple[int, bool]  # 64-bit hash of an input, and whether the null control repeats the input


class Unreadable(Exception):
    """A value is not an answer; the message ends a sentence that begins with "FUNCTION answered VALUE to INPUT"."""


@dataclass
class AnswerReader:
    """Converts the values that a user's function returns to answers."""

    task: Task
    spellings: Mapping[str, str]  # maps each accepted spelling of a label to the label
    same: Same | None  # maps a free text to the first text read that is equal; None if answers are labels
    is_ordered: bool  # whether the user gave the order of the labels; lists of probabilities require it
    has_numbers: bool  # whether an integer that is not a spelling is the index of a label in that order

    def __post_init__(self) -> None:
        self.labels = self.task.labels
        self.has_numbers = self.has_numbers and not any(label.isdecimal() for label in self.labels)
        self._by_case = {composed(text).lower(): label for text, label in self.spellings.items()}
        self._known = self.spellings if self.same is None else self.same.representatives  # enough for most answers

    def read(self, value: Any) -> Answer:
        """Read one value that the function returned.

        Returns:
            A label; a free text; probabilities, float32 [labels], which sum to 1; or NO_LABEL for no answer.

        Raises:
            Unreadable: The value is none of these.
            SettingError: The value holds probabilities, and the labels or, for a list, their order were not given.
        """
        if type(value) is str and (answer := self._known.get(value)) is not None:
            return answer
        value = plain_value(value)
        if isinstance(value, Mapping):
            inner = [value[key] for key in KEYS if key in value and key not in self.spellings]
            return self.read(inner[0]) if inner else self._probabilities(self._in_order(value), True)
        if isinstance(value, list | tuple) and len(value) == 2 and isinstance(value[0], str):  # label and score
            return self.read(value[0])
        if isinstance(value, list | tuple | np.ndarray):
            return self._probabilities(value, self.is_ordered)
        return NO_LABEL if value is None else self._label(value)

    def _label(self, value: Any) -> str:
        """Return the label that a value names; or for a free text, the first equal text read so far."""
        if not isinstance(value, str | int | float) or value != value:
            raise Unreadable(", which is not a label or a text. Return None where there is no answer.")
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        text = without_surrogates(str(value)).strip()
        if not text and not self.task.kind.has_spans:
            return NO_LABEL
        if self.same is not None and not isinstance(value, float):
            return self.same(text)
        label = self.spellings.get(text) or self._by_case.get(composed(text).lower())
        if label is not None:
            return label
        if isinstance(value, float):
            raise Unreadable(
                ", which is not a label or a text. Return the probabilities of all labels=[...], or compare the number "
                "with a threshold."
            )
        if self.has_numbers and type(value) is int and 0 <= value < len(self.labels):
            return self.labels[value]
        raise Unreadable(
            f"; the labels are {listing(self.labels)}. Pass all labels as labels=[...], or same= for free texts; for "
            "heedful.score, to write_inputs."
        )

    def _in_order(self, value: Mapping[Any, Any]) -> list[Any]:
        """Convert a dictionary of label to probability to a list in the order of the labels; missing labels get 0."""
        by_label: dict[Any, Any] = {}
        for text, probability in value.items() if self.labels else ():
            label = self.read(text)
            if label in by_label:
                raise Unreadable(f", with two probabilities of {label!r}. Return one for each label.")
            by_label[label] = probability
        return [by_label.get(label, 0.0) for label in self.labels]

    def _probabilities(self, values: Any, is_ordered: bool) -> np.ndarray:
        """Check the probabilities of the labels, and scale them to the sum 1."""
        if not self.labels or not is_ordered:
            raise SettingError(
                "predict returned probabilities in an unknown order. Name the labels in order: labels=[...]. Or return "
                "a label, or a dictionary {label: probability}, for each input."
            )
        try:
            probs = np.array(values, dtype=np.float32)  # a copy, since the function may fill its array again
        except (TypeError, ValueError):  # lists of different lengths, or no numbers
            probs = np.zeros(0, dtype=np.float32)
        total = probs.sum(dtype=np.float64)
        if probs.shape != (len(self.labels),) or not (probs >= 0).all() or not abs(total - 1) <= ROUNDED:  # or NaN
            raise Unreadable(f". Return {len(self.labels)} probabilities from 0 to 1 with the sum 1, as softmax does.")
        # the bits of a float32 softmax are kept; half precision is scaled
        return probs if abs(total - 1) <= EXACT else (probs / total).astype(np.float32)


class Function(Predictor):
    """A model whose answers come from a user's function, called in the process that measures the model.

    Args:
        predict: Takes a list of inputs, which are dictionaries of part name to content, and returns one answer per
            input: a label, the index of a label, a text, or None for no answer. It may instead return probabilities, as
            an array [inputs, labels] in the order of the labels, or as a dictionary of label to probability for each
            input. Its optional attribute ``quote`` maps an input to its description in messages. With the attribute
            ``is_recorded``, each input is asked once, and the null control, which asks again, is omitted.
        labels: Maps label names to alternative spellings in the answers.
        same: Compares free-text answers; None if answers are labels.
        is_ordered: Whether the order of the labels was given; arrays of probabilities require it.
        answers: ``Function.answered`` of an interrupted call; these inputs are not asked again.

    Attributes:
        answered: The answers so far, by the hash of the input and whether the null control repeats the input.
    """

    capabilities = Capabilities(in_memory=True, ranks=1)

    def __init__(
        self, predict: Any, labels: Any = None, same: Any = None, is_ordered: bool = False, answers: Any = None
    ) -> None:  # typed Any, so that no config file can name a function
        super().__init__()
        if not callable(predict):
            raise SettingError(
                f"model.predict {predict!r} is not a function: it was in the memory of a Python program. Measure it "
                "with heedful.measure."
            )
        self.predict_rows: Predict = predict
        self._quote = getattr(predict, "quote", SHORT.repr)
        self.same: Same | None = same
        self.is_ordered = is_ordered
        self.spellings = {str(text): label for label, texts in (labels or {}).items() for text in (label, *texts)}
        self._has_numbers = is_ordered and not any((labels or {}).values())  # a spelling may be a number
        self.answered: dict[InputKey, Answer] = dict(answers or {})
        self._need_probabilities: Sequence[str] = ()
        if getattr(predict, "is_recorded", False):
            self.capabilities = replace(self.capabilities, repeats=0)

    def prepare(self, task: Task) -> None:
        if task.kind.has_spans and self.same is None:
            self.same = Same("exact")
        if not task.labels and self.same is None:
            raise ModelError("predict answers with labels, and the data have none. Name them, as labels=[...].")
        self.processor = FunctionProcessor(task.parts)
        spellings = self.spellings | {label: label for label in task.labels}
        self._reader = AnswerReader(task, spellings, self.same, self.is_ordered, self._has_numbers)
        for key, answer in self.answered.items():  # an earlier call may have met another spelling of a text first
            if self.same is not None and isinstance(answer, str) and answer != NO_LABEL:
                self.answered[key] = self.same(answer)

    def require_probabilities(self, evaluations: Sequence[str]) -> None:
        """Make answers without probabilities an error; the message names the evaluations that need probabilities."""
        self._need_probabilities = evaluations

    @property
    def description(self) -> str:
        name = name_of(self.predict_rows)
        return "The function" if "<" in name else name  # such as "<lambda>"

    @property
    def source(self) -> str | None:
        """Hash of the source of the function, with its bound arguments and closure; None if the source is unknown, or
        the answers are recorded.
        """
        function = inner = unwrap(self.predict_rows)
        while isinstance(inner, partial):
            inner = inner.func
        if getattr(inner, "is_recorded", False):
            return None
        try:
            text = getsource(inner if hasattr(inner, "__code__") else type(inner))
        except (OSError, TypeError):
            return None
        bound = (function.args, function.keywords) if isinstance(function, partial) else ()
        cells = [getattr(cell, "cell_contents", None) for cell in getattr(inner, "__closure__", None) or ()]
        values = [value for value in cells if isinstance(value, str | int | float | bool | tuple)]
        return sha256(ADDRESS.sub("", f"{text}{bound}{values}").encode("utf-8", "replace")).hexdigest()

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        """Return the predictions for inputs; the function is called for inputs without a stored answer.

        Raises:
            HeedfulError: The function raises, returns the wrong number of answers or an invalid one, or contradicts its
                answer to an input that the null control repeats.
        """
        batch: Inputs = inputs["function"]
        keys: list[InputKey] = list(zip(batch.keys.tolist(), batch.again.tolist(), strict=True))
        first = {key: place for place, key in reversed([*enumerate(keys)]) if key not in self.answered}
        if places := sorted(first.values()):  # equal inputs are asked once
            self.answered |= zip((keys[i] for i in places), self._ask(batch.take(np.array(places))), strict=True)
        for place in places:
            if batch.again[place]:
                self._require_steady(batch, place, keys[place][0])
        return self._outputs([self.answered[key] for key in keys])

    def _outputs(self, answers: list[Answer]) -> Outputs:
        if not self.task.kind.has_labels:
            return Outputs(answers=answers)  # type: ignore[arg-type]
        if isinstance(answers[0], str):
            return Outputs(answers=label_numbers(answers, self.task.labels))  # type: ignore[arg-type]
        probs = np.stack(answers)  # type: ignore[arg-type]
        return Outputs(probs) if self.task.distribution else Outputs(answers=probs.argmax(axis=-1))

    def _ask(self, inputs: Inputs) -> list[Answer]:
        """Call the user's function with some inputs, and return its parsed answers, one per input."""
        rows = inputs.rows
        first = f"{len(inputs)} inputs, first {SHORT.repr(rows[0])}"  # quoted before the function may change the rows
        try:
            returned = self.predict_rows(rows)
        except HeedfulError:
            raise
        except Exception as error:
            reason = str(error).strip().partition("\n")[0][:LONGEST]
            raise ModelError(
                f"{self.description} raised {type(error).__name__} ({reason}) for {first}. It receives a list of "
                "dictionaries."
            ) from error
        if not _is_sequence(returned):
            kind = "nothing" if returned is None else f"a {type(returned).__name__}"
            raise ModelError(f"{self.description} returned {kind} for {first}. Return a list of answers.")
        if len(returned) != len(inputs):
            raise ModelError(
                f"{self.description} returned {len(returned)} answers to {first}. Return one prediction for each "
                "input, in their order."
            )
        return self._read(list(returned), inputs)

    def _read(self, values: list[Any], inputs: Inputs) -> list[Answer]:
        """Parse the values that the user's function returned to answers, one per input."""
        answers: list[Answer] = []
        try:
            for value in values:
                answers.append(self._reader.read(value))
            earlier = next(iter(self.answered.values()), answers[0])
            if len({isinstance(answer, str) for answer in (earlier, *answers)}) > 1:
                raise Unreadable(", and others with probabilities, or without. Return one or the other for all.")
            if isinstance(answers[0], str) and self._need_probabilities:
                needing = listing(self._need_probabilities)
                raise Unreadable(f". {needing} needs probabilities: return them, or leave it out.")
        except Unreadable as reason:
            place = len(answers) % len(values)  # the first one, if the reason concerns them all
            raise self._invalid_answer_error(values[place], inputs, place, str(reason)) from None
        return answers

    def _require_steady(self, inputs: Inputs, place: int, content: int) -> None:
        """Raise ModelError if the null control got another answer to an input; probabilities may differ slightly."""
        before, after = pair = self.answered[content, False], self.answered[content, True]
        texts = [answer if isinstance(answer, str) else self.task.labels[answer.argmax()] for answer in pair]
        if texts[0] == texts[1] or (not isinstance(before, str) and np.abs(before - after).max() <= STEADY):
            return
        if NO_LABEL in texts:  # other answers without a label may be failures, too: the next call asks again
            self.answered = {k: a for k, a in self.answered.items() if not isinstance(a, str) or a != NO_LABEL}
            advice = "If a request failed, raise an exception in place of returning None."
        else:
            self.answered.clear()  # another call must not resume from unsteady answers
            advice = "Make the function deterministic, for example by model.eval() or a fixed seed."
        problem = f", and {SHORT.repr(texts[1])} when asked again. {advice}"
        raise self._invalid_answer_error(texts[0], inputs, place, problem)

    def _invalid_answer_error(self, value: Any, inputs: Inputs, place: int, problem: str) -> ModelError:
        """Return the error for an invalid answer to the input at index ``place``; ``problem`` ends its message."""
        row = self._quote(inputs.take(np.array([place])).rows[0])
        return ModelError(f"{self.description} answered {SHORT.repr(value)} to {row}{problem}")


def plain_value(value: Any) -> Any:
    """Convert a tensor to an array, and a scalar, an array with one element or an enum member to a Python value."""
    if hasattr(value, "detach"):  # a tensor of torch, which is imported if there is one
        value = value.detach().cpu()
        value = (value.float() if value.is_floating_point() else value).numpy()
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.size == 1):
        value = value.item()
    return value.value if isinstance(value, Enum) else value


def _is_sequence(returned: Any) -> bool:
    """Whether a value is a list, tuple, array, tensor or series, but no text, mapping, frame or scalar."""
    is_other = isinstance(returned, str | bytes | Mapping) or hasattr(returned, "columns")
    return not is_other and hasattr(returned, "__getitem__") and getattr(returned, "ndim", 1) > 0


def name_of(function: Any) -> str:
    """Return the name of a function without decorators and ``functools.partial``; for other objects, of their class."""
    function = unwrap(function)
    if isinstance(function, partial):
        return name_of(function.func)
    return getattr(function, "__name__", type(function).__name__)
