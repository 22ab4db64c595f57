"""Load visual questions that several people answered.

The labels are frequent answers. A question may have several right answers: the gold label of a question is a JSON
object that maps each right answer to its score.

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
from heedful.datamodules.loaders.vqa_answers import answer_scores, labels_by_answer, most_frequent, normalised
from heedful.datamodules.sources.source import Source, Split
from heedful.datamodules.sources.values import brief, is_empty, require_column, text_of
from heedful.records import SOFT, DataError, Examples, HeedfulError

GOLD = "gold"  # added column with the score of each answer
UNKNOWN = "not_in_labels"  # name of the count of questions without an answer among the labels
FROM_A_RUN = "Give the answers of the model, such as data.answers RUN/checkpoints/backbone/config.json."


@dataclass(frozen=True)
class Answers:
    """The columns that hold the answers to a question, and the labels.

    Attributes:
        column: Column with one answer per person: a list of texts, or of objects with a text under ``answer``.
        frequent: Column of the most frequent answer, which is the only right answer if ``column`` is missing or empty.
        labels: The labels; empty if they are counted in the training split.
    """

    column: str
    frequent: str
    labels: Sequence[str] = ()

    @cached_property
    def _labels_of(self) -> dict[str, list[str]]:
        return labels_by_answer(self.labels)

    def gold(self, values: Mapping[str, Any], where: str, row: int) -> str | None:
        """Return the gold label of a row: a JSON object that maps right answers to scores; None without answers.

        The arguments are the values of the row by column, and for messages the source and the row number.
        """
        answers = [normalised(answer) for answer in self._answers(values, where, row)]
        worths = answer_scores(answers if any(answers) else [self.most_frequent(values, where, row)])
        worth_of_label = {
            label: value for answer, value in worths.items() for label in self._labels_of.get(answer, [answer])
        }
        return SOFT.write_gold(worth_of_label) if worth_of_label else None

    def most_frequent(self, values: Mapping[str, Any], where: str, row: int) -> str:
        """Return the normalised value of the column ``frequent``; "" if it is empty."""
        require_column(self.frequent, values, f"{where}, row {row}")
        answer = values[self.frequent]
        return "" if is_empty(answer) else normalised(text_of(answer, where, row, self.frequent))

    def _answers(self, values: Mapping[str, Any], where: str, row: int) -> list[str]:
        """Return the answer of each person as in the data; "" for a person without an answer."""
        held = values.get(self.column)
        if held is None:
            return []
        if isinstance(held, Mapping):  # an object of lists, as some tools write a list of objects
            held = held.get("answer")
        is_list = isinstance(held, list)
        answers = [
            item.get("answer", item) if isinstance(item, Mapping) else item for item in (held if is_list else ())
        ]
        if not is_list or any(isinstance(answer, Mapping) for answer in answers):
            held = brief(values[self.column])
            raise DataError(f"{where}, row {row}: the column {self.column!r} is {held}, not a list of answers.")
        return ["" if is_empty(answer) else text_of(answer, where, row, self.column) for answer in answers]


def load_questions(
    source: Source, columns: Columns, split: Split, answers: Answers, image_folder: str | None = None
) -> Examples:
    """Load the questions of a split; a gold label maps right answers to scores.

    Args:
        source: As for :func:`~heedful.datamodules.loaders.pictures.load_pictures`.
        columns: Roles of the columns; the label is the added column "gold".
        split: The split.
        answers: Columns of people's answers.
        image_folder: As for :func:`~heedful.datamodules.loaders.pictures.load_pictures`.
    """
    where, rows = rows_of_pictures(source, split)
    rows = with_pictures(source.select(rows, where), where, columns, image_folder)
    rows = ((row, {**values, GOLD: answers.gold(values, where, row)}) for row, values in rows)
    return to_examples(rows, where, starred(columns), split)


def count_answers(source: Source, split: Split, answers: Answers, n: int) -> list[str]:
    """Return the ``n`` most frequent answers of a split; pictures are not read."""
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
    """Whether each question has a right answer among the labels: bool [examples]."""
    names = set(labels)
    return np.array([not names.isdisjoint(SOFT.parse_gold(gold)) for gold in examples.column("label")], dtype=bool)
