"""Tasks and kinds of tasks: form of gold labels, and correctness of answers."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import starmap
from typing import Any

import numpy as np

from heedful.records.answers import NO_ANSWER, exact_match, normalised
from heedful.records.errors import SettingError
from heedful.records.labels import listing
from heedful.records.parts.table import TableForm
from heedful.records.parts.template import keep_parts, plain_template

NO_LABEL = "(no label)"  # a written answer that is not a label


class TaskKind(ABC):
    """A kind of task; :data:`KINDS` has an instance of each subclass.

    Gold labels are stored as text; :meth:`write_gold` and :meth:`parse_gold` convert them.

    Attributes:
        name: Name in checkpoints and messages.
        has_labels: Whether answers are labels of the task.
        exclusive: Whether exactly one label is right.
        quality: Metric that determines the best epoch.
    """

    name: str
    has_labels = True
    exclusive = False
    quality = "accuracy"

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:  # copies and unpickled objects are the singleton
        return self.name.upper()

    def parse_gold(self, text: str) -> Any:
        """Convert a gold label from text."""
        return json.loads(text)

    def write_gold(self, gold: Any) -> str:
        """Convert a gold label to text."""
        return json.dumps(gold, sort_keys=True, ensure_ascii=False)

    def parse_golds(self, texts: Iterable[str]) -> list[Any]:
        """Convert gold labels from text; equal texts share an object."""
        return list(map(cache(self.parse_gold), texts))

    @abstractmethod
    def score(self, answer: str, gold: Any) -> float:
        """Score of an answer from 0 to 1, given a parsed gold label."""

    def scores(self, answers: Iterable[str], golds: Iterable[str]) -> np.ndarray:
        """Scores of answers, given gold labels as text: float64 [answers]."""
        score = cache(lambda answer, gold: self.score(answer, self.parse_gold(gold)))
        return np.fromiter(starmap(score, zip(answers, golds, strict=True)), dtype=np.float64)

    def alike(self, first: str, second: str) -> bool:
        """Whether two answers are equal."""
        return first == second

    def heeds(self, before: str, after: str) -> bool:
        """Whether the answers before and after a change of a part count as attentive; by default, if they differ."""
        return not self.alike(before, after)

    def default_answer(self, default_label: str | None) -> str | None:
        """The answer for unrelated parts, or None."""
        return default_label

    @abstractmethod
    def best_answer(self, golds: Sequence[str]) -> str:
        """The constant answer with the highest total score, given gold labels as text.

        Ties are resolved by the order of gold labels; for soft labels, by name.
        """

    @abstractmethod
    def default_gold(self, label: str) -> str:
        """The gold label of unrelated parts, as text."""

    def display_gold(self, text: str) -> str:
        """Format a gold label for display."""
        return text

    def distribution(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """The labels that have probabilities in a prediction; soft labels have none, since there are thousands."""
        return labels if self.exclusive else ()

    def targets(self, golds: Sequence[str | None], labels: Mapping[str, int]) -> np.ndarray:
        """Training targets.

        Args:
            golds: Gold labels as text, or None.
            labels: Maps labels to numbers.

        Returns:
            int64 [examples], the numbers of the gold labels, -1 without one; for soft labels float32 [examples,
            labels], the score of each label.
        """
        return np.full(len(golds), -1, dtype=np.int64)


class Classification(TaskKind):
    """One label is right; the gold label is its name."""

    name = "classification"
    exclusive = True

    def parse_gold(self, text: str) -> str:
        return text

    def write_gold(self, gold: str) -> str:
        return gold

    def score(self, answer: str, gold: str) -> float:
        return float(answer == gold)

    def best_answer(self, golds: Sequence[str]) -> str:
        return Counter(golds).most_common(1)[0][0]

    def default_gold(self, label: str) -> str:
        return label

    def targets(self, golds: Sequence[str | None], labels: Mapping[str, int]) -> np.ndarray:
        return np.array([-1 if gold is None else labels.get(gold, -1) for gold in golds], dtype=np.int64)


class Soft(TaskKind):
    """Several labels are right; the gold label is a JSON object from answers to scores, with sorted keys.

    Other answers have the score 0. Answers in gold labels need not be labels.
    """

    name = "soft"

    def score(self, answer: str, gold: Mapping[str, float]) -> float:
        return gold.get(answer, 0.0)

    def best_answer(self, golds: Sequence[str]) -> str:
        totals = Counter[str]()
        for gold in self.parse_golds(golds):
            totals.update(gold)
        return min(totals, key=lambda answer: (-round(totals[answer], 9), answer), default="")

    def default_gold(self, label: str) -> str:
        return self.write_gold({label: 1.0})

    def targets(self, golds: Sequence[str | None], labels: Mapping[str, int]) -> np.ndarray:
        worth = np.zeros((len(golds), len(labels)), dtype=np.float32)
        for row, gold in enumerate(golds):
            for answer, value in ({} if gold is None else self.parse_gold(gold)).items():
                if answer in labels:
                    worth[row, labels[answer]] = value
        return worth


class Span(TaskKind):
    """The answer is a span of the first part, or ""; the gold label is a JSON list of right answers, or []."""

    name = "span"
    has_labels = False
    quality = "f1"

    def score(self, answer: str, gold: Sequence[str]) -> float:
        return exact_match(answer, gold) if answer != NO_LABEL else 0.0

    def alike(self, first: str, second: str) -> bool:
        """Whether two answers are equal after normalisation; an article alone is not "no answer"."""
        return normalised(first) == normalised(second) and bool(first) == bool(second)

    def heeds(self, before: str, after: str) -> bool:
        """Whether the answer after the change is "no answer"."""
        return after == NO_ANSWER

    def default_answer(self, default_label: str | None) -> str:
        return NO_ANSWER

    def best_answer(self, golds: Sequence[str]) -> str:
        return NO_ANSWER

    def default_gold(self, label: str) -> str:
        return self.write_gold([])

    def display_gold(self, text: str) -> str:
        return " / ".join(self.parse_gold(text)) or "no answer"


class FreeText(Classification):
    """The answer is any text; :class:`~heedful.records.same.Same` maps equal answers to one text."""

    name = "text"
    has_labels = False
    exclusive = False


CLASSIFICATION = Classification()
SOFT = Soft()
SPAN = Span()
TEXT = FreeText()
KINDS: dict[str, TaskKind] = {kind.name: kind for kind in (CLASSIFICATION, SOFT, SPAN, TEXT)}


def same_parts(parts: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Match parts with as many names: by equal names, and the remaining parts by order.

    Example:
        >>> same_parts(["premise", "hypothesis"], ["hypothesis", "premise"])
        ('premise', 'hypothesis')
        >>> same_parts(["premise", "hypothesis"], ["hypothesis", "table"])
        ('table', 'hypothesis')
    """
    renamed = iter([name for name in names if name not in parts])
    return tuple(name if name in names else next(renamed) for name in parts)


