"""Pure functions that change examples: deterministic by (seed, intervention, version, part, uid, draw)."""

from interventions.annotated import Annotated
from interventions.base import Intervention, manifest_hash
from interventions.counterparts import Counterparts, Design, counterparts
from interventions.hypotheses import DIRECTIONS, KINDS, PerturbHypothesis, Source
from interventions.hypothesis_analysis import Analyser, RuleAnalyser
from interventions.null import Null
from interventions.randomness import generator
from interventions.row_edits import RowEdits
from interventions.spacy_analyser import SpacyAnalyser, best_analyser
from interventions.swap import Swap
from interventions.tables import Donors
from interventions.text_edits import Edit, apply_edits
from interventions.title_swaps import SwapTitle
from interventions.value_swaps import SwapValues

__all__ = [
    "DIRECTIONS",
    "KINDS",
    "Analyser",
    "Annotated",
    "Counterparts",
    "Design",
    "Donors",
    "Edit",
    "Intervention",
    "Null",
    "PerturbHypothesis",
    "RowEdits",
    "RuleAnalyser",
    "Source",
    "SpacyAnalyser",
    "Swap",
    "SwapTitle",
    "SwapValues",
    "apply_edits",
    "best_analyser",
    "counterparts",
    "generator",
    "manifest_hash",
]
