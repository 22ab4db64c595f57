"""Row operations on tables as an evaluation: which transitions between predictions are not allowed."""

from typing import Any

import pyarrow as pa

from callbacks.engine.evaluation import Evaluation, by_split, table_of
from datamodules import PairedData
from datamodules.base.splits import by_hash
from interventions import Donors, Intervention, RowEdits
from interventions.tables.allowed_transitions import LABELS, steps
from metrics import Changes, Measurement, invalid_transitions
from records import Examples, HeedError
from records.rows import BASE, select, strings

OPERATIONS = ("delete", "insert", "update", "permute")


class TableRows(Evaluation):
    """Transitions between predictions when rows of a table are deleted, inserted, updated or put in another order.

    It takes all data with a part that is a table, and with the labels entailment, neutral and contradiction.

    Args:
        operations: delete, insert, update, permute, or several joined by "+", such as delete+insert.
        max_examples: At most this many hypotheses of each split are tested, the same by all operations: each of them is
            predicted anew for every row of its table, some 20 times in all. None for all.
        rows_per_table: At most this many rows of a table are edited, taken at random; None for all.
    """

    name = "table_rows"
    figure = "table_rows"
    needs = f"operations, and data with a table among the parts and the labels {', '.join(LABELS)}"

    def __init__(
        self,
        operations: list[str] = list(OPERATIONS),  # noqa: B006
        max_examples: int | None = 200,
        rows_per_table: int | None = None,
    ) -> None:
        for flag, n in {"max_examples": max_examples, "rows_per_table": rows_per_table}.items():
            if n is not None and n < 1:
                raise HeedError(f"§table_rows.{flag} must be at least 1.")
        for operation in operations:
            steps(operation)
        self.operations = list(dict.fromkeys(operations))
        self.max_examples, self.rows_per_table = max_examples, rows_per_table
        self._prepared: tuple[Examples, list[tuple[Donors, frozenset[str] | None]]] | None = None

    def pool(self, data: PairedData) -> Examples | None:
        fits = data.pool is not None and data.pool.tables and set(data.task.labels) == set(LABELS)
        return data.pool if fits and self.operations else None

    def headlines(self, data: PairedData) -> dict[str, str]:
        return {f"invalid: {name}": f"transitions/{data.name}/{name}/invalid" for name in self.operations[:1]}

    def interventions(self, data: PairedData, monitoring: bool) -> list[Intervention]:
        return [
            RowEdits(name, table_of(data.pool), donors, self.rows_per_table, only=only)
            for donors, only in self._of_splits(data)
            for name in self.operations
        ]

    def _of_splits(self, data: PairedData) -> list[tuple[Donors, frozenset[str] | None]]:
        """What the tables of each split lend to each other, and which hypotheses are tested; None where all are.

        Each split is edited as if it were evaluated alone.
        """
        if self._prepared is None or self._prepared[0] is not data.pool:
            pools = by_split(data.pool, data)
            self._prepared = data.pool, [(Donors(p, table_of(p)), self._chosen(p, data)) for p in pools]
        return self._prepared[1]

    def _chosen(self, pool: Examples, data: PairedData) -> frozenset[str] | None:
        if not data.splits_evaluated and len(pool) <= (self.max_examples or len(pool)):
            return None
        return frozenset(map(pool.uid, by_hash(pool, data.seed, self.name)[: self.max_examples]))

    def metrics(self, rows: pa.Table, data: PairedData) -> dict[str, Measurement]:
        return invalid_transitions(rows, data.name, self.operations, data.seed, data.splits_evaluated)

    def counts(self, rows: pa.Table, data: PairedData) -> dict[str, Any]:
        """Of each operation: hypotheses and tables with an edit, hypotheses without a possible one, and the matrix."""
        base, counts = set(strings(select(rows, intervention=BASE), "uid")), {}
        chosen = sum(len(base if only is None else base & only) for _, only in self._of_splits(data))
        for name in self.operations:
            changes = Changes(rows, name)
            counts[name] = {
                "hypotheses": changes.hypotheses,
                "without_edit": chosen - changes.hypotheses,
                "tables": len(set(changes.table.tolist())),
                "edited": len(changes.before),
                "transitions": {
                    before: dict(zip(LABELS, row, strict=True))
                    for before, row in zip(LABELS, changes.matrix().tolist(), strict=True)
                },
            }
        return counts
