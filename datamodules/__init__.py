"""Where examples come from, which splits are made of them, and how they are batched."""

from typing import TYPE_CHECKING

from heedful.lazy import lazy_names

if TYPE_CHECKING:
    from heedful.datamodules.base.paired_data import PairedData
    from heedful.datamodules.base.pairs import Pairs
    from heedful.datamodules.images import PairedImages
    from heedful.datamodules.msgs import Msgs
    from heedful.datamodules.natural_logic import NaturalLogic
    from heedful.datamodules.planted import Planted
    from heedful.datamodules.reading import Reading
    from heedful.datamodules.sources.composed_sentences import load_natural_logic
    from heedful.datamodules.sources.table_pairs import load_tables
    from heedful.datamodules.sources.tabprobe import load_counterfactuals, load_evidence
    from heedful.datamodules.tables import PairedTables
    from heedful.datamodules.text import PairedText
    from heedful.datamodules.text_pairs import TextPairs
    from heedful.datamodules.vqa import VisualQuestions

__all__ = [
    "Msgs",
    "NaturalLogic",
    "PairedData",
    "PairedImages",
    "PairedTables",
    "PairedText",
    "Pairs",
    "Planted",
    "Reading",
    "TextPairs",
    "VisualQuestions",
    "load_counterfactuals",
    "load_evidence",
    "load_natural_logic",
    "load_tables",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
