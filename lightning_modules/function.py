"""A function of the user's as a model: it is asked, and nothing is known of it but its answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, cast

import numpy as np
import torch

from heedful.lightning_modules.base_predictor import BasePredictor
from heedful.lightning_modules.outputs import NO_LABEL_NUMBER, Outputs
from heedful.lightning_modules.predictor import Capabilities
from heedful.lightning_modules.processors.processor import NumberProcessor, combined
from heedful.records import (
    EMPTIED,
    NO_LABEL,
    SPAN,
    Composed,
    DataError,
    Example,
    Examples,
    HeedfulError,
    ModelError,
    SettingError,
    Table,
    Task,
    column,
    keys,
    listing,
    printable,
)
from heedful.records.same import Same

TOGETHER = 8192  # inputs whose contents are fetched at once
QUOTED = 20  # characters of each part that a message quotes, and of what a function said
LONGEST = 32  # of what it raised
MOST_QUOTED = 2  # parts of an input
ROUNDED = 1e-2  # how far a sum of probabilities may be from 1
EXACT = 1e-6  # how far that of a softmax in single precision is
PLAIN = {str, int, bool, type(None)}  # types of answers that are not probabilities
STEADY = 1e-3  # by how much probabilities may differ that a model computes in other batches
Predict = Callable[[list[dict[str, Any]]], Any]


class Inputs:
    """The inputs of a batch, which Lightning does not look through for tensors.

    Attributes:
        parts: Part name to the contents of all.
        keys: A 64-bit hash of the content of each: uint64 [inputs].
        again: Which of them the null control asks again: bool [inputs].
    """

    def __init__(self, parts: dict[str, list[Any]], keys: np.ndarray, again: np.ndarray) -> None:
        self.parts = parts
        self.keys = keys
        self.again = again

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Part name to content of each, made anew: a function may change what it gets."""
        (first, contents), *others = self.parts.items()
        rows = [{first: content} for content in contents]
        for part, contents in others:
            for row, content in zip(rows, contents, strict=True):
                row[part] = content
        return rows

    def at(self, place: int) -> dict[str, Any]:
        """One of them, part name to content."""
        return {part: contents[place] for part, contents in self.parts.items()}

    def take(self, places: np.ndarray) -> "Inputs":
        """Some of them, by ascending place."""
        if len(places) == len(self):
            return self
        parts = {part: [contents[i] for i in places.tolist()] for part, contents in self.parts.items()}
        return Inputs(parts, self.keys[places], self.again[places])


