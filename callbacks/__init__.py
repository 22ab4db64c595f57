"""The engine that predicts base and changed examples, and one small callback for each evaluation."""

import torchvision_fix  # noqa: F401

from callbacks.checkpoints.best_and_last import BestCheckpoint
from callbacks.engine.engine import Engine
from callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting
from callbacks.evaluations import (
    EVALUATIONS,
    Accuracy,
    Answers,
    Attentiveness,
    Attributions,
    Challenge,
    CounterfactualTables,
    DefaultLabel,
    Evidence,
    NaivePartial,
    NaturalLogic,
    TableRows,
    TwoClass,
)
from callbacks.outputs.board import Board
from callbacks.outputs.contact_sheet import ContactSheet
from callbacks.outputs.run_folder import RunFolder
from callbacks.outputs.word_sheet import WordSheet

__all__ = [
    "EVALUATIONS",
    "Accuracy",
    "Answers",
    "Attentiveness",
    "Attributions",
    "BestCheckpoint",
    "Board",
    "Challenge",
    "ContactSheet",
    "CounterfactualTables",
    "DefaultLabel",
    "Engine",
    "Evaluation",
    "Evidence",
    "NaivePartial",
    "NaturalLogic",
    "Nothing",
    "Plan",
    "RunFolder",
    "Setting",
    "TableRows",
    "TwoClass",
    "WordSheet",
]
