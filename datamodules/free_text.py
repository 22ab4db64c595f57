"""Pairs whose answers are free texts, for a Trainer."""

from heedful.datamodules.free_text_pairs import FreeTextPairs
from heedful.datamodules.text import PairedText


class FreeText(FreeTextPairs, PairedText):
    """Parts in words, and an answer in words.

    For the settings, see :class:`FreeTextPairs`.
    """
