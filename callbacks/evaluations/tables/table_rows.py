"""The evaluation "table_rows": do predictions change in ways that an edit of the table's rows does not allow?"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from heedful.callbacks.engine.evaluation import Evaluation, Nothing, Plan, Setting, require_number
from heedful.callbacks.evaluations.pools import by_split
from heedful.datamodules.base.splits import by_hash
from heedful.interventions import Donors, RowEdits
from heedful.interventions.tables.allowed_transitions import LABELS, steps
from heedful.metrics import METRICS
from heedful.metrics.tables.transitions import TableRowsSettings
from heedful.records import Context
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
            donors, only = Donors(pool, part), None  # None for all examples
            if data.splits_evaluated or len(pool) > (self.max_examples or len(pool)):
                only = frozenset(map(pool.uid, by_hash(pool, data.seed, self.name)[: self.max_examples]))
            edits += [RowEdits(name, part, donors, self.rows_per_table, only=only) for name in self.operations]
        return Plan(data.pool, edits, TableRowsSettings(tuple(self.operations)))

    def counts(self, plan: Plan, rows: pa.Table, context: Context) -> dict[str, Any]:
        """Return, for each operation, the number of hypotheses without an edit."""
        uids = set(strings(select(rows, intervention=BASE), "uid"))
        first = [edit for edit in plan.interventions if edit.name == self.operations[0]]  # one per split
        n = sum(len(uids if edit.only is None else uids & edit.only) for edit in first)
        edits = {name: select(rows, intervention=name) for name in self.operations}
        return {name: {"without_edit": n - len(pc.unique(of_name["uid"]))} for name, of_name in edits.items()}
