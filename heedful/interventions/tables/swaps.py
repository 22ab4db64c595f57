"""Counterfactual tables with unchanged labels (Gupta et al. 2022, "Is My Model Using the Right Evidence?", section 6).

The label of a hypothesis depends only on the relevant rows of its table. So two changes keep the label. Either the
values of these rows are copied to another table with the same keys, and the hypothesis gets the title of that table
(figure 5). Or the title is replaced in both the table and the hypothesis (figure 6).
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import NamedTuple

from heedful.interventions.base import EachExample, Expectation
from heedful.interventions.hypotheses.perturb import Source
from heedful.interventions.hypotheses.text_edits import Edit, apply_edits
from heedful.interventions.tables.donors import table_column
from heedful.interventions.tables.title_expressions import replace_title, title_forms, title_mentions
from heedful.records import Changed, Example, Examples, Table, generator
from heedful.records.example import Part, as_table, as_text, content_id

SCORED = ("entailment", "contradiction")  # a neutral hypothesis depends on facts outside of the table


class Lender(NamedTuple):
    """A table that lends its title, which replaces the title of another table.

    Attributes:
        uid: Smallest uid of an example with the table.
        table: The table.
    """

    uid: str
    table: Table


def title_lenders(table: Table, lenders: Sequence[Lender]) -> list[Lender]:
    """Return the tables whose title may replace the title of ``table``.

    Such a table has at least half of the keys of ``table``, and its title contains neither the title of ``table``
    nor a short form of this title, such as the last name of a person.
    """
    forms = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, title_forms(table).values()))})(?!\w)")
    return [
        lender
        for lender in lenders
        if 2 * len(table.values.keys() & lender.table.values.keys()) >= len(table.values)
        and not any(map(forms.search, title_forms(lender.table).values()))
    ]


def lenders_of(pool: Examples, part: str) -> list[Lender]:
    """Return the distinct tables of a pool, sorted by the smallest uid of an example with the table."""
    tables = [as_table(table) for table in pool.column(f"parts.{part}")]
    first: dict[Table, str] = {}
    for i in pool.uid_order.tolist():
        first.setdefault(tables[i], pool.uid(i))
    return [Lender(uid, table) for table, uid in first.items()]


def _changed(
    base: Example, parts: Mapping[str, Part], lender: Lender, edits: Sequence[Edit], cluster: str
) -> list[Changed]:
    """Return a list with one changed example.

    Args:
        base: The example before the change.
        parts: New content of changed parts; parts that the example does not have are ignored.
        lender: The table that lent its title.
        edits: Edits of the hypothesis, which are recorded as the variant.
        cluster: Name of the cluster of the original table.
    """
    parts = {name: part for name, part in parts.items() if name in base.parts}
    groups = {name: content_id(part) for name, part in parts.items()}
    example = replace(base, parts={**base.parts, **parts}, groups={**base.groups, **groups})
    return [Changed(example, lender.uid, "; ".join(map(str, edits)), clusters=(base.uid, cluster))]


@dataclass(frozen=True)
class SwapValues(EachExample):
    """Copy the values of a hypothesis's relevant rows to another table, and replace the title in the hypothesis.

    Attributes:
        relevant: Maps uids to the keys of the relevant rows; examples that are not in it are not changed.
        lenders: Examples whose tables may receive the values and lend their title; one table is drawn uniformly.
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
        """Return the reason why an example cannot be changed, such as "no_other_table"; "" if it can be changed."""
        base = pool[uid]
        reasons = {self._why_not_copyable(base, lender.table) for lender in self._tables}
        return "" if "" in reasons else min(reasons - {"key_missing", "same_title"}, default="no_other_table")

    def _why_not_copyable(self, base: Example, lender: Table) -> str:
        """Return why the relevant values of ``base`` cannot be copied to the table ``lender``; "" if they can."""
        table = as_table(base.parts[self.part])
        keys = table.values.keys() & self.relevant[base.uid]
        if base.label not in SCORED:
            return "neutral"
        if not keys:
            return "no_relevant_keys"
        if not keys <= lender.values.keys():
            return "key_missing"
        if all(table.values[key] == lender.values[key] for key in keys):
            return "same_values"
        if table.title == lender.title:
            return "same_title"
        return "" if title_mentions(table, as_text(base.parts[self.hypothesis])) else "no_title_expression"

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        base = pool[uid]
        table = as_table(base.parts[self.part])
        lenders = [lender for lender in self._tables if not self._why_not_copyable(base, lender.table)]
        if not lenders:
            return []
        lender = lenders[int(generator(seed, self.name, self.version, uid, draw).integers(len(lenders)))]
        moved = {key: values for key, values in table.rows if key in self.relevant[uid]}
        rows = tuple((key, moved.get(key, values)) for key, values in lender.table.rows)
        hypothesis = as_text(base.parts[self.hypothesis])
        edits = replace_title(hypothesis, table, lender.table)
        new_table = replace(lender.table, rows=rows)
        parts: dict[str, Part] = {self.part: new_table, self.hypothesis: apply_edits(hypothesis, edits)}
        cluster = f"table {pool.value(table_column(pool, self.part), pool.position(uid))}"
        return _changed(base, parts, lender, edits, cluster)


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
        """Return why an example cannot be changed: "neutral", "no_other_table" or "no_title_expression"; or ""."""
        example = self.source.pool[uid]
        table = as_table(example.parts[self.source.table])
        if example.label not in SCORED:
            return "neutral"
        if not self._lenders(table):
            return "no_other_table"
        return "" if title_mentions(table, as_text(example.parts[self.source.hypothesis])) else "no_title_expression"

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        if self.why_not(uid):
            return []
        example = self.source.pool[uid]
        table = as_table(example.parts[self.source.table])
        hypothesis = as_text(example.parts[self.source.hypothesis])
        lenders = self._lenders(table)
        lender = lenders[int(generator(seed, self.name, self.version, uid, draw).integers(len(lenders)))]
        edits = replace_title(hypothesis, table, lender.table)
        new_table = replace(table, title=lender.table.title)
        parts: dict[str, Part] = {self.source.table: new_table, self.source.hypothesis: apply_edits(hypothesis, edits)}
        return _changed(pool[uid], parts, lender, edits, self.source.cluster(uid))

    @cached_property
    def _lenders(self) -> Callable[[Table], list[Lender]]:
        tables = lenders_of(self.source.pool, self.source.table)
        return cache(lambda table: title_lenders(table, tables))
