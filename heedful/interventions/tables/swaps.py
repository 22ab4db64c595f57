"""Counterfactual tables with unchanged labels (Gupta et al. 2022, "Is My Model Using the Right Evidence?", section 6).

The label of a hypothesis depends only on its relevant rows. So the label stays if the values of these rows are copied
to another table with the same keys, whose title then replaces the old one in the hypothesis (figure 5); or if the title
is replaced in both the table and its hypothesis (figure 6).
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import NamedTuple

from heedful.interventions.base import EachExample, Expectation
from heedful.interventions.hypotheses.perturb import Source
from heedful.interventions.hypotheses.text_edits import apply_edits
from heedful.interventions.tables.operations import table_column
from heedful.interventions.tables.title_expressions import replace_title, title_forms
from heedful.records import Changed, Example, Examples, Table, generator
from heedful.records.example import Part, as_table, as_text
from heedful.records.pool.contents import content_id

SCORED = ("entailment", "contradiction")  # a neutral hypothesis depends on facts outside of the table


@dataclass(frozen=True)
class Statement:
    """A hypothesis about a table.

    Attributes:
        table: The table.
        hypothesis: The hypothesis.
        label: The gold label, or None.
        keys: Keys of the relevant rows; empty if they are unknown.
    """

    table: Table
    hypothesis: str
    label: str | None
    keys: tuple[str, ...] = ()


class Lender(NamedTuple):
    """A table that lends its title or receives values.

    Attributes:
        uid: Smallest uid of an example with the table.
        table: The table.
    """

    uid: str
    table: Table


def why_not(statement: Statement, lender: Table, by: str) -> str:
    """The reason why a statement cannot be moved to another table; "" if it can be moved.

    Args:
        statement: The statement.
        lender: The other table.
        by: "values" to copy the relevant values to the other table, "title" to take its title.
    """
    if by == "values":
        if statement.label not in SCORED:
            return "neutral"
        if not statement.keys:
            return "no_relevant_keys"
        if any(key not in table.values for key in statement.keys for table in (statement.table, lender)):
            return "key_missing"
        if all(statement.table.values[key] == lender.values[key] for key in statement.keys):
            return "same_values"
    if statement.table.title == lender.title:
        return "same_title"
    return "" if replace_title(statement.hypothesis, statement.table, lender) else "no_title_expression"


def moved_table(statement: Statement, lender: Table, by: str) -> Table:
    """The counterfactual table: ``lender`` with the relevant values, or the table with the title of ``lender``."""
    if by == "title":
        return replace(statement.table, title=lender.title)
    values = statement.table.values
    return replace(lender, rows=tuple((k, values[k] if k in statement.keys else v) for k, v in lender.rows))


def title_lenders(table: Table, lenders: Sequence[Lender]) -> list[Lender]:
    """The tables that have at least half of a table's keys and whose titles do not contain a form of its title."""
    forms = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, title_forms(table).values()))})(?!\w)")
    return [
        lender
        for lender in lenders
        if 2 * len(table.values.keys() & lender.table.values.keys()) >= len(table.values)
        and not any(map(forms.search, title_forms(lender.table).values()))
    ]


def lenders_of(pool: Examples, part: str) -> list[Lender]:
    """The distinct tables of a pool, by ascending uid."""
    tables = [as_table(table) for table in pool.column(f"parts.{part}")]
    first: dict[Table, str] = {}
    for i in pool.uid_order.tolist():
        first.setdefault(tables[i], pool.uid(i))
    return [Lender(uid, table) for table, uid in first.items()]


