"""Detect a text, such as an error message, that a model returns for many changed inputs."""

from collections import Counter
from typing import NamedTuple

import pyarrow as pa

from heedful.records import NO_LABEL, Context
from heedful.records.rows import BASE, rows_with, strings
from heedful.records.text import normal_form

FEWEST_ALIKE = 5  # changed inputs with the same answer; fewer may be chance
MOST_ALIKE, TOO_MANY_ALIKE = 0.1, 0.5  # shares of one answer for a flag, and for no number
ONE_TEXT = "one_text"  # the flag


class OneText(NamedTuple):
    """An answer in free text that many changed inputs get, but no unchanged input."""

    text: str
    n: int  # number of changed inputs with this answer
    total: int  # number of changed inputs

    @classmethod
    def of_rows(cls, rows: pa.Table, part: str, context: Context) -> "OneText | None":
        """Find the most frequent answer to inputs with the part swapped, among answers that no unchanged input gets.

        The result is None if fewer than 5 changed inputs, or fewer than 10 % of them, get the answer, or if answers are
        labels. In reading comprehension, "no answer" is left out, since it is an expected answer.
        """
        if context.kind.has_labels:
            return None
        written = normal_form if context.kind.has_spans else str
        base = set(map(written, strings(rows.filter(pa.array(rows_with(rows, intervention=BASE))), "y")))
        after = strings(rows.filter(pa.array(rows_with(rows, intervention="swap", part=part))), "y2")
        counts = Counter(map(written, after))
        for text in base | {written(NO_LABEL), context.default_answer or ""}:
            counts.pop(text, None)
        text, n = min(counts.items(), key=lambda item: (-item[1], item[0]), default=("", 0))
        return cls(text, n, len(after)) if n >= FEWEST_ALIKE and n >= MOST_ALIKE * len(after) else None

    @property
    def is_withheld(self) -> bool:
        """Whether at least half of the changed inputs get the answer, so that attentiveness is not reported."""
        return self.n >= TOO_MANY_ALIKE * self.total
