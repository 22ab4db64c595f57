"""Accuracy in two classes, entailment or not, on several data sets at once."""

from collections.abc import Callable

import pyarrow as pa

from callbacks.engine.evaluation import Evaluation, fitted, require_entailment
from datamodules import PairedData
from interventions import Intervention
from metrics import Measurement, two_class_accuracy
from records import Examples, HeedError


class TwoClass(Evaluation):
    """Accuracy on benchmarks of natural language inference, beside the data that are evaluated.

    The labels of a model and of a data set need not be the same: all but entailment are one class.

    Args:
        benchmarks: Names of data sets with their paths, or null for the hub: {snli: null, med: FILE}.
    """

    name = "two_class"
    needs = "benchmarks, data sets with their paths"
    own = True

    def __init__(self, benchmarks: dict[str, str | None] | None = None) -> None:
        self.benchmarks = benchmarks or {}
        self._modules: dict[str, PairedData] = {}
        self._pool: Examples | None = None

    def read(self, data_module: Callable[[str, str | None], PairedData]) -> None:
        """Have the benchmarks read.

        Args:
            data_module: Makes a data module, set up, from the name of a data set and its path.
        """
        for benchmark, path in self.benchmarks.items():
            try:
                module = data_module(benchmark, path)
            except HeedError as error:
                raise HeedError(f"§two_class.benchmarks {benchmark}: {error.args[0]}") from None
            require_entailment(module.task.labels, f"§two_class.benchmarks {benchmark}")
            if self._modules.setdefault(module.name, module) is not module:
                raise HeedError(f"§two_class.benchmarks {benchmark}: another one is called {module.name} in its YAML.")

    def pool(self, data: PairedData) -> Examples | None:
        if self._pool is None and self._modules:
            require_entailment(data.task.labels, "§two_class.benchmarks with this model")
            self._pool = Examples.concatenate([fitted(m.pool, data) for m in self._modules.values()])
        return self._pool

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        return []

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        return two_class_accuracy(rows, data.task.labels, data.seed)
