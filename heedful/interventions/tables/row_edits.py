"""Edit the rows of a table by one operation or a sequence of operations."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property

import numpy as np

from heedful.interventions.base import EachExample
from heedful.interventions.tables.allowed_transitions import key_of, steps
from heedful.interventions.tables.donors import Donors
from heedful.records import Changed, Examples, Table, generator
from heedful.records.example import Row, as_table, content_id
from heedful.records.rows import TRANSITIONS


@dataclass(frozen=True)
class _Edited:
    """The state of a table in a sequence of operations."""

    base: Table  # the original table
    table: Table  # the table after the operations so far
    keys: tuple[str, ...] = ()  # keys of the edited rows, in the order of the operations
    deleted: tuple[str, ...] = ()  # keys of the deleted rows
    partner: str = ""  # uid of the first example that lent a row or value

    def then(self, rows: Iterable[Row], *keys: str, partner: str = "") -> "_Edited":
        """Return the state after one more operation, which edited the rows with the given keys."""
        table = replace(self.table, rows=tuple(rows))
        return replace(self, table=table, keys=(*self.keys, *keys), partner=self.partner or partner)


@dataclass(frozen=True)
class RowEdits(EachExample):
    """Edit the rows of a table by one operation, or by several operations in a sequence.

    - delete: remove the row, unless it is the only one.
    - insert: insert a row of another table of the same category at a random position. The key of the row is new in the
      table, and differs between the changed examples.
    - update: if the row has several values, replace one of them by a value that another table has for the same key.
    - permute: reorder all rows.
    - identity: change nothing.

    A deletion or update edits another row in each changed example. In a sequence such as "delete+update", this holds
    for the first operation other than permute; each further deletion or update draws a row that has not been edited
    yet. If an operation is not possible, there is no changed example. A changed example has a gold label only if all
    operations are permute or identity.

    Attributes:
        name: The operation, or several joined by "+", such as "delete+insert".
        part: Name of the part that is the table.
        donors: The rows and values that other tables lend.
        rows_per_table: Maximum number of changed examples of a table in each draw; None for all rows.
        relevant: Maps uids to the keys of the rows that the hypothesis depends on, where known. The keys determine the
            allowed transitions (:mod:`heedful.interventions.tables.allowed_transitions`), not the edits.
        only: uids of the examples to edit; None for all examples.
        draws: Number of draws per example; becomes 0 if nothing is random.
    """

    name: str
    part: str
    donors: Donors = field(repr=False, compare=False)
    rows_per_table: int | None = None
    relevant: Mapping[str, Collection[str]] = field(default_factory=dict, repr=False, compare=False)
    only: frozenset[str] | None = field(default=None, repr=False, compare=False)
    _: KW_ONLY
    draws: int = 1
    expects: str = TRANSITIONS

    def __post_init__(self) -> None:
        if self.operations in ((), ("delete",)) and self.rows_per_table is None:
            object.__setattr__(self, "draws", 0)  # deterministic

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.part,)

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        rows = "all" if self.rows_per_table is None else self.rows_per_table
        return (rows,) if self.only is None else (rows, content_id("\n".join(sorted(self.only))))

    @cached_property
    def operations(self) -> tuple[str, ...]:
        """The :func:`steps` of :attr:`name`."""
        return steps(self.name)

    def covers(self, uid: str) -> bool:
        return self.only is None or uid in self.only

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        example = pool[uid]
        table_id = self.donors.table_id(pool, pool.position(uid))
        changing = [operation for operation in self.operations if operation != "permute"]
        changed = []
        for edited in self._edits(as_table(example[self.part]), table_id, (seed, uid, draw)):
            new = example.replace(self.part, edited.table, gold=None if changing else example.label)
            variant = "".join(edited.keys) if len(changing) < 2 else json.dumps(edited.keys, ensure_ascii=False)
            expects = f"{TRANSITIONS}/{key_of(self.name, self._relevance(uid, edited.deleted))}"
            changed.append(Changed(new, edited.partner, variant, (uid, f"table {table_id}"), expects))
        return changed

    def _relevance(self, uid: str, deleted: Collection[str]) -> str:
        if uid not in self.relevant:
            return "unknown"
        return "relevant" if any(key in self.relevant[uid] for key in deleted) else "irrelevant"

    def _edits(self, table: Table, table_id: str, key: tuple[str | int, ...]) -> list[_Edited]:
        """Return the edited tables of one draw, at most one per row; ``key`` is (seed, uid, draw)."""
        key = ("rows", "+".join(self.operations), self.version, self.part, *key)
        main = next((k for k, operation in enumerate(self.operations) if operation != "permute"), None)
        targets = [""]  # permutations and insertions need no target row
        if main is not None:
            inserts = self.operations[main] == "insert"
            targets = [""] * max(1, len(table.rows)) if inserts else [*table.keys]
        order: Iterable[int] = range(len(targets))
        if self.rows_per_table is not None:
            order = generator(*key).permutation(len(targets)).tolist()
        edits: dict[int, _Edited] = {}
        seen: set[Table] = set()
        inserted: list[str] = []  # keys that the main operation has inserted so far
        for index in order:
            edited = self._edit(table, table_id, main, targets[index], inserted, generator(*key, index))
            if edited is None or edited.table in seen:  # two deletions give the same table in both orders
                continue
            edits[index] = edited
            seen.add(edited.table)
            if len(edits) == self.rows_per_table:
                break
        return [edits[index] for index in sorted(edits)]

    def _edit(
        self, table: Table, table_id: str, main: int | None, target: str, inserted: list[str], rng: np.random.Generator
    ) -> _Edited | None:
        """Apply all operations; None if one is impossible. The main one edits ``target`` or extends ``inserted``."""
        edited = _Edited(table, table)
        for k, operation in enumerate(self.operations):
            if operation == "insert":
                after = self._insert(edited, table_id, inserted if k == main else [], rng)
                inserted += after.keys[-1:] if after is not None and k == main else []
            elif operation == "permute":
                after = _permute(edited, rng)
            else:
                untouched = [key for key in table.keys if key not in edited.keys]
                keys = [target] if k == main else rng.permutation(np.array(untouched, dtype=object)).tolist()
                step = _delete if operation == "delete" else self._update
                attempts = (step(edited, table_id, key, rng) for key in keys)
                after = next((attempt for attempt in attempts if attempt is not None), None)
            if after is None:
                return None
            edited = after
        return edited

    def _insert(
        self, edited: _Edited, table_id: str, excluded: Collection[str], rng: np.random.Generator
    ) -> _Edited | None:
        loan = self.donors.row(table_id, (*edited.base.keys, *edited.table.keys, *excluded), rng)
        if loan is None:
            return None
        rows = list(edited.table.rows)
        rows.insert(int(rng.integers(len(rows) + 1)), loan.lent)
        return edited.then(rows, loan.lent[0], partner=loan.uid)

    def _update(self, edited: _Edited, table_id: str, key: str, rng: np.random.Generator) -> _Edited | None:
        values = edited.table.values[key]
        loan = self.donors.value(table_id, key, values, rng) if len(values) > 1 else None
        if loan is None:
            return None
        index = values.index(values[int(rng.integers(len(values)))])  # the first of equal values
        changed = (*values[:index], loan.lent, *values[index + 1 :])
        return edited.then([(k, changed if k == key else v) for k, v in edited.table.rows], key, partner=loan.uid)


def _delete(edited: _Edited, table_id: str, key: str, rng: np.random.Generator) -> _Edited | None:
    if len(edited.table.rows) < 2:
        return None
    rows = [row for row in edited.table.rows if row[0] != key]
    return replace(edited.then(rows, key), deleted=(*edited.deleted, key))


def _permute(edited: _Edited, rng: np.random.Generator) -> _Edited | None:
    n = len(edited.table.rows)
    if n < 2:
        return None
    order = np.arange(n)
    while (order == np.arange(n)).all():
        order = rng.permutation(n)
    return edited.then([edited.table.rows[i] for i in order.tolist()])
