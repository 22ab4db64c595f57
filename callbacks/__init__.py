"""The engine that predicts base and changed examples, and one small callback for each evaluation."""

import torchvision_fix  # noqa: F401

from callbacks.accuracy import Accuracy
from callbacks.answers import Answers
from callbacks.attentiveness import Attentiveness
from callbacks.board import Board
from callbacks.challenge import Challenge
from callbacks.checkpoint import BestCheckpoint
from callbacks.contact_sheet import ContactSheet
from callbacks.counterfactual_tables import CounterfactualTables
from callbacks.engine import Engine
from callbacks.evaluation import Evaluation
from callbacks.evidence import Evidence
from callbacks.naive_partial import NaivePartial
from callbacks.natural_logic import NaturalLogic
from callbacks.run_folder import RunFolder
from callbacks.table_rows import TableRows
from callbacks.two_class import TwoClass

__all__ = [
    "Accuracy",
    "Answers",
    "Attentiveness",
    "BestCheckpoint",
    "Board",
    "Challenge",
    "ContactSheet",
    "CounterfactualTables",
    "Engine",
    "Evaluation",
    "Evidence",
    "NaivePartial",
    "NaturalLogic",
    "RunFolder",
    "TableRows",
    "TwoClass",
]
