"""The ground floor: what goes into a measurement (examples) and what comes out of it (rows, results)."""

from records.errors import HeedError
from records.example import Changed, Example, Examples, ExamplesBuilder, Prediction, Task
from records.files import atomic_path, read_json, write_json

__all__ = [
    "Changed",
    "Example",
    "Examples",
    "ExamplesBuilder",
    "HeedError",
    "Prediction",
    "Task",
    "atomic_path",
    "read_json",
    "write_json",
]
