"""Folders of runs with results.json and rows, as the run folder writes them, for the tests of what reads them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from records.rows import FORMAT
from records.storage.results import write_results

PLAIN = {"format": FORMAT, "data": "d", "split": "validation", "seed": 0, "counts": {}, "note": None, "metrics": {}}
META = {"data": "d", "seed": 0, "manifest": "m"}


def save(folder: Path, rows: Mapping[str, Any] | None = None, **results: Any) -> Path:
    """Write results that differ in these from plain ones, and the rows of evaluations; returns the folder."""
    write_results(folder, PLAIN | results, {name: (table, META) for name, table in (rows or {}).items()})
    return folder
