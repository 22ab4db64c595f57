"""The engine that predicts base and changed examples, and one small callback for each evaluation."""

import torchvision_fix  # noqa: F401

from callbacks.checkpoints.best_and_last import BestCheckpoint
from callbacks.engine.engine import Engine
from callbacks.engine.evaluation import Evaluation
from callbacks.evaluations.accuracy import Accuracy
from callbacks.evaluations.answers import Answers
from callbacks.evaluations.attentiveness import Attentiveness
from callbacks.evaluations.naive_partial import NaivePartial
from callbacks.evaluations.natural_logic import NaturalLogic
from callbacks.evaluations.tables.challenge import Challenge
from callbacks.evaluations.tables.counterfactual_tables import CounterfactualTables
from callbacks.evaluations.tables.evidence import Evidence
from callbacks.evaluations.tables.table_rows import TableRows
from callbacks.evaluations.two_class import TwoClass
from callbacks.outputs.board import Board
from callbacks.outputs.contact_sheet import ContactSheet
from callbacks.outputs.run_folder import RunFolder

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
