"""Pure functions that change examples: deterministic by (seed, intervention, version, part, uid, draw)."""

from interventions.base import Changes, EachExample, Intervention, manifest_hash, within_limit
from interventions.counterparts import Design, counterparts
from interventions.hypotheses.analysis import RuleAnalyser
from interventions.hypotheses.perturb import DIRECTIONS, KINDS, PerturbHypothesis, Source
from interventions.hypotheses.spacy_analyser import SpacyAnalyser, best_analyser
from interventions.hypotheses.text_edits import Edit, apply_edits
from interventions.keep_part import KeepPart
from interventions.null import Null
from interventions.predicted_as import PredictedAs
from interventions.siblings import Families, Siblings
from interventions.swap import Swap
from interventions.tables.annotated import Annotated
from interventions.tables.operations import Donors
from interventions.tables.row_edits import RowEdits
from interventions.tables.title_swaps import SwapTitle
from interventions.tables.value_swaps import SwapValues

__all__ = [
    "DIRECTIONS",
    "KINDS",
    "Annotated",
    "Changes",
    "Design",
    "Donors",
    "EachExample",
    "Edit",
    "Families",
    "Intervention",
    "KeepPart",
    "Null",
    "PerturbHypothesis",
    "PredictedAs",
    "RowEdits",
    "RuleAnalyser",
    "Siblings",
    "Source",
    "SpacyAnalyser",
    "Swap",
    "SwapTitle",
    "SwapValues",
    "apply_edits",
    "best_analyser",
    "counterparts",
    "manifest_hash",
    "within_limit",
]
