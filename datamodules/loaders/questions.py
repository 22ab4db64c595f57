"""Questions about pictures that several people answered: the labels are frequent answers, gold is what each is worth.

Source: Goyal et al. (2017), VQA 2.0.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from heedful.datamodules.loaders.pairs import Columns, to_examples
from heedful.datamodules.loaders.pictures import rows_of_pictures, starred, with_pictures
from heedful.datamodules.loaders.vqa_answers import most_frequent, normalised, spelled, worth
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import brief, is_empty, require_column, text_of
from heedful.records import SOFT, DataError, Examples, HeedfulError

GOLD = "gold"  # the column that is made of what people answered
UNKNOWN = "not_in_labels"  # none of the answers is a label
FROM_A_RUN = "Give the answers of the model, as in data.answers RUN/checkpoints/backbone/config.json."


@dataclass(frozen=True)
class Answers:
    """The columns of what people answered.

    Attributes:
        given: Column of a list of texts, or of objects with a text under ``answer``.
        frequent: Column of the most frequent answer, which is gold where ``given`` is missing or empty.
        labels: The labels, where these come from elsewhere.
    """

    given: str
    frequent: str
    labels: Sequence[str] = ()

    @cached_property
    def _labels_of(self) -> dict[str, list[str]]:
        return spelled(self.labels)

    def gold(self, values: Mapping[str, Any], where: str, row: int) -> str | None:
        """The worth of each answer, as JSON; None where there is no answer."""
        given = [normalised(answer) for answer in self._given(values, where, row)]
        worths = worth(given if any(given) else [self.most_frequent(values, where, row)])
        worth_of_label = {
            label: value for answer, value in worths.items() for label in self._labels_of.get(answer, [answer])
        }
        return SOFT.write_gold(worth_of_label) if worth_of_label else None

    def most_frequent(self, values: Mapping[str, Any], where: str, row: int) -> str:
        """The most frequent answer to a question, normalised; "" for none."""
        require_column(self.frequent, values, f"{where}, row {row}")
        answer = values[self.frequent]
        return "" if is_empty(answer) else normalised(text_of(answer, where, row, self.frequent))

    def _given(self, values: Mapping[str, Any], where: str, row: int) -> list[str]:
        """The answer of each person, "" for nothing."""
        given = values.get(self.given)
        if given is None:
            return []
        if isinstance(given, Mapping):  # as some tools write lists of objects
            given = given.get("answer")
        if not isinstance(given, list) or any(
            isinstance(answer, Mapping) and "answer" not in answer for answer in given
        ):
            raise DataError(
                f"{where}, row {row}: the column {self.given!r} is {brief(values[self.given])}. It should be a list of "
                "texts, or of objects with an answer."
            )
        answers = [answer["answer"] if isinstance(answer, Mapping) else answer for answer in given]
        return ["" if is_empty(answer) else text_of(answer, where, row, self.given) for answer in answers]


def load_questions(
    source: Source, columns: Columns, split: Split, answers: Answers, image_folder: str | None = None
) -> Examples:
    """The questions of a split, with soft gold labels.

    Args:
        source: As for :func:`~heedful.datamodules.loaders.pictures.load_pictures`.
        columns: Which column is what; the label is "gold".
        split: Which split.
        answers: The columns of what people answered.
        image_folder: As for :func:`~heedful.datamodules.loaders.pictures.load_pictures`.
    """
    where, rows = rows_of_pictures(source, split)
    rows = with_pictures(source.select(rows, where), where, columns, image_folder)
    rows = ((row, {**values, GOLD: answers.gold(values, where, row)}) for row, values in rows)
    return to_examples(rows, where, starred(columns), split)


def count_answers(source: Source, split: Split, answers: Answers, n: int) -> list[str]:
    """The ``n`` most frequent answers of a split, without a look at its pictures.

    Raises:
        DataError: The split is not at hand.
    """
    try:
        if not source.has_splits:
            raise DataError(f"{source.display_name} has no splits.")
        where, rows = rows_of_pictures(source, split)
        counts = Counter(answers.most_frequent(values, where, row) for row, values in source.select(rows, where))
    except HeedfulError as error:
        raise DataError(
            f"{error.at(f'data.answers {n} counts the answers of the training split')} {FROM_A_RUN}"
        ) from None
    return most_frequent(counts, n)


def answerable(examples: Examples, labels: Sequence[str]) -> np.ndarray:
    """Which questions have an answer among the labels: bool [examples]."""
    names = set(labels)
    return np.array([not names.isdisjoint(SOFT.parse_gold(gold)) for gold in examples.column("label")], dtype=bool)
