"""A folder of results, read for a page."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from heedful.records import Context, MetricName
from heedful.records.storage.results import named, read_evaluation, read_results, read_run, rows_file
from heedful.reports.page.about import abouts
from heedful.reports.results import Evaluated
from heedful.reports.runs import Measured


@dataclass(frozen=True)
class Run:
    """The results of one model on one data set, with their rows.

    Attributes:
        measured: Which model it is.
        name: What the page calls it: no path.
        results: What results.json says.
        about: What run.json says.
        rows: Evaluation to its rows and their metadata, of those that are at hand.
    """

    measured: Measured
    name: str
    results: Mapping[str, Any]
    about: Mapping[str, Any]
    rows: Mapping[str, Evaluated]

    @classmethod
    def read(cls, measured: Measured, name: str) -> "Run":
        """Read a folder.

        Raises:
            HeedfulError: It has no results, or damaged ones.
        """
        folder = measured.folder
        results = read_results(folder)
        there = [name for name in results["rows"] if rows_file(folder, name).exists()]
        rows = {name: found for name in there if (found := read_evaluation(folder, name)) is not None}
        return cls(replace(measured, label=name), name, results, read_run(folder), rows)

    @property
    def folder(self) -> Path:
        return Path(self.measured.folder)

    @cached_property
    def numbers(self) -> dict[MetricName, dict[str, Any]]:
        """Each measurement by its name."""
        return named(self.results)

    @cached_property
    def contexts(self) -> dict[str, Context]:
        """Evaluation to the task that its rows are about."""
        return {name: Context.of(metadata["context"]) for name, (_, metadata) in self.rows.items()}

    @property
    def is_unlabelled(self) -> bool:
        """Whether the examples have no gold labels."""
        return self.measured.unlabelled

    def evaluation_of(self, name: MetricName) -> str:
        """The evaluation that a number belongs to: the first that was measured and has such; "" where none has."""
        has_it = [
            evaluation
            for evaluation in self.results["rows"]
            if evaluation not in abouts()
            and name.family == evaluation
            or evaluation in abouts()
            and name.family in abouts()[evaluation].families
        ]
        if name.family == "transitions" and name.data != self.results["data"] and "evidence" in has_it:
            return "evidence"  # which has them by relevance, of data with a name of its own
        return next(iter(sorted(has_it, key=_rank)), "")


def _rank(evaluation: str) -> int:
    """The place of an evaluation, as pages show them; those that others register come last."""
    order = ["attentiveness", *abouts()]
    return order.index(evaluation) if evaluation in order else len(order)


def in_order(run: Run) -> list[str]:
    """The evaluations that a run has numbers of, as pages show them."""
    return sorted(run.results["rows"], key=lambda name: (_rank(name), name))
