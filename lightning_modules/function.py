"""A model that calls a user's Python function, and knows nothing but the answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import unwrap
from typing import Any

import numpy as np

from heedful.lightning_modules.answer_reader import Answer, AnswerReader, Unreadable, values_of
from heedful.lightning_modules.base_predictor import BasePredictor
from heedful.lightning_modules.outputs import Outputs, label_numbers
from heedful.lightning_modules.predictor import Capabilities
from heedful.lightning_modules.processors.contents import FunctionProcessor, Inputs
from heedful.records import (
    NO_LABEL,
    SPAN,
    HeedfulError,
    ModelError,
    SettingError,
    Task,
    listing,
    printable,
)
from heedful.records.answers import Same

QUOTED = 20  # characters of a part or an answer that a message quotes
LONGEST = 80  # characters of an exception that a message quotes
MOST_QUOTED = 2  # parts of an input that a message quotes
STEADY = 1e-3  # largest difference of probabilities between two calls; other batches round otherwise
Predict = Callable[[list[dict[str, Any]]], Any]


class Answered:
    """The answers of a function so far; an interrupted measurement resumes from them.

    Attributes:
        source: Parts, labels, spellings and comparison of free texts with which the answers were parsed.
        is_steady: Whether the first batch was asked twice, and got the same answers.
        answers: Maps the key (64-bit hash) of an input to its answer.
        repeats: Maps the key of an input to its second answer, if the null control repeated the input.
    """

    def __init__(self, source: tuple[Any, ...]) -> None:
        self.source = source
        self.is_steady = False
        self.answers: dict[int, Answer] = {}
        self.repeats: dict[int, Answer] = {}

    def __len__(self) -> int:
        return len(self.answers)


class Function(BasePredictor):
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
        answered: The answers so far; None before :meth:`bind`, unless ``answers`` were given.
    """

    capabilities = Capabilities(ranks=1)
    is_object = True

    def __init__(  # typed Any, so that no config file can name a function
        self,
        predict: Any,
        labels: Any = None,
        same: Any = None,
        is_ordered: bool = False,
        answers: Any = None,
    ) -> None:
        super().__init__()
        if not callable(predict):
            raise SettingError(
                f"model.predict {predict!r} is not a function: it was in the memory of a Python program. Measure it "
                "with heedful.measure."
            )
        self.predict_rows: Predict = predict
        self._quote = getattr(predict, "quote", quoted)
        self.same: Same | None = same
        self.is_ordered = is_ordered
        self.spellings = {str(text): label for label, texts in (labels or {}).items() for text in (label, *texts)}
        self._has_numbers = is_ordered and not any((labels or {}).values())  # a spelling may be a number
        self.answered: Answered | None = answers
        self._need_probabilities: Sequence[str] = ()
        self._is_recorded = getattr(predict, "is_recorded", False)
        if self._is_recorded:
            self.capabilities = replace(self.capabilities, repeats=0)

    def prepare(self, task: Task) -> None:
        if task.kind is SPAN and self.same is None:
            self.same = Same("exact")
        if not task.labels and self.same is None:
            raise ModelError("predict answers with labels, and the data have none. Name them, as labels=[...].")
        self.task = task
        self.processor = FunctionProcessor(task.parts)
        self.spellings |= {label: label for label in task.labels}
        self._reader = AnswerReader(task, self.spellings, self.same, self.is_ordered, self._has_numbers)
        same = None if self.same is None else self.same.setting
        source = (task.parts, task.labels, tuple(sorted(self.spellings.items())), same)
        if self.answered is None:
            self.answered = Answered(source)
        if self.answered.source != source:
            raise SettingError("answers are answers to other parts, labels or spellings. Leave them out.")
        if self.same is not None:  # an earlier call may have met another spelling of an answer first
            for stored in (self.answered.answers, self.answered.repeats):
                for key, answer in stored.items():
                    stored[key] = answer if answer == NO_LABEL else self.same(str(answer))

    def require_probabilities(self, evaluations: Sequence[str]) -> None:
        """Make answers without probabilities an error; the message names the evaluations that need probabilities."""
        self._need_probabilities = evaluations

    @property
    def description(self) -> str:
        name = name_of(self.predict_rows)
        return "The function" if "<" in name else name  # such as "<lambda>"

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        """Return the predictions for inputs; the function is called for inputs without a stored answer.

        The inputs of the first batch and of the null control, which repeats inputs, are asked twice, to find answers
        that change.

        Raises:
            HeedfulError: The function raises, returns the wrong number of answers or an invalid one, or contradicts its
                earlier answer to an input.
        """
        batch: Inputs = inputs["function"]
        assert self.answered is not None
        answer_of, repeat_of, input_keys = self.answered.answers, self.answered.repeats, batch.keys.tolist()
        places = dict(zip(input_keys[::-1], range(len(input_keys))[::-1], strict=True))  # of the first of equal inputs
        new = np.array(sorted(place for key, place in places.items() if key not in answer_of), dtype=np.int64)
        answer_of |= zip(batch.keys[new].tolist(), self._ask(batch.take(new)), strict=True)
        is_first = not (self._is_recorded or self.answered.is_steady)  # the first batch reveals random answers
        repeated = np.flatnonzero((batch.again | is_first) & [key not in repeat_of for key in input_keys])
        for place, answer in zip(repeated.tolist(), self._ask(batch.take(repeated)), strict=True):
            self._require_steady(batch, place, answer_of[input_keys[place]], answer)
            if batch.again[place]:
                repeat_of[input_keys[place]] = answer
        self.answered.is_steady = True
        is_again = batch.again.tolist()
        return self._outputs(
            [(repeat_of if again else answer_of)[k] for k, again in zip(input_keys, is_again, strict=True)]
        )

    def _outputs(self, answers: list[Answer]) -> Outputs:
        if not self.task.kind.has_labels:
            return Outputs(answers=answers)  # type: ignore[arg-type]
        if isinstance(answers[0], str):
            return Outputs(answers=label_numbers(answers, self.task.labels))  # type: ignore[arg-type]
        probs = np.stack(answers)  # type: ignore[arg-type]
        return Outputs(probs) if self.task.distribution else Outputs(answers=probs.argmax(axis=-1))

    def _ask(self, inputs: Inputs) -> list[Answer]:
        """Call the user's function with some inputs, and return its parsed answers, one per input."""
        if not len(inputs):
            return []
        rows = inputs.rows
        first = f"{len(inputs)} inputs, first {quoted(rows[0])}"  # quoted before the function may change the rows
        try:
            returned = self.predict_rows(rows)
        except HeedfulError:
            raise
        except Exception as error:
            reason = cut(str(error).strip().partition("\n")[0], LONGEST)
            raise ModelError(
                f"{self.description} raised {type(error).__name__} ({reason}) for {first}. It receives a list of "
                "dictionaries."
            ) from error
        values = values_of(returned)
        if values is None:
            kind = "nothing" if returned is None else f"a {type(returned).__name__}"
            raise ModelError(f"{self.description} returned {kind} for {first}. Return a list of answers.")
        if len(values) != len(inputs):
            raise ModelError(
                f"{self.description} returned {len(values)} answers to {first}. Return one prediction for each input, "
                "in their order."
            )
        return self._read(values, inputs)

    def _read(self, values: list[Any], inputs: Inputs) -> list[Answer]:
        """Parse the values that the user's function returned to answers, one per input."""
        answer_of = self._reader.known
        answers: list[Any] = [answer_of.get(value) if type(value) is str else None for value in values]
        for place, answer in enumerate(answers) if None in answers else ():
            try:
                answers[place] = self._reader.read(values[place]) if answer is None else answer
            except Unreadable as reason:
                raise self._invalid_answer_error(values[place], inputs, place, str(reason)) from None
        assert self.answered is not None
        earlier = next(iter(self.answered.answers.values()), answers[0])
        if {isinstance(answer, str) for answer in (earlier, *answers)} == {True, False}:
            problem = ", and others with probabilities, or without. Return one or the other for all."
            raise self._invalid_answer_error(values[0], inputs, 0, problem)
        if isinstance(answers[0], str) and self._need_probabilities:
            problem = f". {listing(self._need_probabilities)} needs probabilities: return them, or leave it out."
            raise self._invalid_answer_error(values[0], inputs, 0, problem)
        if isinstance(answers[0], str):
            return answers
        probs = self._reader.probabilities(answers)
        if isinstance(probs, int):
            n = len(self.task.labels)
            problem = f". Return {n} probabilities from 0 to 1 with the sum 1, as softmax makes them."
            raise self._invalid_answer_error(values[probs], inputs, probs, problem)
        return list(probs)

    def _require_steady(self, inputs: Inputs, place: int, before: Answer, after: Answer) -> None:
        """Raise ModelError if the input at index ``place`` got two answers; probabilities may differ slightly."""
        if isinstance(before, str) or isinstance(after, str):
            is_same = isinstance(before, str) and isinstance(after, str) and before == after
        else:
            is_same = before.argmax() == after.argmax() or np.abs(before - after).max() <= STEADY
        if is_same:
            return
        again = cut(repr(self._label(after)))
        if any(isinstance(answer, str) and answer == NO_LABEL for answer in (before, after)):
            assert self.answered is not None
            del self.answered.answers[int(inputs.keys[place])]
            advice = "If a request failed, raise an exception in place of returning None."
        else:
            self.answered = None  # another call must not resume from unsteady answers
            advice = "Make the function deterministic, for example by model.eval() or a fixed seed."
        problem = f", and {again} when asked again. {advice}"
        raise self._invalid_answer_error(self._label(before), inputs, place, problem)

    def _label(self, answer: Answer) -> str:
        """Return the label that an answer stands for: the answer itself if it is a text, or the most probable label."""
        return answer if isinstance(answer, str) else self.task.labels[int(answer.argmax())]

    def _invalid_answer_error(self, value: Any, inputs: Inputs, place: int, problem: str) -> ModelError:
        """Return the error for an invalid answer to the input at index ``place``; ``problem`` ends its message."""
        row = self._quote(inputs.take(np.array([place])).rows[0])
        return ModelError(f"{self.description} answered {cut(repr(value))} to {row}{problem}")


def name_of(function: Any) -> str:
    """Return the name of a function without decorators and ``functools.partial``; for other objects, of their class."""
    function = unwrap(function)
    if isinstance(function, partial):
        return name_of(function.func)
    return getattr(function, "__name__", type(function).__name__)


def quoted(row: Mapping[str, Any]) -> str:
    """Quote the beginnings of the first two parts of an input, for a message."""
    pairs = [f"{part!r}: {cut(repr(value))}" for part, value in list(row.items())[:MOST_QUOTED]]
    return f"{{{', '.join(pairs)}{', ...' if len(row) > MOST_QUOTED else ''}}}"


def cut(text: str, most: int = QUOTED) -> str:
    """Shorten a text to ``most`` characters, and escape it for printing."""
    text = printable(text)
    return text if len(text) <= most else f"{text[:most]}..."
