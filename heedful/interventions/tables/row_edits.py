"""Edits of table rows as an intervention: one operation, or several one after the other."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from heedful.interventions.base import EachExample, Expectation
from heedful.interventions.tables import operations as tables
from heedful.interventions.tables.allowed_transitions import key_of, steps
from heedful.interventions.tables.operations import Donors
from heedful.records import Changed, Examples, Table, generator
from heedful.records.example import as_table
from heedful.records.pool.contents import content_id


@dataclass(frozen=True)
class _Edited:
    """A table on its way through the operations.

    Attributes:
        base: As it was.
        table: As it is.
        keys: Keys of the rows that were edited, in the order of the operations.
        deleted: Those of them whose rows are gone.
        partner: uid of the first example that lent something, or "".
    """

    base: Table
    table: Table
    keys: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    partner: str = ""

    def then(self, table: Table, *keys: str, partner: str = "") -> "_Edited":
        return replace(self, table=table, keys=(*self.keys, *keys), partner=self.partner or partner)

    @property
    def untouched(self) -> list[str]:
        """Keys of the base table that no operation has edited."""
        return [key for key in self.base.keys if key not in self.keys]


@dataclass(frozen=True)
class RowEdits(EachExample):
    """Edit one row of a table: a changed example for each row.

    - delete: the row goes. A table keeps one row at least, for a title alone says nothing.
    - insert: a row with a new key comes from another table of the same category, to any place; as many times as the
      table has rows, each time with another key.
    - update: one value of a key with several becomes one that another table has under the same key.
    - permute: the rows come in another order.
    - identity: nothing.

    Of several operations, the first that is no permutation goes through the rows, and the others take one at random.
    Each edits a row that no other has edited, and what is inserted is new to the table as it was: a deleted row does
    not come back with another content. Where any of them is not possible, there is no change.

    Attributes:
        name: The operation, or several joined by "+": "delete+insert".
        part: The part that is a table.
        donors: What the tables of the pool lend to each other.
        rows_per_table: At most this many rows of a table, taken at random; None for all.
        relevant: uid to the keys of the rows that its label rests on, where they are known. They do not decide what is
            edited, but which transitions are allowed (:mod:`heedful.interventions.tables.allowed_transitions`).
        only: uids of the examples that are edited; None for all.
        draws: How many times each example is edited, apart from what is not random.

    The changed example keeps its label where the meaning of the table stays; otherwise it has none.
    """

    name: str
    part: str
    donors: Donors = field(repr=False, compare=False)
    rows_per_table: int | None = None
    relevant: Mapping[str, Collection[str]] = field(default_factory=dict, repr=False, compare=False)
    only: frozenset[str] | None = field(default=None, repr=False, compare=False)
    draws: int = 1
    limit: int | None = None
    version: int = 1
    expectation: Expectation = "transition"

    def __post_init__(self) -> None:
        if self.operations in ((), ("delete",)) and self.rows_per_table is None:
            object.__setattr__(self, "draws", 0)  # not random

    @property
    def parts(self) -> tuple[str, ...]:
        return (self.part,)

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        rows = "all" if self.rows_per_table is None else self.rows_per_table
        return (rows,) if self.only is None else (rows, content_id("\n".join(sorted(self.only))))

    @cached_property
    def operations(self) -> tuple[str, ...]:
        """The operations in their order, without those that do nothing."""
        return steps(self.name)

    def covers(self, uid: str) -> bool:
        return self.only is None or uid in self.only

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        i = pool.position(uid)
        example = pool[i]
        table_id = self.donors.table_id(pool, i)
        changed = []
        for edited in self._edits(as_table(example.parts[self.part]), table_id, (seed, uid, draw)):
            table = edited.table
            of_rows = [operation for operation in self.operations if operation != "permute"]
            changed.append(
                Changed(
                    replace(
                        example,
                        parts={**example.parts, self.part: table},
                        groups={**example.groups, self.part: content_id(table)},
                        label=None if of_rows else example.label,
                    ),
                    partner=edited.partner,
                    variant="".join(edited.keys) if len(of_rows) < 2 else json.dumps(edited.keys, ensure_ascii=False),
                    clusters=(uid, f"table {table_id}"),
                    allowed=key_of(self.name, self._relevance(uid, edited.deleted)),
                )
            )
        return changed

    def _relevance(self, uid: str, deleted: Collection[str]) -> str:
        if uid not in self.relevant:
            return "unknown"
        return "relevant" if any(key in self.relevant[uid] for key in deleted) else "irrelevant"

    def _edits(self, table: Table, table_id: str, key: tuple[str | int, ...]) -> list[_Edited]:
        """The edited tables of one draw, in the order of the rows of the table."""
        key = ("rows", "+".join(self.operations), self.version, self.part, *key)
        main = next((k for k, operation in enumerate(self.operations) if operation != "permute"), None)
        targets = [""]  # of what has no row of its own: permutations and insertions
        if main is not None:
            inserting = self.operations[main] == "insert"
            targets = [""] * max(1, len(table.rows)) if inserting else [*table.keys]
        order: Iterator[int] = iter(range(len(targets)))
        if self.rows_per_table is not None:
            order = iter(generator(*key).permutation(len(targets)).tolist())
        edited_at: dict[int, _Edited] = {}
        seen: set[Table] = set()
        inserted: list[str] = []  # by the main operation
        for at in order:
            edited = self._edit(table, table_id, main, targets[at], inserted, generator(*key, at))
            if edited is None or edited.table in seen:  # of two deletions, either may come first
                continue
            edited_at[at] = edited
            seen.add(edited.table)
            if len(edited_at) == self.rows_per_table:
                break
        return [edited_at[at] for at in sorted(edited_at)]

    def _edit(
        self,
        table: Table,
        table_id: str,
        main: int | None,
        target: str,
        inserted: list[str],
        rng: np.random.Generator,
    ) -> _Edited | None:
        """The table after all operations, of which the main one has a target; None where one is not possible."""
        edited = _Edited(table, table)
        for k, operation in enumerate(self.operations):
            if operation == "insert":
                after = self._insert(edited, table_id, inserted if k == main else [], rng)
                inserted += after.keys[-1:] if after is not None and k == main else []
            elif operation == "permute":
                after = _permute(edited, rng)
            else:
                keys = [target] if k == main else rng.permutation(np.array(edited.untouched, dtype=object)).tolist()
                step = _delete if operation == "delete" else self._update
                tried = (step(edited, table_id, key, rng) for key in keys)
                after = next((one for one in tried if one is not None), None)
            if after is None:
                return None
            edited = after
        return edited

    def _insert(
        self, edited: _Edited, table_id: str, others: Collection[str], rng: np.random.Generator
    ) -> _Edited | None:
        loan = self.donors.row(table_id, (*edited.base.keys, *edited.table.keys, *others), rng)
        if loan is None:
            return None
        position = int(rng.integers(len(edited.table.rows) + 1))
        return edited.then(tables.insert(edited.table, loan.lent, position), loan.lent[0], partner=loan.uid)

    def _update(self, edited: _Edited, table_id: str, key: str, rng: np.random.Generator) -> _Edited | None:
        values = edited.table.values[key]
        loan = self.donors.value(table_id, key, values, rng) if len(values) > 1 else None
        if loan is None:
            return None
        old = values[int(rng.integers(len(values)))]
        return edited.then(tables.update(edited.table, key, old, loan.lent), key, partner=loan.uid)


def _delete(edited: _Edited, table_id: str, key: str, rng: np.random.Generator) -> _Edited | None:
    if len(edited.table.rows) < 2:
        return None
    return replace(edited.then(tables.delete(edited.table, key), key), deleted=(*edited.deleted, key))


def _permute(edited: _Edited, rng: np.random.Generator) -> _Edited | None:
    n = len(edited.table.rows)
    if n < 2:
        return None
    order = np.arange(n)
    while (order == np.arange(n)).all():
        order = rng.permutation(n)
    return edited.then(tables.permute(edited.table, order.tolist()))
