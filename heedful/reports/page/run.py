"""A folder of results, read for a page."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from heedful.records import Context, MetricName
from heedful.records.storage.results import read_run
from heedful.reports.page.about import abouts
from heedful.reports.runs import Evaluated, Measured


@dataclass(frozen=True)
class Run:
    """The results of one model on one data set, with their rows.

    Attributes:
        measured: Which model it is.
        name: Name on the page: no path.
        about: Content of run.json.
    """

    measured: Measured
    name: str
    about: Mapping[str, Any]

    @classmethod
    def read(cls, measured: Measured, name: str) -> "Run":
        """Read what else the folder of results has."""
        return cls(replace(measured, label=name), name, read_run(measured.folder))

    @property
    def results(self) -> Mapping[str, Any]:
        return self.measured.results

    @property
    def rows(self) -> Mapping[str, Evaluated]:
        return self.measured.rows

    @property
    def numbers(self) -> Mapping[MetricName, Mapping[str, Any]]:
        return self.measured.numbers

    @property
    def folder(self) -> Path:
        return Path(self.measured.folder)

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
