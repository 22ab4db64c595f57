"""Interventions: rules that change examples. A changed example depends only on the pool, seed, uid and draw."""

from heedful.interventions.base import Changes, EachExample, Intervention, manifest_hash, within_limit
from heedful.interventions.basic import KeepPart, Null, PredictedAs
from heedful.interventions.counterparts import Design, counterparts
from heedful.interventions.hypotheses.analysis import RuleAnalyser
from heedful.interventions.hypotheses.perturb import DIRECTIONS, KINDS, PerturbHypothesis, Source
from heedful.interventions.hypotheses.spacy_analyser import SpacyAnalyser, best_analyser
from heedful.interventions.hypotheses.text_edits import Edit, apply_edits
from heedful.interventions.siblings import Families, Siblings
from heedful.interventions.swap import Swap
from heedful.interventions.tables.annotated import Annotated
from heedful.interventions.tables.donors import Donors
from heedful.interventions.tables.row_edits import RowEdits
from heedful.interventions.tables.swaps import SwapTitle, SwapValues

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
