"""Tasks and their kinds: how gold labels are written, and when an answer is right."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from heedful.records.answers import NO_ANSWER, exact_match, normalised
from heedful.records.errors import SettingError
from heedful.records.labels import listing
from heedful.records.parts.table import TableForm
from heedful.records.parts.template import keep_parts, plain_template

NO_LABEL = "(no label)"  # the answer of a model that wrote something else than a label


class TaskKind(ABC):
    """A kind of task; there is one object of each, in :data:`KINDS`.

    A gold label is text wherever it is stored, as :meth:`write_gold` makes it, and :meth:`parse_gold` reads it.

    Attributes:
        name: The name in checkpoints and messages.
        has_labels: Whether the answers are the labels of the task.
        exclusive: Whether exactly one label is right.
        quality: The metric that the best epoch is best in.
    """

    name: str
    has_labels = True
    exclusive = False
    quality = "accuracy"

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:  # a copy and an unpickled one are the same object
        return self.name.upper()

    def parse_gold(self, text: str) -> Any:
        """A gold label as an object."""
        return json.loads(text)

    def write_gold(self, gold: Any) -> str:
        """A gold label as text."""
        return json.dumps(gold, sort_keys=True, ensure_ascii=False)

    def parse_golds(self, texts: Iterable[str]) -> list[Any]:
        """Gold labels as objects; equal texts give the same object."""
        return list(map(cache(self.parse_gold), texts))

    @abstractmethod
    def score(self, answer: str, gold: Any) -> float:
        """How right an answer is, from 0 to 1, given a gold label as an object."""

    def scores(self, answers: Iterable[str], golds: Iterable[str]) -> np.ndarray:
        """How right each answer is, given its gold label as text: float64 [answers]."""
        pairs = zip(answers, self.parse_golds(golds), strict=True)
        return np.array([self.score(answer, gold) for answer, gold in pairs], dtype=np.float64)

    def alike(self, answer: str, other: str) -> bool:
        """Whether two answers are the same."""
        return answer == other

    def heeds(self, answer: str, other: str) -> bool:
        """Whether the answer after a change of a part is what attentiveness asks for: another one."""
        return not self.alike(answer, other)

    def default_answer(self, default_label: str | None) -> str | None:
        """The answer to parts that have nothing to do with each other, or None."""
        return default_label

    @abstractmethod
    def best_answer(self, golds: Sequence[str]) -> str:
        """The answer that is worth most if it is given to all, from one gold label or more as text.

        Of several it is the one that gold names first; of soft labels the first by name.
        """

    @abstractmethod
    def default_gold(self, label: str) -> str:
        """The gold label, as text, of parts that have nothing to do with each other."""

    def display_gold(self, text: str) -> str:
        """A gold label for people."""
        return text

    def distribution(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """The labels that the probabilities of a prediction are of; soft labels are thousands and not exclusive."""
        return labels if self.exclusive else ()

    def targets(self, golds: Sequence[str | None], labels: Mapping[str, int]) -> np.ndarray:
        """The targets that a model is trained towards.

        Args:
            golds: Gold labels as text; None for none.
            labels: The number of each label.

        Returns:
            int64 [examples], the number of the gold label, -1 for none; of soft labels, the worth of each label,
            float32 [examples, labels].
        """
        return np.full(len(golds), -1, dtype=np.int64)


class Classification(TaskKind):
    """One label is right; gold is its name."""

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
    """Several labels are right, each of its worth; gold is a JSON object of answer to worth, with sorted keys.

    An answer that gold does not name is worth nothing. Gold may name answers that are not labels.
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
    """The answer is a piece of the first part, or "" for none; gold is a JSON list of right answers, [] for none."""

    name = "span"
    has_labels = False
    quality = "f1"

    def score(self, answer: str, gold: Sequence[str]) -> float:
        return exact_match(answer, gold) if answer != NO_LABEL else 0.0

    def alike(self, answer: str, other: str) -> bool:
        """Whether they are the same when normalised; an answer of nothing but an article is not the same as none."""
        return normalised(answer) == normalised(other) and bool(answer) == bool(other)

    def heeds(self, answer: str, other: str) -> bool:
        """Whether the answer becomes none."""
        return other == NO_ANSWER

    def default_answer(self, default_label: str | None) -> str:
        return NO_ANSWER

    def best_answer(self, golds: Sequence[str]) -> str:
        return NO_ANSWER

    def default_gold(self, label: str) -> str:
        return self.write_gold([])

    def display_gold(self, text: str) -> str:
        return " / ".join(self.parse_gold(text)) or "no answer"


