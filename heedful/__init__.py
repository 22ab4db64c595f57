"""Heedful tells you whether a classifier uses all of its input.

    import heedful

    result = heedful.measure(
        predict, rows, parts=["premise", "hypothesis"], default_label="neutral"
    )
    result.show()

measure             measure any model: a function, (model, tokenizer), a
                    pipeline of transformers, a folder, a hub id, a run
perturbation        turn a function from an example to an example into an
                    evaluation
Endpoint            a model behind a server with the OpenAI protocol
write_inputs, score write inputs to a file for a model that runs elsewhere,
                    and measure its answers
train, evaluate     the same as train.py and evaluate.py
TransformersCallback, Watch
                    measure while transformers' Trainer, or Lightning's with
                    any LightningModule, trains
load_model          load a model by name, with settings
load_data           load data by name, or rows, with settings
load                load the results in the folder of a run
frame               the numbers of runs in one pandas frame
Results             results: result["attentiveness", "premise"] has .value,
                    .low, .high and .n; result.show(), .frame(), .rows,
                    .save(folder), result - other,
                    result.require("attentiveness premise >= 0.7")
Run                 the results of a training run, with its checkpoint
HeedfulError        base class of SettingError, DataError, ModelError and
                    RunError
read_rows, METRICS, Context, MetricName
                    saved rows, and the metrics over them
Task, Example       a task, and an input of a model

See help(heedful.measure) and the help of other names. Importing this package
imports neither torch nor Lightning: names are resolved on first use.
"""

import os
from typing import TYPE_CHECKING

from heedful.lazy import lazy_names

if TYPE_CHECKING:
    from heedful.assembly.answers_from_files import score, write_inputs
    from heedful.assembly.evaluation import evaluate
    from heedful.assembly.loading import load_data, load_model
    from heedful.assembly.measuring import Endpoint, measure
    from heedful.assembly.results import Results, Run, frame, load
    from heedful.assembly.training import train
    from heedful.assembly.transformers_callback import TransformersCallback
    from heedful.assembly.watch import Watch
    from heedful.callbacks.evaluations.perturbation import perturbation
    from heedful.metrics import METRICS
    from heedful.records import (
        Context,
        DataError,
        Example,
        HeedfulError,
        MetricName,
        ModelError,
        RunError,
        SettingError,
        Task,
    )
    from heedful.records.rows import read_rows

__all__ = [
    "METRICS",
    "Context",
    "DataError",
    "Endpoint",
    "Example",
    "HeedfulError",
    "MetricName",
    "ModelError",
    "Results",
    "Run",
    "RunError",
    "SettingError",
    "Task",
    "TransformersCallback",
    "Watch",
    "evaluate",
    "frame",
    "load",
    "load_data",
    "load_model",
    "measure",
    "perturbation",
    "read_rows",
    "score",
    "train",
    "write_inputs",
]

# Otherwise MKL's sums depend on the alignment of memory, and two models with equal weights compute different bits
os.environ.setdefault("MKL_CBWR", "AUTO")

__getattr__, __dir__ = lazy_names(__name__, __file__)
