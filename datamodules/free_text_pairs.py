"""Pairs whose answers are free texts. They need neither Lightning nor torch."""

from functools import partial
from typing import Any

from heedful.datamodules.base.loader import Loader
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.loaders.pairs import load_pairs
from heedful.records import TEXT
from heedful.records.same import Same


class FreeTextPairs(Pairs):
    """Parts in words, and an answer in words.

    Args:
        name: Name of the data set.
        parts: Part name to column, in reading order.
        same: Says which answers are the same; it applies to gold answers, too.
        **kwargs: As for :class:`Pairs`, without labels.
    """

    def __init__(self, name: str, parts: dict[str, str], same: Same, **kwargs: Any) -> None:
        super().__init__(name, parts, {}, loader=Loader(partial(load_pairs, same=same), TEXT, same=same), **kwargs)