class FunctionProcessor(NumberProcessor):
    """Makes the dictionaries that a function gets. What the function reads of them is not known.

    Args:
        parts: Names of the parts.
    """

    def __init__(self, parts: Sequence[str]) -> None:
        self.parts = tuple(parts)
        self._hashes = np.zeros(0, dtype=np.uint64)  # of each content by its number
        self._bytes = np.zeros(0, dtype=np.int64)

    def _numbers(self, examples: Sequence[Example]) -> np.ndarray:
        numbers = np.empty((len(self.parts), len(examples)), dtype=np.int32)
        for row, part in enumerate(self.parts):
            texts = [value if isinstance(value, str) else value.encode() for value in column(examples, f"parts.{part}")]
            numbers[row] = np.arange(len(texts)) + len(self._bytes)
            self._hashes = np.concatenate([self._hashes, keys(texts)])
            self._bytes = np.concatenate([self._bytes, [len(text.encode()) for text in texts]]).astype(np.int64)
        return numbers

    def lengths(self, examples: Sequence[Example]) -> np.ndarray:
        """Bytes of all parts: int32 [examples]."""
        numbers = self.numbers(examples)  # which may add to what is looked up
        return self._bytes[numbers].sum(axis=0).astype(np.int32)

    def hashed(self, examples: Sequence[Example]) -> np.ndarray:
        """A 64-bit hash of the content of each example: uint64 [examples]."""
        numbers = self.numbers(examples)  # which may add to what is looked up
        return combined(self._hashes[numbers])

    def batches(self, examples: Sequence[Example], batches: Sequence[np.ndarray]) -> Iterator[dict[str, Any]]:
        examples = Composed.whole(examples) if isinstance(examples, Examples) else examples
        hashed = self.hashed(examples)
        again = examples.repeated
        ends = np.cumsum([0, *map(len, batches)])
        start = 0
        while start < len(batches):  # contents of thousands of examples are fetched together
            stop = max(start + 1, int(np.searchsorted(ends, ends[start] + TOGETHER, "right")) - 1)
            several = np.concatenate(batches[start:stop])
            contents = self._contents(examples.take(several))
            for batch, end in zip(batches[start:stop], ends[start + 1 : stop + 1] - ends[start], strict=True):
                parts = {part: of_part[end - len(batch) : end] for part, of_part in contents.items()}
                yield {"function": Inputs(parts, hashed[batch], again[batch])}
            start = stop

    def __call__(self, examples: Sequence[Example]) -> dict[str, Any]:
        again = examples.repeated if isinstance(examples, Composed) else np.zeros(len(examples), dtype=bool)
        return {"function": Inputs(self._contents(examples), self.hashed(examples), again)}

    def _contents(self, examples: Sequence[Example]) -> dict[str, list[Any]]:
        """Part name to the contents of all examples."""
        return {part: self._values(examples, part) for part in self.parts}

    def _values(self, examples: Sequence[Example], part: str) -> list[Any]:
        """The content of a part of each example: a text, or a table as a dictionary."""
        if isinstance(examples, Composed) and part not in examples.pool.kinds and len(examples):
            lenders = examples.lenders.get(part, examples.positions)
            if max(examples.positions.max(), lenders.max()) < len(examples.pool) and lenders.min() != EMPTIED:
                return examples.pool.texts(f"parts.{part}", lenders).to_pylist()
        return [_plain(value) for value in column(examples, f"parts.{part}")]


def _plain(part: Any) -> Any:
    return {"title": part.title, **part.values} if isinstance(part, Table) else part


