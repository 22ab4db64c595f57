"""The lowest layer of Heedful, which all other packages import.

It defines examples, which are the inputs of a measurement, and rows and results, which are its outputs.
"""

from heedful.records.composed import EMPTIED, Composed, column
from heedful.records.errors import DataError, HeedfulError, ModelError, RunError, SettingError, printable
from heedful.records.example import Changed, Example, Part
from heedful.records.examples import BATCH, CLUSTER, Examples, ExamplesBuilder, repeats
from heedful.records.labels import MANY, agree, is_entailment, is_non_entailment, listing, percent
from heedful.records.messages import inform
from heedful.records.numbers.context import Context
from heedful.records.numbers.display import Chart, Line, Section, Shown
from heedful.records.numbers.measurement import Measurement
from heedful.records.numbers.metric_name import MetricName
from heedful.records.parts.picture import FORMATS, Picture
from heedful.records.parts.table import Table, TableForm
from heedful.records.parts.template import parts_of, plain_template, rename_parts
from heedful.records.pool.contents import digests, emptied, keys
from heedful.records.randomness import generator, integers, random_key, require_seed, words_of
from heedful.records.storage.files import (
    Spool,
    atomic_path,
    open_file,
    read_json,
    spooling,
    write_json,
    writing,
)
from heedful.records.task import CLASSIFICATION, KINDS, NO_LABEL, SOFT, SPAN, TEXT, Task, TaskKind, same_parts
from heedful.records.text import normalised_label

__all__ = [
    "BATCH",
    "CLASSIFICATION",
    "CLUSTER",
    "EMPTIED",
    "FORMATS",
    "KINDS",
    "MANY",
    "NO_LABEL",
    "SOFT",
    "SPAN",
    "TEXT",
    "Changed",
    "Chart",
    "Composed",
    "Context",
    "DataError",
    "Example",
    "Examples",
    "ExamplesBuilder",
    "HeedfulError",
    "Line",
    "Measurement",
    "MetricName",
    "ModelError",
    "Part",
    "Picture",
    "RunError",
    "Section",
    "SettingError",
    "Shown",
    "Spool",
    "Table",
    "TableForm",
    "Task",
    "TaskKind",
    "agree",
    "atomic_path",
    "column",
    "digests",
    "emptied",
    "generator",
    "inform",
    "integers",
    "is_entailment",
    "is_non_entailment",
    "keys",
    "listing",
    "open_file",
    "parts_of",
    "percent",
    "plain_template",
    "printable",
    "random_key",
    "read_json",
    "rename_parts",
    "repeats",
    "require_seed",
    "normalised_label",
    "same_parts",
    "spooling",
    "words_of",
    "write_json",
    "writing",
]