@dataclass(frozen=True)
class Task:
    """Parts, labels and texts of a task.

    Attributes:
        kind: The kind of task.
        parts: Names of the parts, in the order of the model's input.
        labels: Names of the labels, in the order of the model's outputs; empty for spans.
        default_label: The label of unrelated parts, or None; "" (no answer) for spans.
        form: Text form of tables.
        template: Template of the input, for models of one text; it may have further parts.
        verbalisers: Maps labels to the text that a model writes, if it is not the name of the label.
        pictures: Names of the parts that are pictures.
    """

    kind: TaskKind
    parts: tuple[str, ...]
    labels: tuple[str, ...]
    default_label: str | None = None
    form: TableForm = TableForm()
    template: str | None = None
    verbalisers: Mapping[str, str] = field(default_factory=dict)
    pictures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if NO_LABEL in self.labels:
            raise SettingError(f"The label {NO_LABEL!r} is reserved for answers that are not labels. Rename it.")
        choices = (NO_ANSWER,) if self.kind is SPAN else self.labels
        if self.default_label not in (None, *choices) and self.kind is not TEXT:
            remedy = f"The labels are {listing(choices)}." if self.labels else "Leave it out."
            raise SettingError(f"The default label {self.default_label!r} is not a label. {remedy}")

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain values."""
        return {**asdict(self), "kind": self.kind.name}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Task":
        """Convert from the values of :meth:`as_dict`."""
        names = {key: tuple(values[key]) for key in ("parts", "labels", "pictures") if key in values}
        form = TableForm(**values.get("form", {}))
        return cls(**{**values, **names, "kind": KINDS[values["kind"]], "form": form})

    @property
    def default_gold(self) -> str | None:
        """The gold label of unrelated parts, as text, or None."""
        return None if self.default_label is None else self.kind.default_gold(self.default_label)

    def in_order_of(self, parts: Sequence[str]) -> "Task":
        """Reorder the parts (see :func:`same_parts`)."""
        ordered = same_parts(parts, self.parts)
        return replace(self, parts=ordered, pictures=tuple(part for part in ordered if part in self.pictures))

    @property
    def distribution(self) -> tuple[str, ...]:
        """The labels that have probabilities in a prediction; may be empty."""
        return self.kind.distribution(self.labels)

    @property
    def wording(self) -> str:
        """The template without the parts that the task lacks."""
        return keep_parts(self.template or plain_template(self.parts), self.parts)

    @property
    def targets(self) -> tuple[str, ...]:
        """The text that a model writes for each label."""
        return tuple(self.verbalisers.get(label, label) for label in self.labels)
