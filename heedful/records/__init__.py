"""The lowest layer of Heedful, which all other packages import: the inputs and the outputs of a measurement.

``example`` is an input that consists of parts, ``examples`` a pool of them, ``composed`` those with parts of others,
``partners`` who may lend a part, and ``task`` what is right. ``rows`` are predictions, and ``numbers`` metrics of them.
``randomness`` draws as a function of a key, and ``storage`` reads and writes files.
"""

# ruff: noqa: F401 (names for other packages)

from heedful.records.composed import EMPTIED, Composed, column
from heedful.records.errors import DataError, HeedfulError, ModelError, RunError, SettingError, printable
from heedful.records.example import Changed, Example, Options, Part, Picture, Table, TableForm
from heedful.records.examples import BATCH, CLUSTER, COUNTERPARTS, Examples, ExamplesBuilder, repeats
from heedful.records.messages import inform
from heedful.records.numbers import Context, Measurement, MetricName
from heedful.records.randomness import digests, generator, keys, random_key, require_seed, words_of
from heedful.records.storage.files import Spool, atomic_path, open_file, read_json, write_json, writing
from heedful.records.task import CLASSIFICATION, CONTAINED, KINDS, NO_LABEL, SOFT, SPAN, TEXT, Task, TaskKind
from heedful.records.text import MANY, agree, is_entailment, listing, normalised_label, parts_of, percent
