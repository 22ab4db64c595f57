"""Pairs of texts for a Trainer: a new data set is a YAML file and no Python."""

from heedful.datamodules.base.paired_data import PairedData
from heedful.datamodules.text_pairs import TextPairs


class PairedText(TextPairs, PairedData):
    """Sentence pairs: natural language inference, paraphrase detection and the like.

    For the settings, see :class:`TextPairs`.
    """
