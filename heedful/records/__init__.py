"""The lowest layer of Heedful, which all other packages import.

It defines examples, which are the inputs of a measurement, and rows and results, which are its outputs.
"""

# ruff: noqa: F401

from heedful.records.composed import EMPTIED, Composed, column
from heedful.records.errors import DataError, HeedfulError, ModelError, RunError, SettingError, printable
from heedful.records.example import Changed, Example, Part, Picture, Table, TableForm
from heedful.records.examples import BATCH, CLUSTER, Examples, ExamplesBuilder, repeats
from heedful.records.messages import inform
from heedful.records.numbers import Chart, Context, Line, Measurement, MetricName, Section, Shown
from heedful.records.randomness import digests, generator, keys, random_key, require_seed, words_of
from heedful.records.storage.files import Spool, atomic_path, open_file, read_json, write_json, writing
from heedful.records.task import CLASSIFICATION, KINDS, NO_LABEL, SOFT, SPAN, TEXT, Task, TaskKind
from heedful.records.text import MANY, agree, is_entailment, listing, normalised_label, parts_of, percent
