"""Swapped values (Gupta et al. 2022, "Is My Model Using the Right Evidence?", §6, figure 5): the relevant rows of a
table go to another one with the same keys, and the hypothesis goes with them. The label stays.
"""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from heedful.interventions.base import EachExample, Expectation
from heedful.interventions.tables.operations import table_column
from heedful.interventions.tables.statements import Statement, move_values, why_not
from heedful.records import Changed, Examples, Table, generator
from heedful.records.example import Part, as_table, as_text
from heedful.records.pool.contents import content_id


@dataclass(frozen=True)
class SwapValues(EachExample):
    """Each entailed or contradicted hypothesis on another table, which gets the values that it rests on.

    Attributes:
        relevant: uid to the keys of the rows that its label rests on, of the examples where they are known.
        lenders: Examples about the tables that a statement can go to, one of which is drawn uniformly.
        part: The part that is the table.
        hypothesis: The part that says something of it.
        draws: How many tables each example gets.
    """

    relevant: Mapping[str, Collection[str]] = field(repr=False, compare=False)
    lenders: Examples = field(repr=False, compare=False)
    part: str
    hypothesis: str
    draws: int = 1
    name: str = "values"
    version: int = 1
    limit: int | None = None
    expectation: Expectation = "stay"

    @property
    def parts(self) -> tuple[str, ...]:
        return self.part, self.hypothesis

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        relevant = json.dumps({uid: sorted(keys) for uid, keys in self.relevant.items()}, sort_keys=True)
        return (self.lenders.fingerprint, content_id(relevant))

    @cached_property
    def _tables(self) -> list[tuple[str, Table]]:
        """(uid, table) of the different tables, by the first uid of each."""
        first: dict[Table, str] = {}
        for i, table in enumerate(map(as_table, self.lenders.column(f"parts.{self.part}"))):
            uid = self.lenders.uid(i)
            first[table] = min(first.get(table, uid), uid)
        return sorted((uid, table) for table, uid in first.items())

    def covers(self, uid: str) -> bool:
        return uid in self.relevant

    def why_not(self, pool: Examples, uid: str) -> str:
        """Why an example goes to no other table ("no_other_table" has the keys, "no_title_expression", ...), or ""."""
        statement = self._statement(pool, uid)
        reasons = {why_not(statement, other, "values") for _, other in self._tables}
        return "" if "" in reasons else min(reasons - {"key_missing", "same_title"}, default="no_other_table")

    def _statement(self, pool: Examples, uid: str) -> Statement:
        base = pool[uid]
        table = as_table(base.parts[self.part])
        keys = tuple(key for key in table.keys if key in self.relevant[uid])
        return Statement(uid, table, as_text(base.parts[self.hypothesis]), base.label, keys)

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        base = pool[uid]
        statement = self._statement(pool, uid)
        possible = [lender for lender in self._tables if not why_not(statement, lender[1], "values")]
        if not possible:
            return []
        partner, other = possible[int(generator(seed, self.name, self.version, uid, draw).integers(len(possible)))]
        moved = move_values(statement, other)
        assert moved is not None, "there is no reason against those that are possible"
        new: dict[str, Part] = {self.part: moved.statement.table, self.hypothesis: moved.statement.hypothesis}
        groups = {**base.groups, **{part: content_id(value) for part, value in new.items()}}
        cluster = f"table {pool.value(table_column(pool, self.part), pool.position(uid))}"
        example = replace(base, parts={**base.parts, **new}, groups=groups)
        return [Changed(example, partner, "; ".join(map(str, moved.edits)), clusters=(uid, cluster))]
