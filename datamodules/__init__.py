"""Where examples come from, which splits are made of them, and how they are batched."""

import torchvision_fix  # noqa: F401

from datamodules.base.paired_data import PairedData
from datamodules.images import PairedImages
from datamodules.msgs import Msgs
from datamodules.natural_logic import NaturalLogic, load_natural_logic
from datamodules.planted import Planted
from datamodules.reading import Reading
from datamodules.sources.tabprobe import load_counterfactuals, load_evidence
from datamodules.tables import PairedTables, load_tables
from datamodules.text import PairedText
from datamodules.vqa import VisualQuestions

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