def _changed(
    base: Example, statement: Statement, lender: Lender, by: str, names: tuple[str, str], cluster: str
) -> Changed:
    """The example with a moved statement; ``names`` are the parts of table and hypothesis."""
    edits = replace_title(statement.hypothesis, statement.table, lender.table)
    values = moved_table(statement, lender.table, by), apply_edits(statement.hypothesis, edits)
    new: dict[str, Part] = dict(zip(names, values, strict=True))
    new = {name: value for name, value in new.items() if name in base.parts}
    groups = {**base.groups, **{name: content_id(value) for name, value in new.items()}}
    example = replace(base, parts={**base.parts, **new}, groups=groups)
    return Changed(example, lender.uid, "; ".join(map(str, edits)), clusters=(base.uid, cluster))


@dataclass(frozen=True)
class SwapValues(EachExample):
    """Copy the values of a hypothesis's relevant rows to another table, and replace the title in the hypothesis.

    Attributes:
        relevant: Maps uids to the keys of the relevant rows; other examples are not changed.
        lenders: Examples with the other tables; one table is drawn uniformly.
        part: Name of the part that is the table.
        hypothesis: Name of the part that is the hypothesis.
        draws: Number of draws of another table per example.
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
    def _tables(self) -> list[Lender]:
        return lenders_of(self.lenders, self.part)

    def covers(self, uid: str) -> bool:
        return uid in self.relevant

    def why_not(self, pool: Examples, uid: str) -> str:
        """The reason why an example cannot be changed, such as "no_other_table"; "" if it can be changed."""
        statement = self._statement(pool, uid)
        reasons = {why_not(statement, lender.table, "values") for lender in self._tables}
        return "" if "" in reasons else min(reasons - {"key_missing", "same_title"}, default="no_other_table")

    def _statement(self, pool: Examples, uid: str) -> Statement:
        base = pool[uid]
        table = as_table(base.parts[self.part])
        keys = tuple(key for key in table.keys if key in self.relevant[uid])
        return Statement(table, as_text(base.parts[self.hypothesis]), base.label, keys)

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        statement = self._statement(pool, uid)
        lenders = [lender for lender in self._tables if not why_not(statement, lender.table, "values")]
        if not lenders:
            return []
        lender = lenders[int(generator(seed, self.name, self.version, uid, draw).integers(len(lenders)))]
        cluster = f"table {pool.value(table_column(pool, self.part), pool.position(uid))}"
        return [_changed(pool[uid], statement, lender, "values", (self.part, self.hypothesis), cluster)]


@dataclass(frozen=True)
class SwapTitle(EachExample):
    """Replace the title of a table by the title of a similar table, in the table and in the hypothesis.

    The similar table is drawn uniformly from the :func:`title_lenders` in the split. The title "Boston" is not replaced
    by "Boston (band)", since the hypothesis would still mention the old title.

    Attributes:
        source: The hypotheses and tables of the split.
        parts: Names of the changed parts that the model reads: table and hypothesis, or only the hypothesis.
        draws: Number of draws of another title per example.
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
        return self.source.holds(uid)

    def why_not(self, uid: str) -> str:
        """The reason why an example cannot be changed: "neutral", "no_other_table" or "no_title_expression"; or ""."""
        statement = self._statement(uid)
        if statement.label not in SCORED:
            return "neutral"
        lenders = self._lenders(statement.table)
        return why_not(statement, lenders[0].table, "title") if lenders else "no_other_table"

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        if self.why_not(uid):
            return []
        statement = self._statement(uid)
        lenders = self._lenders(statement.table)
        lender = lenders[int(generator(seed, self.name, self.version, uid, draw).integers(len(lenders)))]
        names = self.source.table, self.source.hypothesis
        return [_changed(pool[uid], statement, lender, "title", names, self.source.cluster(uid))]

    def _statement(self, uid: str) -> Statement:
        example = self.source.pool[uid]
        hypothesis = as_text(example.parts[self.source.hypothesis])
        return Statement(as_table(example.parts[self.source.table]), hypothesis, example.label)

    @cached_property
    def _lenders(self) -> Callable[[Table], list[Lender]]:
        tables = lenders_of(self.source.pool, self.source.table)
        return cache(lambda table: title_lenders(table, tables))
