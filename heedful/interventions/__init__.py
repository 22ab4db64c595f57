"""Interventions: rules that change examples. A changed example depends only on the pool, seed, uid and draw."""

from heedful.interventions.base import Changes, EachExample, Intervention, Prediction, manifest_hash, within_limit
from heedful.interventions.basic import Annotated, KeepPart, Null
from heedful.interventions.counterparts import EditedParts, Members
from heedful.interventions.hypotheses.analysis import Edit, RuleAnalyser, apply_edits
from heedful.interventions.hypotheses.perturb import DIRECTIONS, KINDS, PerturbHypothesis, Source
from heedful.interventions.hypotheses.spacy_analyser import SpacyAnalyser, best_analyser
from heedful.interventions.natural_logic import Design, InterventionSet, intervention_sets
from heedful.interventions.siblings import Families, Siblings
from heedful.interventions.swap import Swap
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
    "EditedParts",
    "Families",
    "Intervention",
    "InterventionSet",
    "KeepPart",
    "Members",
    "Null",
    "PerturbHypothesis",
    "Prediction",
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
    "intervention_sets",
    "manifest_hash",
    "within_limit",
]
