"""Pairs whose answers are free texts. They need neither Lightning nor torch."""

from dataclasses import replace
from typing import Any

from heedful.datamodules.base.transforms import Split
from heedful.datamodules.sources.values import Rows, is_empty
from heedful.datamodules.text_pairs import TextPairs
from heedful.records import TEXT
from heedful.records.same import Same


class FreeTextPairs(TextPairs):
    """Parts in words, and an answer in words.

    Args:
        name: Name of the data set.
        parts: Part name to column, in reading order.
        same: Says which answers are the same; it applies to gold answers, too.
        **kwargs: As for :class:`TextPairs`, without labels.
    """

    kind = TEXT

    def __init__(self, name: str, parts: dict[str, str], same: Same, **kwargs: Any) -> None:
        super().__init__(name, parts, {}, **kwargs)
        self.columns = replace(self.columns, labels=None)
        self.same = same
        self.row_transforms.append(self._alike)

    def _alike(self, rows: Rows, where: str, split: Split) -> Rows:
        """Rows whose gold answers are written as the answers that they are the same as."""
        column = self.columns.label
        for row, values in rows:
            gold = values.get(column)
            is_text = isinstance(gold, str | int | float) and not is_empty(gold)
            yield row, {**values, column: self.same(str(gold).strip())} if is_text else values
