"""The ground floor: what goes into a measurement (examples) and what comes out of it (rows, results)."""

from records.errors import HeedError, ending_with_its_reader, printable, run_command
from records.example import NO_LABEL, Changed, Example, Part, Prediction, Task
from records.examples import BATCH, Examples, ExamplesBuilder, emptied, keys
from records.files import Spool, atomic_path, read_json, spooling, write_json, writing
from records.labels import MANY, is_entailment, listing, same_name
from records.picture import FORMATS, Picture
from records.table import Table, TableForm
from records.template import parts_of, plain_template, rename_parts

__all__ = [
    "BATCH",
    "FORMATS",
    "MANY",
    "NO_LABEL",
    "Changed",
    "Example",
    "Examples",
    "ExamplesBuilder",
    "HeedError",
    "Part",
    "Picture",
    "Prediction",
    "Spool",
    "Table",
    "TableForm",
    "Task",
    "atomic_path",
    "emptied",
    "ending_with_its_reader",
    "is_entailment",
    "keys",
    "listing",
    "parts_of",
    "plain_template",
    "printable",
    "read_json",
    "rename_parts",
    "run_command",
    "same_name",
    "spooling",
    "write_json",
    "writing",
]
