"""Data modules: they load examples, split and augment them, and build batches."""

from typing import TYPE_CHECKING

from heedful.lazy import lazy_names

if TYPE_CHECKING:
    from heedful.datamodules.base.loader import Loader
    from heedful.datamodules.base.paired_data import PairedData
    from heedful.datamodules.base.pairs import Pairs
    from heedful.datamodules.kinds import (
        Msgs,
        NaturalLogic,
        PairedImages,
        PairedTables,
        PairedText,
        Reading,
        VisualQuestions,
    )
    from heedful.datamodules.loaders.natural_logic import load_natural_logic
    from heedful.datamodules.loaders.pairs import Columns, load_pairs, to_examples
    from heedful.datamodules.loaders.paradigms import load_paradigms
    from heedful.datamodules.loaders.pictures import load_pictures
    from heedful.datamodules.loaders.questions import load_questions
    from heedful.datamodules.loaders.reading import load_reading
    from heedful.datamodules.loaders.tables import load_tables
    from heedful.datamodules.loaders.tabprobe import load_counterfactuals, load_evidence
    from heedful.datamodules.planted import Planted, PlantedOptions
    from heedful.datamodules.sources.source import Hub, Source, Split

__all__ = [
    "Columns",
    "Hub",
    "Loader",
    "Msgs",
    "NaturalLogic",
    "PairedData",
    "PairedImages",
    "PairedTables",
    "PairedText",
    "Pairs",
    "Planted",
    "PlantedOptions",
    "Reading",
    "Source",
    "Split",
    "VisualQuestions",
    "load_counterfactuals",
    "load_evidence",
    "load_natural_logic",
    "load_pairs",
    "load_paradigms",
    "load_pictures",
    "load_questions",
    "load_reading",
    "load_tables",
    "to_examples",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