class Answered:
    """The answers of a function so far: some twenty bytes an input, and its probabilities.

    Attributes:
        of: What the answers are of, which another call has to have as well to go on with them.
        texts: The different answers: those that are known from the beginning, and others in the order of their coming.
    """

    def __init__(self, of: tuple[Any, ...], texts: Sequence[str] = ()) -> None:
        self.of = of
        self.texts = list(texts)
        self._numbers = {text: number for number, text in enumerate(texts)}
        self._added: list[tuple[np.ndarray, np.ndarray, np.ndarray | None]] = []
        self._sorted: tuple[np.ndarray, np.ndarray, np.ndarray | None] | None = None  # of those that can be found

    def __len__(self) -> int:
        return sum(len(added_keys) for added_keys, _, _ in self._added)

    def numbered(self, answers: Sequence[str]) -> np.ndarray:
        """The places of answers in ``texts``, which grow by those that are new: int32 [answers]."""
        places = list(map(self._numbers.get, answers))
        if None in places:
            for answer in dict.fromkeys(answers):
                if answer not in self._numbers:
                    self._numbers[answer] = len(self.texts)
                    self.texts.append(answer)
            places = list(map(self._numbers.get, answers))
        return np.array(places, dtype=np.int32)

    def rewrite(self, write: Callable[[str], str]) -> None:
        """Write each different answer in another way, which may be the same for several."""
        written = [text if text == NO_LABEL else write(text) for text in self.texts]
        self.texts, self._numbers = [], {}
        places = self.numbered(written)
        self._added = [(keys, places[numbers], probs) for keys, numbers, probs in self._added]

    def add(self, keys: np.ndarray, numbers: np.ndarray, probs: np.ndarray | None) -> None:
        """Keep the answers to some inputs, given by their keys."""
        self._added.append((keys, numbers, probs))

    def index(self) -> None:
        """Have all that was added be found."""
        if self._added:
            added_keys, numbers, probs = zip(*self._added, strict=True)
            whole = np.concatenate(added_keys)
            order = np.argsort(whole, kind="stable")
            of_all = None if probs[0] is None else np.concatenate(probs)[order]
            self._sorted = whole[order], np.concatenate(numbers)[order], of_all

    def find(self, keys: np.ndarray) -> np.ndarray:
        """Where the answer to each input stands, -1 where there is none: int64 [inputs]."""
        if self._sorted is None:
            return np.full(len(keys), -1)
        sorted_keys = self._sorted[0]
        places = sorted_keys.searchsorted(keys)
        places[places == len(sorted_keys)] = 0
        return np.where(sorted_keys[places] == keys, places, -1)

    def counts(self) -> dict[str, int]:
        """How many inputs that can be found have each answer, of those that were given."""
        if self._sorted is None:
            return {}
        numbers, counts = np.unique(self._sorted[1], return_counts=True)
        return {self.texts[number]: int(n) for number, n in zip(numbers, counts, strict=True)}

    def at(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """The answers at some places, int32 [places], and their probabilities, float32 [places, labels]."""
        assert self._sorted is not None
        _, numbers, probs = self._sorted
        return numbers[places], _taken(probs, places)


class Function(BasePredictor):
    """A function that answers, asked on rank 0 alone.

    Args:
        predict: Gets a list of dictionaries, part name to content, and returns as many answers in their order: labels,
            texts, or None for no answer; or probabilities, as an array [inputs, labels] in the order of the labels, or
            as a dictionary of label to probability for each input. Its ``quote``, if it has one, names an input in a
            message.
        labels: Label name to its further spellings among the answers.
        same: When two texts are one answer, where answers are free texts.
        is_ordered: Whether somebody says the order of the labels, so that an array of probabilities has a meaning.
        answers: Answers of a call that was stopped, ``Function.answered`` there: they are not asked for again.
        doubtful: Default label that nothing but the answers can confirm: refused if it is never an answer.

    Attributes:
        answered: The answers so far; None before :meth:`bind`, unless ``answers`` were given.
    """

    capabilities = Capabilities(ranks=1)
    is_object = True

    def __init__(  # no file can name a function
        self,
        predict: Any,
        labels: Any = None,
        same: Any = None,
        is_ordered: bool = False,
        answers: Any = None,
        doubtful: Any = None,
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
        spellings = {str(other): label for label, others in (labels or {}).items() for other in (label, *others)}
        self.spellings = spellings
        self.answered: Answered | None = answers
        self.doubtful: str | None = doubtful
        self._is_from_before = False
        self._is_steady = False
        self._has_probabilities: bool | None = None

    def prepare(self, task: Task) -> None:
        if task.kind is SPAN and self.same is None:
            self.same = Same("exact")
        if not task.labels and self.same is None:
            raise ModelError("predict answers with labels, and the data have none. Name them, as labels=[...].")
        self.task = task
        self.processor = FunctionProcessor(task.parts)
        self.spellings |= {label: label for label in task.labels}
        self._by_case = {text.lower(): label for text, label in self.spellings.items()}
        same = None if self.same is None else self.same.given
        of = (task.parts, task.labels, tuple(sorted(self.spellings.items())), same)
        if self.answered is not None and self.answered.of != of:
            raise SettingError("answers are answers to other parts, labels or spellings. Leave them out.")
        if self.answered is None:
            self.answered = Answered(of, (*task.labels, NO_LABEL) if task.kind.has_labels else ())
        if self.same is not None:  # another call may have been the first to see an answer in another spelling
            self.answered.rewrite(self.same)
        self._is_from_before = len(self.answered) > 0
        self._is_steady = self._is_from_before  # or else it is seen below
        self.answered.index()

    @property
    def description(self) -> str:
        name = getattr(self.predict_rows, "__name__", type(self.predict_rows).__name__)
        return "The function" if "<" in name else name  # <lambda>

    def answer(self, inputs: dict[str, Any]) -> Outputs:
        """Ask for the answers to some inputs, but for those that are kept from a call that was stopped.

        Raises:
            HeedfulError: The function raises, returns another number of answers or what is none, or answers an input
                otherwise than before.
        """
        batch: Inputs = inputs["function"]
        again = batch.again
        assert self.answered is not None
        places = self.answered.find(batch.keys)
        if (places[again] < 0).any():  # the first of the null control: all base answers are there
            self.answered.index()
            places = self.answered.find(batch.keys)
        if again.any() and self.doubtful is not None:
            self._require_default(self.doubtful)
            self.doubtful = None
        if self._is_from_before and (places >= 0).any():  # the first of those of a call that was stopped
            again = again | (places >= 0)
            self._is_from_before = False
        (asked,) = (again | (places < 0)).nonzero()
        those = batch.take(asked)
        numbers, probs = self._ask(those)
        if not self._is_steady:  # chance is found out by the first batch, before all others are asked
            self._is_steady = True
            self._require_steady(those, (numbers, probs), self._ask(those))
        if again.any():
            (here,) = (again[asked] & (places[asked] >= 0)).nonzero()
            before = self.answered.at(places[asked[here]])
            self._require_steady(those.take(here), before, (numbers[here], _taken(probs, here)))
        (new,) = (~again[asked]).nonzero()
        if len(new):
            self.answered.add(those.keys[new], numbers[new], _taken(probs, new))
        if len(asked) < len(batch):
            numbers, probs = self._joined(places, asked, numbers, probs)
        return self.outputs(numbers, probs)

    def outputs(self, numbers: np.ndarray, probs: np.ndarray | None) -> Outputs:
        """What the engine gets of numbered answers and their probabilities."""
        assert self.answered is not None
        if not self.task.kind.has_labels:
            return Outputs(answers=[self.answered.texts[i] for i in numbers.tolist()])
        if probs is not None and self.task.distribution:
            return Outputs(torch.from_numpy(probs))
        is_label = numbers < len(self.task.labels)
        return Outputs(answers=torch.from_numpy(np.where(is_label, numbers, NO_LABEL_NUMBER).astype(np.int64)))

    def _joined(
        self, places: np.ndarray, asked: np.ndarray, numbers: np.ndarray, probs: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """The answers of a batch of which some are kept from before."""
        assert self.answered is not None
        answered_before = np.setdiff1d(np.arange(len(places)), asked, assume_unique=True)
        earlier_numbers, earlier_probs = self.answered.at(places[answered_before])
        order = np.argsort(np.concatenate([answered_before, asked]))
        whole = None
        if earlier_probs is not None:
            whole = (earlier_probs if probs is None else np.concatenate([earlier_probs, probs]))[order]
        return np.concatenate([earlier_numbers, numbers])[order], whole

    def _ask(self, inputs: Inputs) -> tuple[np.ndarray, np.ndarray | None]:
        """The answers to some inputs, as :meth:`Answered.numbered` numbers them, and their probabilities."""
        assert self.answered is not None
        if not len(inputs):
            return np.zeros(0, dtype=np.int32), None
        try:
            said = self.predict_rows(inputs.rows)
        except HeedfulError:
            raise
        except Exception as error:
            row, error = self._first_failing(inputs, error)
            reason = cut(str(error).strip().partition("\n")[0], LONGEST)
            raise ModelError(
                f"{self.description} raised {type(error).__name__} ({reason}) for {quoted(row)}. Correct it, or have "
                "it return None for no answer."
            ) from error
        answers, probs = self._read(said, inputs)
        return self.answered.numbered(answers), probs

    def _first_failing(self, inputs: Inputs, error: Exception) -> tuple[dict[str, Any], Exception]:
        """The first input of a batch for which the function raises, asked alone; or that of the batch, if none does."""
        for place in range(len(inputs)) if len(inputs) > 1 else ():
            try:
                self.predict_rows([inputs.at(place)])
            except Exception as alone:
                return inputs.at(place), alone
        return inputs.at(0), error

    def _read(self, said: Any, inputs: Inputs) -> tuple[list[str], np.ndarray | None]:
        """What a function returned, as answers and probabilities."""
        said = _as_numpy(said)
        if isinstance(said, str | bytes | Mapping) or not hasattr(said, "__len__") or not _is_list(said):
            kind = "nothing" if said is None else f"a {type(said).__name__}"
            raise ModelError(
                f"{self.description} returned {kind} for {len(inputs)} inputs from {quoted(inputs.at(0))} on. Return a "
                "list of answers."
            )
        if len(said) != len(inputs):
            wrong = f"{self.description} returned {len(said)} answers to {len(inputs)} inputs from"
            raise ModelError(
                f"{wrong} {quoted(inputs.at(0))} on. Return one prediction for each input, in their order."
            )
        values = said.tolist() if hasattr(said, "tolist") and said.ndim == 1 else list(said)
        types = set(map(type, values))
        if types <= PLAIN:
            has_probabilities = False
        else:
            values = list(map(_as_numpy, values))
            first = next((value for value in values if value is not None), None)
            has_probabilities = isinstance(first, Mapping) or (
                not isinstance(first, str | bytes) and hasattr(first, "__len__") and _is_list(first)
            )
        if self._has_probabilities is None:
            self._has_probabilities = has_probabilities
        elif self._has_probabilities != has_probabilities:
            wrong = f"{self.description} returned probabilities for some inputs and not for others, as for"
            raise ModelError(f"{wrong} {self._quote(inputs.at(0))}. Return one or the other for all.")
        if has_probabilities:
            probs = self._probabilities(values, inputs)
            labels = self.task.labels
            return [labels[i] for i in probs.argmax(axis=1).tolist()], probs
        label_of = self.spellings if self.same is None else self.same.representatives
        if types == {str}:
            answers = list(map(label_of.get, values))
        else:
            answers = [label_of.get(value) if type(value) is str else None for value in values]
        for place, answer in enumerate(answers) if None in answers else ():
            if answer is None:
                answers[place] = self._label(values[place], inputs.at(place))
        return cast(list[str], answers), None

    def _label(self, value: Any, row: Mapping[str, Any]) -> str:
        """An answer as the name of its label, or as the text that stands for it."""
        if value is None or (self.same is None and isinstance(value, str) and not value):
            return NO_LABEL
        value = value.item() if isinstance(value, np.generic | np.ndarray) and np.size(value) == 1 else value
        value = value.value if isinstance(value, Enum) else value
        if not isinstance(value, str | int | float) or value != value:
            raise ModelError(
                f"{self.description} answered {cut(repr(value))} to {self._quote(row)}, which is not a label or a text"
                ". Return None where there is no answer."
            )
        text = str(value).strip() if not isinstance(value, float) or value % 1 else str(int(value))
        if self.same is not None:
            return self.same(text)
        label = self.spellings.get(text) or self._by_case.get(text.lower())
        if label is None:
            raise self._unknown(text, row)
        return label

    def _unknown(self, text: str, row: Mapping[str, Any]) -> HeedfulError:
        wrong = f"{self.description} answered {cut(repr(text))} to {self._quote(row)}; the labels are"
        return ModelError(f"{wrong} {listing(self.task.labels)}. Name all: labels=[...]; of texts, same=.")

    def _probabilities(self, values: list[Any], inputs: Inputs) -> np.ndarray:
        """Probabilities as an array, float32 [inputs, labels]."""
        labels = self.task.labels
        is_named = all(value is None or isinstance(value, Mapping) for value in values)
        if not labels or not (self.is_ordered or is_named):
            raise SettingError(
                f"{self.description} returned probabilities, and nobody says in which order. Name them in their order, "
                "as labels=[...]."
            )
        if any(isinstance(value, Mapping) for value in values):
            values = [
                self._in_order(value, inputs.at(place)) if isinstance(value, Mapping) else value
                for place, value in enumerate(values)
            ]
        try:
            probs = np.array([np.asarray(value, dtype=np.float32) for value in values], dtype=np.float32)
        except (TypeError, ValueError):
            probs = np.zeros((0, 0), dtype=np.float32)
        if probs.shape != (len(inputs), len(labels)):
            wrong = f"{self.description} did not return {len(labels)} probabilities for inputs from"
            raise ModelError(f"{wrong} {self._quote(inputs.at(0))} on. Return those of {listing(labels)}.")
        sums = probs.sum(axis=1, dtype=np.float64)
        sound = np.isfinite(probs).all(axis=1) & (probs >= 0).all(axis=1) & (np.abs(sums - 1) <= ROUNDED)
        if not sound.all():
            at = int((~sound).argmax())
            raise ModelError(
                f"{self.description} returned {cut(str(values[at]))} for {self._quote(inputs.at(at))}. Return "
                "probabilities from 0 to 1 with the sum 1, as softmax makes them."
            )
        sums[np.abs(sums - 1) <= EXACT] = 1  # so that each bit stays
        return (probs / sums[:, None]).astype(np.float32)  # a model in half precision rounds them

    def _in_order(self, value: Any, row: Mapping[str, Any]) -> list[Any]:
        """The probabilities of a dictionary, in the order of the labels."""
        by_label: dict[str, Any] = {}
        for text, probability in value.items():
            label = self._label(text, row)
            if label in by_label:
                raise ModelError(
                    f"{self.description} returned two probabilities of {cut(label)!r} for {self._quote(row)}. Return "
                    "one for each label."
                )
            by_label[label] = probability
        return [by_label.get(label, 0.0) for label in self.task.labels]

    def _require_steady(
        self,
        inputs: Inputs,
        before: tuple[np.ndarray, np.ndarray | None],
        now: tuple[np.ndarray, np.ndarray | None],
    ) -> None:
        """Refuse other answers to what was asked before; where probabilities all but tie, rounding may turn them."""
        assert self.answered is not None
        for i in np.flatnonzero(before[0] != now[0]).tolist():
            has_both = before[1] is not None and now[1] is not None
            if not (has_both and np.abs(before[1][i] - now[1][i]).max() <= STEADY):
                text, again = (cut(repr(self.answered.texts[one[0][i]])) for one in (before, now))
                self.answered = None  # a next call does not begin with them
                raise ModelError(
                    f"{self.description} answered {text} to {quoted(inputs.at(i))}, and {again} when asked again. Take "
                    "chance out of it, as by a fixed seed."
                )

    def _require_default(self, default_label: str) -> None:
        """Refuse a default label that is never an answer: it is misspelt."""
        assert self.answered is not None
        counts = self.answered.counts()
        if default_label in counts:
            return
        commonest = ", ".join(f"{cut(text)!r}" for text in sorted(counts, key=lambda text: (-counts[text], text))[:3])
        raise DataError(
            f"default_label {default_label!r} is never an answer, and the commonest are {commonest}. Write it as the "
            "model does, or leave it out: then all examples count."
        )


def quoted(row: Mapping[str, Any]) -> str:
    """An input as a message quotes it: how each part begins, of the first two."""
    shown = [f"{part!r}: {cut(repr(value))}" for part, value in list(row.items())[:MOST_QUOTED]]
    return f"{{{', '.join(shown)}{', ...' if len(row) > MOST_QUOTED else ''}}}"


def cut(text: str, most: int = QUOTED) -> str:
    """How a text begins, fit to be printed."""
    text = printable(text)
    return text if len(text) <= most else f"{text[:most]}..."


def _as_numpy(value: Any) -> Any:
    """A tensor as an array; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach().cpu()
    return (value.float() if value.is_floating_point() else value).numpy()


def _is_list(value: Any) -> bool:
    """Whether what has a length is one thing after the other: neither a frame, which has columns, nor one number."""
    return not hasattr(value, "columns") and getattr(value, "ndim", 1) > 0


def _taken(probs: np.ndarray | None, indices: np.ndarray) -> np.ndarray | None:
    return None if probs is None else probs[indices]
