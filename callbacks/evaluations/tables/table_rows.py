"""The evaluation "table_rows": do predictions change in ways that an edit of the table's rows does not allow?"""

from typing import Any

import pyarrow as pa

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting, require_number
from heedful.callbacks.evaluations.pools import by_split
from heedful.datamodules.base.pairs import Pairs
from heedful.datamodules.base.splits import by_hash
from heedful.interventions import Donors, RowEdits
from heedful.interventions.tables.allowed_transitions import LABELS, steps
from heedful.metrics import METRICS
from heedful.metrics.tables.transitions import Changes, TableRowsSettings
from heedful.records import Context, Examples
from heedful.records.rows import BASE, select, strings

OPERATIONS = ("delete", "insert", "update", "permute")


class TableRows(Evaluation):
    """How predictions change when rows of a table are deleted, inserted, updated or reordered.

    The evaluation requires data with a table and the labels entailment, neutral and contradiction.

    Args:
        operations: delete, insert, update, permute, or several joined by "+", such as delete+insert.
        max_examples: Largest number of tested hypotheses per split, the same for all operations; None for all. For
            each hypothesis, there is one further prediction per row of its table: about 20.
        rows_per_table: Largest number of edited rows per table, sampled at random; None for all.
    """

    metric = METRICS["table_rows"]

    def __init__(
        self,
        operations: list[str] = list(OPERATIONS),  # noqa: B006
        max_examples: int | None = 200,
        rows_per_table: int | None = None,
    ) -> None:
        require_number("table_rows.max_examples", max_examples)
        require_number("table_rows.rows_per_table", rows_per_table)
        for operation in operations:
            steps(operation)
        self.operations = list(dict.fromkeys(operations))
        self.max_examples = max_examples
        self.rows_per_table = rows_per_table

    def plan(self, setting: Setting) -> Plan | Nothing:
        data = setting.data
        if not self.operations:
            return Nothing("has no operation in table_rows.operations")
        if not (data.pool.tables and set(data.task.labels) == set(LABELS)):
            return Nothing(f"needs a table among the parts and the labels {', '.join(LABELS)}")
        edits = []
        for pool in by_split(data.pool, data):  # a split has the same edits as in an evaluation of that split alone
            part = pool.tables[0]
            only = self._chosen(pool, data)
            donors = Donors(pool, part)
            edits += [RowEdits(name, part, donors, self.rows_per_table, only=only) for name in self.operations]
        return Plan(data.pool, edits, TableRowsSettings(tuple(self.operations)))

    def _chosen(self, pool: Examples, data: Pairs) -> frozenset[str] | None:
        """Return the uids of the hypotheses that are tested; None if all are tested."""
        if not data.splits_evaluated and len(pool) <= (self.max_examples or len(pool)):
            return None
        return frozenset(map(pool.uid, by_hash(pool, data.seed, self.name)[: self.max_examples]))

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        """Count, for each operation: hypotheses with and without an edit, tables, edits, and edits by the two labels
        that are predicted before and after the edit.
        """
        base = set(strings(select(rows, intervention=BASE), "uid"))
        counts = {}
        tested = [edit.only for edit in plan.interventions if edit.name == self.operations[0]]  # one per split
        hypotheses = sum(len(base if only is None else base & only) for only in tested)
        for name in self.operations:
            changes = Changes(rows, name)
            counts[name] = {
                "hypotheses": changes.hypotheses,
                "without_edit": hypotheses - changes.hypotheses,
                "tables": len(set(changes.table.tolist())),
                "edited": len(changes.before),
                "transitions": {
                    before: dict(zip(LABELS, row, strict=True))
                    for before, row in zip(LABELS, changes.matrix().tolist(), strict=True)
                },
            }
        return counts
