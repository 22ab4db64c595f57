"""Tasks and kinds of tasks: how gold labels are encoded, and which answers are right."""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import starmap
from typing import Any

import numpy as np

from heedful.records.answers import NO_ANSWER, NO_LABEL, exact_match, normalised
from heedful.records.errors import SettingError, suggestion
from heedful.records.example import TableForm
from heedful.records.text import keep_parts, normal_form, plain_template


class TaskKind(ABC):
    """A kind of task, such as classification. Each subclass has one instance, in :data:`KINDS`.

    Gold labels are stored as text; :meth:`write_gold` encodes them, and :meth:`parse_gold` decodes them.
    """

    name: str
    has_labels = True  # whether answers are chosen from a fixed set of labels
    exclusive = False  # whether exactly one label is right
    has_spans = False  # whether an answer is a short text, or "" for "no answer"
    quality = "accuracy"  # the metric that selects the best epoch

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:  # copying and unpickling return the only instance
        return self.name.upper()

    def parse_gold(self, text: str) -> Any:
        return json.loads(text)

    def write_gold(self, gold: Any) -> str:
        return json.dumps(gold, sort_keys=True, ensure_ascii=False)

    def parse_golds(self, texts: Iterable[str]) -> list[Any]:
        """Decode many gold labels; equal texts are decoded once."""
        return list(map(cache(self.parse_gold), texts))

    @abstractmethod
    def score(self, answer: str, gold: Any) -> float:
        """Return the score of an answer, from 0 (wrong) to 1 (right), given the decoded gold label."""

    def scores(self, answers: Iterable[str], golds: Iterable[str]) -> np.ndarray:
        """Score many answers, given gold labels as text: float64 [answers]."""
        score = cache(lambda answer, gold: self.score(answer, self.parse_gold(gold)))
        return np.fromiter(starmap(score, zip(answers, golds, strict=True)), dtype=np.float64)

    def alike(self, first: str, second: str) -> bool:
        """Whether two answers count as the same."""
        return first == second

    def heeds(self, before: str, after: str) -> bool:
        """Whether a model noticed the swap of a part, given its answers before and after: here, whether they differ."""
        return not self.alike(before, after)

    def default_answer(self, default_label: str | None) -> str | None:
        """Return the right answer if the parts are unrelated, given the task's default label; None if there is none."""
        return default_label

    @abstractmethod
    def best_answer(self, golds: Sequence[str]) -> str:
        """Return the answer with the highest total score; of equal ones the first to appear, or by name if soft."""

    @abstractmethod
    def default_gold(self, label: str) -> str:
        """Encode the gold label of an example whose only right answer is ``label``."""

    def display_gold(self, text: str) -> str:
        """Convert an encoded gold label to a text for readers."""
        return text

    def distribution(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """Return the labels whose probabilities are stored with predictions: all if exactly one is right, else none."""
        return labels if self.exclusive else ()

    def targets(self, golds: Sequence[str | None], labels: Mapping[str, int]) -> np.ndarray:
        """Convert gold labels to training targets, given the index of each label's output.

        These are indices, or -1 without one: int64 [examples]. For soft labels, scores: float32 [examples, labels].
        """
        return np.full(len(golds), -1, dtype=np.int64)


class Classification(TaskKind):
    """Classification: exactly one label is right, and the gold label is its name."""

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
    """Soft labels, as in VQA: a gold label maps right answers to scores, and is encoded as JSON with sorted keys.

    All other answers have the score 0. The right answers of an example need not be labels of the task.
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
    """Extractive question answering: an answer is a span of the first part, or "" for "no answer".

    A gold label is the list of right answers, encoded as JSON; it is empty if "no answer" is right.
    """

    name = "span"
    has_labels = False
    has_spans = True
    quality = "f1"

    def score(self, answer: str, gold: Sequence[str]) -> float:
        return exact_match(answer, gold) if answer != NO_LABEL else 0.0

    def alike(self, first: str, second: str) -> bool:
        return normal_form(first) == normal_form(second) and bool(first) == bool(second)  # "..." is not "no answer"

    def heeds(self, before: str, after: str) -> bool:
        return after == NO_ANSWER if before != NO_ANSWER else not self.alike(before, after)

    def default_answer(self, default_label: str | None) -> str:
        return NO_ANSWER

    def best_answer(self, golds: Sequence[str]) -> str:
        return NO_ANSWER

    def default_gold(self, label: str) -> str:
        return self.write_gold([] if label == NO_ANSWER else [label])

    def display_gold(self, text: str) -> str:
        return " / ".join(self.parse_gold(text)) or "no answer"


class Contained(Span):
    """Question answering in which a written answer is right if it contains a right answer as whole words, as in RGB.

    Source: Chen et al. (2024), "Benchmarking Large Language Models in Retrieval-Augmented Generation".
    """

    name = "contained"

    def score(self, answer: str, gold: Sequence[str]) -> float:
        text = f" {normalised(answer)} "
        return max(super().score(answer, gold), float(any(f" {normalised(g)} " in text for g in gold if normalised(g))))


class FreeText(Classification):
    """Free text: any text is an answer; :class:`~heedful.records.answers.Same` maps equal answers to one text."""

    name = "text"
    has_labels = False
    exclusive = False


CLASSIFICATION = Classification()
SOFT = Soft()
SPAN = Span()
TEXT = FreeText()
CONTAINED = Contained()
KINDS: dict[str, TaskKind] = {kind.name: kind for kind in (CLASSIFICATION, SOFT, SPAN, TEXT, CONTAINED)}


def same_parts(parts: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return new names for parts: a part whose name is in ``names`` keeps it; the others get the rest in order.

    Example:
        >>> same_parts(["premise", "hypothesis"], ["hypothesis", "table"])
        ('table', 'hypothesis')
    """
    renamed = iter([name for name in names if name not in parts])
    return tuple(name if name in names else next(renamed) for name in parts)


@dataclass(frozen=True)
class Task:
    """The parts and labels of a task, and the texts that a model reads and writes for it.

    Attributes:
        parts: In the order of the model's input.
        labels: In the order of the model's outputs; empty for spans.
        default_label: The right label, if any, for unrelated parts, such as "neutral"; "" (no answer) for spans.
        template: Template of the input, for models that read a single text; it may contain further parts.
        verbalisers: Maps labels to the texts that a model writes for them; missing labels are written as they are.
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
        choices = (NO_ANSWER,) if self.kind.has_spans else self.labels
        if self.default_label is not None and self.default_label not in choices and self.kind is not TEXT:
            remedy = suggestion(self.default_label, self.labels) if self.labels else "Leave it out."
            raise SettingError(f"The default label {self.default_label!r} is not a label. {remedy}")

    def as_dict(self) -> dict[str, Any]:
        """Convert to values that JSON can express."""
        return {**asdict(self), "kind": self.kind.name}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Task":
        """Convert the values of :meth:`as_dict` back to a task."""
        names = {key: tuple(values[key]) for key in ("parts", "labels", "pictures") if key in values}
        form = TableForm(**values.get("form", {}))
        return cls(**{**values, **names, "kind": KINDS[values["kind"]], "form": form})

    @property
    def default_gold(self) -> str | None:
        """The gold label of an example with unrelated parts, as text; None without a default label."""
        return None if self.default_label is None else self.kind.default_gold(self.default_label)

    def in_order_of(self, parts: Sequence[str]) -> "Task":
        """Return a copy of the task with its parts in the order of ``parts``, matched by :func:`same_parts`."""
        ordered = same_parts(parts, self.parts)
        return replace(self, parts=ordered, pictures=tuple(part for part in ordered if part in self.pictures))

    @property
    def distribution(self) -> tuple[str, ...]:
        """The labels whose probabilities are stored with each prediction."""
        return self.kind.distribution(self.labels)

    @property
    def wording(self) -> str:
        """The template of the input (by default :func:`plain_template`), without the parts that the task lacks."""
        return keep_parts(self.template or plain_template(self.parts), self.parts)

    @property
    def targets(self) -> tuple[str, ...]:
        """The text that a model writes for each label, in the order of the labels."""
        return tuple(self.verbalisers.get(label, label) for label in self.labels)
