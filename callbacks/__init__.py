"""The engine that predicts base and changed examples, and one small callback for each evaluation."""

import torchvision_fix  # noqa: F401

from callbacks.accuracy import Accuracy
from callbacks.attentiveness import Attentiveness
from callbacks.board import Board
from callbacks.checkpoint import BestCheckpoint
from callbacks.engine import Engine
from callbacks.evaluation import Evaluation
from callbacks.run_folder import RunFolder

__all__ = ["Accuracy", "Attentiveness", "BestCheckpoint", "Board", "Engine", "Evaluation", "RunFolder"]
