"""Counterfactual tables that people have made: does a model follow the table where it contradicts the world?"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from callbacks.evaluation import Evaluation, fitted
from datamodules import PairedData, load_counterfactuals
from interventions import Annotated, Intervention
from interventions.base import Expectation
from interventions.transitions import LABELS
from metrics import Measurement, challenge, challenge_counts, eight_cells
from records import Examples, HeedError
from records.rows import read_rows

NEUTRAL = LABELS[1]
INTERVENTIONS: dict[str, Expectation] = {"annotated/flipped": "change", "annotated/preserved": "stay"}


class CounterfactualTables(Evaluation):
    """Accuracy on annotated counterfactual tables and on what they were made of (tables 7 and 8 of Gupta et al. 2022).

    It does for models of tables and for those that read the hypothesis alone.

    Args:
        paths: Folders like those of TabProbe: each one tsv file of pairs, tables_json/ and tables_mod_json/. The name
            of the folder is that of the set.
        hypothesis_only: Folder of an evaluation of a hypothesis-only model on the same pairs. With it, who is right
            where is counted in eight cells (table 8).
    """

    name = "counterfactual_tables"
    figure = "table_rows"
    needs = "paths, folders of annotated counterfactual tables"
    own = True

    def __init__(self, paths: list[str] | None = None, hypothesis_only: str | None = None) -> None:
        self.paths, self.hypothesis_only = paths or [], hypothesis_only
        if hypothesis_only is not None and not self.rows_file.is_file():
            raise HeedError(
                f"--counterfactual_tables.hypothesis_only {hypothesis_only} has no {self.rows_file.name}: evaluate the "
                "model of the hypothesis alone first, with the same --counterfactual_tables.paths, and name the folder "
                "that the results are in."
            )
        self._sets: dict[str, tuple[Examples, Examples]] = {}
        self._pool: Examples | None = None

    @property
    def rows_file(self) -> Path:
        """The rows of the hypothesis-only model."""
        return Path(self.hypothesis_only) / "rows" / f"{self.name}.parquet"

    def pool(self, data: PairedData) -> Examples | None:
        if self._pool is None and self.paths:
            if set(data.full_task.labels) != set(LABELS):
                raise HeedError(
                    f"--counterfactual_tables.paths needs a model with the labels {', '.join(LABELS)}; this one has "
                    f"{', '.join(data.full_task.labels)}."
                )
            for path in self.paths:
                name = Path(path).resolve().name
                if name in self._sets:
                    raise HeedError(f"--counterfactual_tables.paths {path}: another folder is called {name} as well.")
                self._sets[name] = tuple(fitted(side, data) for side in load_counterfactuals(path, _prefix(name)))
            self._pool = Examples.concatenate([originals for originals, _ in self._sets.values()])
        return self._pool

    def headlines(self, data: PairedData) -> dict[str, str]:
        return {f"flipped: {name}": f"challenge/{_prefix(name)}/flipped" for name in self._sets}

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        changed = Examples.concatenate([modified for _, modified in self._sets.values()])
        part = data.full_task.parts[0]
        return [Annotated(name, changed, part, expectation) for name, expectation in INTERVENTIONS.items()]

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        found: dict[str, Measurement] = {}
        for name in map(_prefix, self._sets):
            mine = _of(rows, name)
            found |= challenge(mine, name, INTERVENTIONS, NEUTRAL, data.seed)
            if self.hypothesis_only is not None:
                partial = _of(read_rows(self.rows_file)[0], name)
                found |= eight_cells(mine, partial, name, INTERVENTIONS, NEUTRAL, "flipped", data.seed)
        return found

    def counts(self, rows: pa.Table, data: PairedData) -> dict[str, Any]:
        """Of each set: how many examples its numbers rest on."""
        return {name: challenge_counts(_of(rows, _prefix(name)), INTERVENTIONS, NEUTRAL) for name in self._sets}


def _prefix(name: str) -> str:
    """What uids of a set begin with, and what its metrics are called."""
    return f"counterfactuals-{name}"


def _of(rows: pa.Table, name: str) -> pa.Table:
    return rows.filter(pc.starts_with(rows["uid"], f"{name}/"))
