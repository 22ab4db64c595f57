"""Heedful tells you whether a classifier heeds all of its input.

    import heedful

    result = heedful.measure(
        predict, rows, parts=["premise", "hypothesis"], default_label="neutral"
    )
    result.show()

measure             any model: a function, (model, tokenizer), a pipeline of
                    transformers, a folder, a hub id, a run
Endpoint            a model behind a server that speaks the OpenAI protocol
write_inputs, score the inputs in a file, and results of answers in another:
                    for a model that runs elsewhere
train, evaluate     what train.py and evaluate.py do, with the same settings
TransformersCallback, Watch
                    the same while other people's trainers train: that of
                    transformers, and Lightning's with any LightningModule
load_model          a model by its name, with settings of your own
load_data           data by their name, or rows, with settings of your own
load                the results in the folder of a run
Results             what these return: result["attentiveness", "premise"]
                    has .value, .low, .high and .n; result.show(),
                    .to_frame(), .rows, .save(folder), result - other,
                    result.require("attentiveness premise >= 0.7")
Run                 the results of a training run, with its checkpoint
HeedfulError        what is raised for a mistake: SettingError, DataError,
                    ModelError or RunError
read_rows, METRICS, Context, MetricName
                    rows that were saved, and how numbers are made of them
Task, Example       what is asked, and one of the inputs

help(heedful.measure) and help of the other names say the rest. Importing
this package loads no torch and no Lightning: a name is found when it is
first used.
"""

from typing import TYPE_CHECKING

from heedful import rooms, torchvision_fix  # noqa: F401
from heedful.lazy import lazy_names

if TYPE_CHECKING:
    from heedful.assembly.answers_from_files import score, write_inputs
    from heedful.assembly.config import load_data, load_model
    from heedful.assembly.endpoint import Endpoint
    from heedful.assembly.evaluation import evaluate
    from heedful.assembly.measuring import measure
    from heedful.assembly.results import Results, Run, load
    from heedful.assembly.training import train
    from heedful.assembly.transformers_callback import TransformersCallback
    from heedful.assembly.watch import Watch
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
    "load",
    "load_data",
    "load_model",
    "measure",
    "read_rows",
    "score",
    "train",
    "write_inputs",
]

__getattr__, __dir__ = lazy_names(__name__, __file__)
