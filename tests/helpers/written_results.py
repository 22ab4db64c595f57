"""Folders of runs with results.json and rows, as the run folder writes them, for the tests of what reads them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from records import Context, Measurement, MetricName, Shown
from records.rows import FORMAT
from records.storage.results import write_results

META = {"data": "d", "seed": 0, "manifest": "m", "context": Context("d").as_dict()}


def results(numbers: Mapping[MetricName, Measurement] | None = None, shown: Shown | None = None, **others: Any) -> dict:
    """Results that hold these numbers, and differ from plain ones in the others."""
    numbers = numbers or {}
    return {
        "format": FORMAT, "data": "d", "split": "validation", "seed": 0, "counts": {}, "note": None, "rows": {},
        "metrics": {str(name): m.as_dict() for name, m in numbers.items()},
        "names": {str(name): list(name) for name in numbers},
        "display": (shown or Shown()).as_dict(),
    } | others  # fmt: skip


def save(folder: Path, found: Mapping[str, Any] | None = None, rows: Mapping[str, Any] | None = None) -> Path:
    """Write results, plain ones by default, and the rows of evaluations; returns the folder."""
    write_results(folder, found or results(), {name: (table, META) for name, table in (rows or {}).items()})
    return folder
