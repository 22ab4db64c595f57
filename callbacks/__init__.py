"""Callbacks that measure a model: evaluations, each of which plans changes of examples; and the engine, which predicts
the unchanged and the changed examples.
"""

from typing import TYPE_CHECKING

from heedful.lazy import lazy_names

if TYPE_CHECKING:
    from heedful.callbacks.checkpoints.best_and_last import BestCheckpoint
    from heedful.callbacks.engine.callback import EvaluationCallback
    from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting
    from heedful.callbacks.evaluations import (
        EVALUATIONS,
        Accuracy,
        Answers,
        Attentiveness,
        Attributions,
        Challenge,
        CounterfactualTables,
        Counterparts,
        DefaultLabel,
        Evidence,
        Interaction,
        NaivePartial,
        NaturalLogic,
        TableRows,
        TwoClass,
        register,
    )
    from heedful.callbacks.outputs.board import Board
    from heedful.callbacks.outputs.page import Page
    from heedful.callbacks.outputs.run_folder import RunFolder

__all__ = [
    "EVALUATIONS",
    "Accuracy",
    "Answers",
    "Attentiveness",
    "Attributions",
    "BestCheckpoint",
    "Board",
    "Challenge",
    "CounterfactualTables",
    "Counterparts",
    "DefaultLabel",
    "Evaluation",
    "EvaluationCallback",
    "Evidence",
    "Interaction",
    "NaivePartial",
    "NaturalLogic",
    "Nothing",
    "Page",
    "Plan",
    "RunFolder",
    "Setting",
    "TableRows",
    "TwoClass",
    "register",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
