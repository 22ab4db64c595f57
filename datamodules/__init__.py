"""Where examples come from, which splits are made of them, and how they are batched."""

from heedful.datamodules.base.paired_data import PairedData
from heedful.datamodules.images import PairedImages
from heedful.datamodules.msgs import Msgs
from heedful.datamodules.natural_logic import NaturalLogic, load_natural_logic
from heedful.datamodules.planted import Planted
from heedful.datamodules.reading import Reading
from heedful.datamodules.sources.tabprobe import load_counterfactuals, load_evidence
from heedful.datamodules.tables import PairedTables, load_tables
from heedful.datamodules.text import PairedText
from heedful.datamodules.vqa import VisualQuestions

__all__ = [
    "Msgs",
    "NaturalLogic",
    "PairedData",
    "PairedImages",
    "PairedTables",
    "PairedText",
    "Planted",
    "Reading",
    "VisualQuestions",
    "load_counterfactuals",
    "load_evidence",
    "load_natural_logic",
    "load_tables",
]
