"""Swapped titles (Gupta et al. 2022, "Is My Model Using the Right Evidence?", §6, figure 6): a table gets the title of
another one of its kind, and what its hypothesis calls it changes with it. The label stays.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from heedful.interventions.base import EachExample, Expectation
from heedful.interventions.hypotheses.perturb import Source
from heedful.interventions.tables.statements import SCORED, Statement, alike, move_title, why_not
from heedful.interventions.tables.title_expressions import title_forms
from heedful.records import Changed, Examples, Table, generator
from heedful.records.example import Part, as_table, as_text
from heedful.records.pool.contents import content_id


class Lender(NamedTuple):
    """A table that lends its title, and the first uid that has it."""

    table: Table
    uid: str


@dataclass(frozen=True)
class SwapTitle(EachExample):
    """The title of another table of the same kind, drawn uniformly, for each entailed or contradicted hypothesis.

    Titles are lent by the tables of the same pool that are :func:`~heedful.interventions.tables.statements.alike`. One
    that holds a form of the own title, as "Boston (band)" holds "Boston", is not lent: the hypothesis would still
    speak of the old one.

    Attributes:
        source: The split, with its tables.
        parts: What the model reads, and thus what changes: table and hypothesis, or the hypothesis alone.
        draws: How many titles each example gets.
    """

    source: Source = field(repr=False, compare=False)
    parts: tuple[str, ...]
    draws: int = 1
    name: str = "title"
    version: int = 1
    limit: int | None = None
    expectation: Expectation = "stay"

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        return (self.source.pool.fingerprint,)

    def covers(self, uid: str) -> bool:
        return self.source.holds(uid)  # what counts besides is the gold label

    def why_not(self, uid: str) -> str:
        """Why an example gets no other title: "neutral", "no_other_table" or "no_title_expression"; "" where it can."""
        statement = self._statement(uid)
        if statement.label not in SCORED:
            return "neutral"
        lenders = self._lenders(statement.table)
        return why_not(statement, lenders[0].table, "title") if lenders else "no_other_table"

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        if self.why_not(uid):
            return []
        statement = self._statement(uid)
        base = pool[uid]
        lenders = self._lenders(statement.table)
        lender = lenders[int(generator(seed, self.name, self.version, uid, draw).integers(len(lenders)))]
        moved = move_title(statement, lender.table)
        assert moved is not None, "there is no reason against any of the lenders"
        new: dict[str, Part] = {
            self.source.table: moved.statement.table,
            self.source.hypothesis: moved.statement.hypothesis,
        }
        example = replace(
            base,
            parts={part: new.get(part, old) for part, old in base.parts.items()},
            groups={**base.groups, **{part: content_id(new[part]) for part in self.parts}},
        )
        variant = "; ".join(map(str, moved.edits))
        return [Changed(example, lender.uid, variant, clusters=(uid, self.source.cluster(uid)))]

    def _statement(self, uid: str) -> Statement:
        example = self.source.pool[uid]
        table = as_table(example.parts[self.source.table])
        return Statement(uid, table, as_text(example.parts[self.source.hypothesis]), example.label)

    @cached_property
    def _tables(self) -> list[Lender]:
        """The different tables of the pool by ascending uid."""
        pool = self.source.pool
        column = f"parts.{self.source.table}"
        tables = [as_table(table) for table in pool.column(column)]
        first: dict[Table, str] = {}
        for i in pool.uid_order.tolist():
            first.setdefault(tables[i], pool.uid(i))
        return [Lender(table, uid) for table, uid in first.items()]

    @cached_property
    def _lenders_of(self) -> dict[Table, list[Lender]]:
        return {}

    def _lenders(self, table: Table) -> Sequence[Lender]:
        if table not in self._lenders_of:
            forms = "|".join(map(re.escape, title_forms(table).values()))
            own = re.compile(rf"(?<!\w)(?:{forms})(?!\w)")
            self._lenders_of[table] = [
                lender
                for lender in self._tables
                if alike(table, lender.table) and not any(map(own.search, title_forms(lender.table).values()))
            ]
        return self._lenders_of[table]
