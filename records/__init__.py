"""The ground floor: what goes into a measurement (examples) and what comes out of it (rows, results)."""

from records.composed import EMPTIED, Composed, column
from records.errors import HeedError, ending_with_its_reader, printable, run_command, without_hub
from records.example import Changed, Example, Part
from records.examples import BATCH, CLUSTER, Examples, ExamplesBuilder
from records.labels import MANY, is_entailment, is_non_entailment, listing, percent, same_name
from records.numbers.context import Context
from records.numbers.display import Chart, Line, Section, Shown
from records.numbers.measurement import Measurement
from records.numbers.metric_name import MetricName
from records.parts.picture import FORMATS, Picture
from records.parts.table import Table, TableForm
from records.parts.template import parts_of, plain_template, rename_parts
from records.pool.contents import emptied, keys
from records.randomness import generator, integers, random_key, words_of
from records.storage.files import Spool, atomic_path, open_file, read_json, require_file, spooling, write_json, writing
from records.task import CLASSIFICATION, KINDS, NO_LABEL, SOFT, SPAN, Task, TaskKind

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
    "Changed",
    "Chart",
    "Composed",
    "Context",
    "Example",
    "Examples",
    "ExamplesBuilder",
    "HeedError",
    "Line",
    "Measurement",
    "MetricName",
    "Part",
    "Picture",
    "Section",
    "Shown",
    "Spool",
    "Table",
    "TableForm",
    "Task",
    "TaskKind",
    "atomic_path",
    "column",
    "emptied",
    "ending_with_its_reader",
    "generator",
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
    "require_file",
    "run_command",
    "same_name",
    "spooling",
    "without_hub",
    "words_of",
    "write_json",
    "writing",
]
