"""What goes into a model and what comes out of it: tasks, examples, predictions."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from records.errors import HeedError
from records.labels import listing
from records.parts.picture import Picture
from records.parts.table import Table, TableForm
from records.parts.template import keep_parts, plain_template

Part = str | Table | Picture  # one part of an input
NO_LABEL = "(no label)"  # the answer of a model that wrote something else than a label


@dataclass(frozen=True)
class Task:
    """What is to be decided, and about which parts.

    Attributes:
        kind: "classification"; "soft": classification with several right labels, each of its worth; or "span": the
            answer is cut out of the first part, or there is none.
        parts: Names of the parts, in the order in which a model reads them.
        labels: Names of the labels, in the order of a model's outputs; a span task has none.
        default_label: The label of parts that have nothing to do with each other, or None; "" (no answer) for spans.
        form: How tables among the parts are put into words.
        template: The words around the parts, for a model that reads one text; it may name parts that are missing here.
        verbalisers: What a model writes for a label, where that is not the label's name.
        pictures: Which of the parts are pictures.
    """

    kind: Literal["classification", "soft", "span"]
    parts: tuple[str, ...]
    labels: tuple[str, ...]
    default_label: str | None = None
    form: TableForm = TableForm()
    template: str | None = None
    verbalisers: Mapping[str, str] = field(default_factory=dict)
    pictures: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if NO_LABEL in self.labels:
            raise HeedError(f"No label may be called {NO_LABEL!r}, which is kept for an answer that is none.")
        known = ("",) if self.kind == "span" else self.labels
        if self.default_label is not None and self.default_label not in known:
            raise HeedError(f"The default label {self.default_label!r} is none of the labels {listing(known)}.")

    @property
    def default_gold(self) -> str | None:
        """The gold label of parts that have nothing to do with each other: for spans, a list of no answers."""
        if self.default_label is None or self.kind == "classification":
            return self.default_label
        return "[]" if self.kind == "span" else json.dumps({self.default_label: 1.0}, ensure_ascii=False)

    @property
    def distribution(self) -> tuple[str, ...]:
        """What the probabilities of a prediction are of: the labels; nothing for spans, nor for soft labels, which are
        thousands and not exclusive."""
        return self.labels if self.kind == "classification" else ()

    @property
    def wording(self) -> str:
        """The template with the parts of this task alone."""
        return keep_parts(self.template or plain_template(self.parts), self.parts)

    @property
    def targets(self) -> tuple[str, ...]:
        """What a model writes for each label, in the order of the labels."""
        return tuple(self.verbalisers.get(label, label) for label in self.labels)


@dataclass(frozen=True)
class Example:
    """One input with its gold label.

    Attributes:
        uid: ``<data>/<split>/<source id or row>``; unique, and the same in every run.
        parts: Part name to content, in the order of the task.
        label: Gold label by name, or None; of a span task, a JSON list of the right answers, [] for no answer; of a
            soft task, a JSON object of label to worth, from 0 to 1, with sorted keys.
        groups: What the example must not share with a partner: each part's content (by hash), and every group column
            that the data set's YAML names.
        meta: Other columns, as text; results are broken down by them.
    """

    uid: str
    parts: Mapping[str, Part]
    label: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Prediction:
    """What a model says of one example.

    Attributes:
        answer: The predicted label by name, or ``NO_LABEL``; of a span task, the answer's text, "" for no answer.
        probs: float32, shape [labels], in the order of ``Task.labels``; None where ``Task.distribution`` is empty.
    """

    answer: str
    probs: np.ndarray | None = None


@dataclass(frozen=True)
class Changed:
    """An example that an intervention has changed.

    Attributes:
        example: The changed example; its ``uid`` is that of the base example. None where another example of the pool,
            the partner, is what the change leads to: then its prediction is known already.
        partner: uid of the example that lent something, or "".
        variant: Which of several changes of one draw this is (which table row, say), or "".
        clusters: What the error of this row is shared with: the base uid, the partner, a context, a table.
        allowed: Key into a table of allowed transitions, or "".
    """

    example: Example | None
    partner: str = ""
    variant: str = ""
    clusters: tuple[str, ...] = ()
    allowed: str = ""
