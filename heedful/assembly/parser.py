"""The parser of all settings: of the Trainer, the model, the data, each evaluation, and the run.

It parses words from the command line and nested dictionaries from Python into the same namespace. The classes of the
data and of the model are known before the parser is built, so that their settings are arguments like all others.
"""

from functools import cache

from pytorch_lightning import Callback, Trainer
from pytorch_lightning.accelerators import Accelerator
from pytorch_lightning.loggers import Logger
from pytorch_lightning.plugins import CheckpointIO, ClusterEnvironment, LayerSync, Precision
from pytorch_lightning.profilers import Profiler
from pytorch_lightning.strategies import Strategy

from heedful.assembly.settings import EvaluationSettings, TrainerDefaults, TrainingSettings
from heedful.callbacks import BestCheckpoint, Evaluation
from heedful.datamodules.prompting import Prompting
from heedful.parser import Parser, with_integers_first

PLUGINS = (CheckpointIO, ClusterEnvironment, LayerSync, Precision)
KINDS = (Callback, Evaluation, Logger, Profiler, Strategy, Accelerator)
TRAINER_KINDS = (*KINDS, *PLUGINS)  # classes that settings may name


@cache
def build_parser(
    stage: str, data: type | None, model: type | None, evaluations: tuple[type[Evaluation], ...]
) -> Parser:
    """Return a parser of the settings of a run, its Trainer and these classes; None for an object that exists already.

    ``stage`` is "fit" or "validate": a training has settings of checkpoints, and an evaluation settings of prompts.
    """
    parser = Parser()
    of_run, group, name = (
        (TrainingSettings, BestCheckpoint, "checkpoint")
        if stage == "fit"
        else (EvaluationSettings, Prompting, "prompt")
    )
    parser.add_class_arguments(Trainer, "trainer", instantiate=False)
    parser.set_defaults({f"trainer.{name}": value for name, value in vars(TrainerDefaults()).items()})
    parser.add_class_arguments(of_run, None)
    classes = {kind.metric.name: kind for kind in evaluations} | {name: group, "data": data, "model": model}
    for prefix, kind in classes.items():
        if kind is not None:
            parser.add_class_arguments(kind, prefix, instantiate=False, skip={"loader"})
    # the list of callbacks may have evaluations, which are not subclasses of Lightning's Callback
    parser.actions["trainer.callbacks"]._typehint = list[Callback | Evaluation] | Callback | Evaluation | None
    return with_integers_first(parser)
