"""NLI-XY: sentences that differ in one word."""

from typing import Any

from heedful.datamodules.sources.composed_sentences import ComposedSentences
from heedful.datamodules.sources.hub_and_local import Hub, Local
from heedful.datamodules.sources.in_memory import InMemory
from heedful.datamodules.text import PairedText
from heedful.records import SettingError


class NaturalLogic(PairedText):
    """NLI-XY (Rozanova et al., 2022): pairs of sentences that differ in one word, from ``data.path`` alone.

    The settings are those of :class:`PairedText`; the columns are uid, premise, hypothesis, gold, context, insertion,
    pair, monotonicity, relation and operator. ``path`` names a folder with a folder for each split, or with one split.
    """

    needs_gold = True
    local = ComposedSentences
    in_memory = None
    only_local = "Name its folder with data.path: data/nli_xy_small of github.com/juliarozanova/nli_xy."

    def _source(self, path: Any) -> Local | Hub | InMemory:
        if not self.quoting or self.header:
            flag = "columns" if self.header else "quoting"
            raise SettingError(f"data.{flag} changes nothing: the files of {self.name} have one form. Leave it out.")
        return super()._source(path)
