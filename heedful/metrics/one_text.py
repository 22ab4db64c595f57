"""Detect a text, such as an error message, that a model returns for many changed inputs."""

from collections import Counter
from typing import NamedTuple

import pyarrow as pa

from heedful.records import NO_LABEL, SPAN, Context
from heedful.records.rows import BASE, rows_with, strings
from heedful.records.text import normal_form

FEWEST_ALIKE = 5  # changed inputs with the same answer; fewer may be chance
MOST_ALIKE, TOO_MANY_ALIKE = 0.1, 0.5  # shares of one answer for a flag, and for no number
ONE_TEXT = "one_text"  # the flag


class OneText(NamedTuple):
    """An answer in free text, such as an error message, that a model gives to many changed inputs, but to no unchanged
    input.

    Attributes:
        text: The answer.
        n: Number of changed inputs with this answer.
        total: Number of changed inputs.
    """

    text: str
    n: int
    total: int

    @classmethod
    def of_rows(cls, rows: pa.Table, part: str, context: Context) -> "OneText | None":
        """Find the most frequent answer to inputs with the part swapped, among answers that no unchanged input gets.

        Returns:
            The answer, if at least 5 changed inputs and at least 10 % of them get it; else None. None also if answers
            are labels. In reading comprehension, "no answer" is left out, since it is an expected answer.
        """
        if context.kind.has_labels:
            return None
        written = normal_form if context.kind is SPAN else str
        base = set(map(written, strings(rows.filter(pa.array(rows_with(rows, intervention=BASE))), "y")))
        after = strings(rows.filter(pa.array(rows_with(rows, intervention="swap", part=part))), "y2")
        counts = Counter(map(written, after))
        for text in base | {written(NO_LABEL), context.default_answer or ""}:
            counts.pop(text, None)
        text, n = min(counts.items(), key=lambda item: (-item[1], item[0]), default=("", 0))
        return cls(text, n, len(after)) if n >= FEWEST_ALIKE and n >= MOST_ALIKE * len(after) else None

    @property
    def is_withheld(self) -> bool:
        """Whether the model gave the answer :attr:`text` to at least half of the changed inputs.

        If so, the attentiveness (share of answers that change) is not reported.
        """
        return self.n >= TOO_MANY_ALIKE * self.total