class FreeText(Classification):
    """The answer is any text; gold is one. Texts that count as one answer are written alike before they are compared
    (:class:`~heedful.records.same.Same`).
    """

    name = "text"
    has_labels = False
    exclusive = False


CLASSIFICATION = Classification()
SOFT = Soft()
SPAN = Span()
TEXT = FreeText()
KINDS: dict[str, TaskKind] = {kind.name: kind for kind in (CLASSIFICATION, SOFT, SPAN, TEXT)}


def same_parts(parts: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """For each part, which of as many others is the same: that of its name; those of other names go by their order.

    Example:
        >>> same_parts(["premise", "hypothesis"], ["hypothesis", "premise"])
        ('premise', 'hypothesis')
        >>> same_parts(["premise", "hypothesis"], ["hypothesis", "table"])
        ('table', 'hypothesis')
    """
    renamed = iter([name for name in others if name not in parts])
    return tuple(name if name in others else next(renamed) for name in parts)


@dataclass(frozen=True)
class Task:
    """The question that is asked, and the parts that it is about.

    Attributes:
        kind: How answers and gold labels are written and compared.
        parts: Names of the parts, in the order in which a model reads them.
        labels: Names of the labels, in the order of a model's outputs; a span task has none.
        default_label: The label of parts that have nothing to do with each other, or None; "" (no answer) for spans.
        form: How tables among the parts are put into words.
        template: The words around the parts, for a model that reads one text; it may name parts that are missing here.
        verbalisers: What a model writes for a label, where that is not the label's name.
        pictures: Which of the parts are pictures.
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
            raise SettingError(
                f"A label is called {NO_LABEL!r}, which stands for answers that are not a label. Give it another name."
            )
        choices = (NO_ANSWER,) if self.kind is SPAN else self.labels
        if self.default_label not in (None, *choices) and self.kind is not TEXT:
            remedy = f"The labels are {listing(choices)}." if self.labels else "Leave it out."
            raise SettingError(f"The default label {self.default_label!r} is not a label. {remedy}")

    def as_dict(self) -> dict[str, Any]:
        """The task as plain values, the kind by its name."""
        return {**asdict(self), "kind": self.kind.name}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Task":
        """The task that :meth:`as_dict` describes."""
        names = {key: tuple(values[key]) for key in ("parts", "labels", "pictures") if key in values}
        form = TableForm(**values.get("form", {}))
        return cls(**{**values, **names, "kind": KINDS[values["kind"]], "form": form})

    @property
    def default_gold(self) -> str | None:
        """The gold label of parts that have nothing to do with each other."""
        return None if self.default_label is None else self.kind.default_gold(self.default_label)

    def in_order_of(self, parts: Sequence[str]) -> "Task":
        """The task with its parts in the order of these, which are as many (see :func:`same_parts`)."""
        ordered = same_parts(parts, self.parts)
        return replace(self, parts=ordered, pictures=tuple(part for part in ordered if part in self.pictures))

    @property
    def distribution(self) -> tuple[str, ...]:
        """The labels that the probabilities of a prediction are of; empty where there are no probabilities."""
        return self.kind.distribution(self.labels)

    @property
    def wording(self) -> str:
        """The template with the parts of this task alone."""
        return keep_parts(self.template or plain_template(self.parts), self.parts)

    @property
    def targets(self) -> tuple[str, ...]:
        """The text that a model writes for each label, in the order of the labels."""
        return tuple(self.verbalisers.get(label, label) for label in self.labels)
