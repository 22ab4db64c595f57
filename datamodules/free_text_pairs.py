"""Pairs with free-text answers, without Lightning and torch."""

from functools import partial
from typing import Any

from heedful.datamodules.base.loader import Loader
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.loaders.pairs import load_pairs
from heedful.records import TEXT
from heedful.records.same import Same


class FreeTextPairs(Pairs):
    """Pairs of texts with free-text answers.

    Args:
        name: Name of the data set.
        parts: Maps part names to columns, in reading order.
        same: Equality of answers, including gold answers.
        **kwargs: As for :class:`Pairs`, without labels.
    """

    def __init__(self, name: str, parts: dict[str, str], same: Same, **kwargs: Any) -> None:
        super().__init__(name, parts, {}, loader=Loader(partial(load_pairs, same=same), TEXT, same=same), **kwargs)
