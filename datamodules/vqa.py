"""Questions about pictures that several people answered: the labels are frequent answers, gold is what each is worth.

Source: Goyal et al. (2017), VQA 2.0.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from heedful.datamodules.base.transforms import Change, Split
from heedful.datamodules.images import PICTURES, PairedImages, with_default
from heedful.datamodules.sources.hub_and_local import Hub
from heedful.datamodules.sources.readers import brief
from heedful.datamodules.sources.values import Rows, is_empty, text_of
from heedful.datamodules.sources.vqa_answers import most_frequent, normalised, spelled, worth
from heedful.records import SOFT, DataError, Examples, HeedfulError, SettingError, inform

GOLD = "gold"  # the column that is made of what people answered
UNKNOWN = "not_in_labels"  # none of the answers is a label


class VisualQuestions(PairedImages):
    """Questions about pictures, a task of the kind "soft": an answer is worth more, the more people gave it.

    Args:
        name: Name of the data set.
        parts: Part name to column, in reading order.
        answers: The labels: a file, as for :class:`PairedImages` (the config.json of a model will do), or how many of
            the most frequent answers of the training split.
        given: Column of what people answered: a list of texts, or of objects with a text under ``answer``.
        label: Column of the most frequent answer of each question; it is gold where ``given`` is missing or empty.
        default_label: The label of parts that have nothing to do with each other; where it is no answer, it is added.
        meta: Columns that go along into the rows.
        groups: As for :class:`PairedImages`; by default, the pictures.
        pictures: As for :class:`PairedImages`.
        **kwargs: As for :class:`PairedImages`.
    """

    kind = SOFT
    needs_gold = True

    def __init__(
        self,
        name: str,
        parts: dict[str, str],
        answers: int | str = 3129,
        given: str = "answers",
        label: str = "multiple_choice_answer",
        default_label: str | None = None,
        meta: Sequence[str] = (),
        groups: Sequence[str] = (),
        pictures: Sequence[str] = PICTURES,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("several") is not None:
            raise SettingError(
                f"data.several is about labels, and the column {given!r} lists what each person answered already. "
                "Leave it out."
            )
        from_file = isinstance(answers, str)
        super().__init__(
            name,
            parts,
            labels=None if from_file else {},
            answers=answers if from_file else None,
            default_label=default_label if from_file else None,
            label=GOLD,
            meta=meta,
            groups=tuple(groups) or tuple(pictures),
            pictures=pictures,
            **kwargs,
        )
        if not from_file and answers < 1:
            raise SettingError(f"data.answers {answers} is less than 1. Give more, or a file.")
        self.answers = answers
        self.answered = given
        self.frequent = label
        self.default_label = default_label
        self.columns = replace(self.columns, labels=None)
        self.spelled = spelled([answer for answer in self.full_task.labels if answer != default_label])
        self.counted: Counter[str] = Counter()  # the answers of the training split
        self.counts.hopeless[UNKNOWN] = 0
        self.left_out = 0  # training questions of that kind
        self.row_transforms.append(self._with_gold)
        self.transforms.append(Change(self._answerable, "train"))
        if not from_file and self.augment == "inoculation":
            raise SettingError(f"augment inoculation reads no training split to count answers in. {FROM_A_RUN}")

    def setup(self, stage: str, allow_changed: bool = False) -> None:
        if not self.full_task.labels and self.pool is None and stage != "fit":
            self._count()
        super().setup(stage, allow_changed)
        if self.pool is not None and len(self.pool):
            n = self.counts.hopeless[UNKNOWN] = int((~answerable(self.pool, self.full_task.labels)).sum())
            self.counts.say("validation", "Of {:,} questions no answer is a label: none can be right.", n)

    def _count(self) -> None:
        """Count the answers of the training split without looking at its pictures.

        Raises:
            HeedfulError: It is neither among local files nor in memory.
        """
        split = self.splits["train"]
        source = self._source(self.path)
        counting = f"data.answers {self.answers} counts the answers of the training split"
        if isinstance(source, Hub) or not source.has_splits:
            raise DataError(f"{counting}, which is not at hand. {FROM_A_RUN}")
        try:
            where, rows = source.rows(split, self._aliases("train"))
        except HeedfulError as error:
            raise DataError(f"{error.at(counting)} {FROM_A_RUN}") from None
        for row, values in self._asked(rows, where, "train"):
            self.counted[self._frequent(values, where, row)] += 1
        self._label()

    def _label(self) -> None:
        """Make the frequent answers the labels."""
        labels = most_frequent(self.counted, self.answers)
        if len(labels) < self.answers:
            inform(f"{self.name}: the training split has only {len(labels):,} different answers.")
        self.settle_labels(with_default(labels, self.default_label, self.name), self.default_label)

    def _answerable(self, examples: Examples) -> Examples:
        """The training questions that have an answer among the labels, which may be counted in them."""
        if not self.full_task.labels:
            self._label()
        has_label = answerable(examples, self.full_task.labels)
        self.left_out = int((~has_label).sum())
        self.counts.say("train", "{:,} questions none of whose answers is a label were left out.", self.left_out)
        if not has_label.any():
            raise DataError(
                f"{self.name}: none of the answers to training questions is a label. Give labels that are answers with "
                "data.answers."
            )
        return examples.take(np.flatnonzero(has_label)) if self.left_out else examples

    def _with_gold(self, rows: Rows, where: str, split: Split) -> Rows:
        for row, values in rows:
            if split == "train" and isinstance(self.answers, int):
                self.counted[self._frequent(values, where, row)] += 1
            yield row, values | {GOLD: self._gold(values, where, row)}

    def _frequent(self, values: Mapping[str, Any], where: str, row: int) -> str:
        """The most frequent answer to a question, normalised; "" for none."""
        if self.frequent not in values:
            raise DataError(
                f"{where}, row {row}: there is no column {self.frequent!r}. The columns are {', '.join(values)}."
            )
        answer = values[self.frequent]
        return "" if is_empty(answer) else normalised(text_of(answer, where, row, self.frequent))

    def _gold(self, values: Mapping[str, Any], where: str, row: int) -> str | None:
        """The worth of each answer, as JSON; None where there is no answer."""
        given = [normalised(answer) for answer in self._given(values, where, row)]
        worths = worth(given if any(given) else [self._frequent(values, where, row)])
        worth_of_label = {
            label: value for answer, value in worths.items() for label in self.spelled.get(answer, [answer])
        }
        return SOFT.write_gold(worth_of_label) if worth_of_label else None

    def _given(self, values: Mapping[str, Any], where: str, row: int) -> list[str]:
        """The answer of each person, "" for nothing."""
        given = values.get(self.answered)
        if given is None:
            return []
        if isinstance(given, Mapping):  # as some tools write lists of objects
            given = given.get("answer")
        if not isinstance(given, list) or any(
            isinstance(answer, Mapping) and "answer" not in answer for answer in given
        ):
            raise DataError(
                f"{where}, row {row}: the column {self.answered!r} is {brief(values[self.answered])}. It should be a "
                "list of texts, or of objects with an answer."
            )
        answers = [answer["answer"] if isinstance(answer, Mapping) else answer for answer in given]
        return ["" if is_empty(answer) else text_of(answer, where, row, self.answered) for answer in answers]


FROM_A_RUN = "Give the answers of the model, as in data.answers RUN/checkpoints/backbone/config.json."


def answerable(examples: Examples, labels: tuple[str, ...]) -> np.ndarray:
    """Which questions have an answer among the labels: bool [examples]."""
    names = set(labels)
    return np.array([not names.isdisjoint(SOFT.parse_gold(gold)) for gold in examples.column("label")], dtype=bool)
