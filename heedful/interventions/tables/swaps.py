"""Counterfactual tables with unchanged labels (Gupta et al. 2022, "Is My Model Using the Right Evidence?", section 6).

The label of a hypothesis depends only on the relevant rows of its table. So two changes keep the label: the values of
these rows are copied to another table with the same keys, whose title the hypothesis gets (figure 5); or the title is
replaced in both the table and the hypothesis (figure 6).
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cache, cached_property
from typing import NamedTuple

from heedful.interventions.base import EachExample
from heedful.interventions.hypotheses.analysis import apply_edits
from heedful.interventions.hypotheses.perturb import Source
from heedful.interventions.tables.donors import table_cluster
from heedful.interventions.tables.title_expressions import replace_title, title_forms, title_mentions
from heedful.records import Changed, Example, Examples, Table, generator
from heedful.records.example import Part, as_table, as_text, content_id
from heedful.records.rows import GOLD2

SCORED = ("entailment", "contradiction")  # a neutral hypothesis depends on facts outside of the table


class Lender(NamedTuple):
    """A table that lends its title, and the smallest uid of an example with this table."""

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


def _drawn(lenders: Sequence[Lender], *key: str | int) -> Lender:
    return lenders[int(generator(*key).integers(len(lenders)))]


def _retitled(
    example: Example,
    parts: tuple[str, str],
    table: Table,
    hypothesis: str,
    changed: Table,
    lender: Lender,
    cluster: str,
) -> list[Changed]:
    """Return the change of table and hypothesis (``parts``, as far as the example has them) to the lender's title."""
    edits = replace_title(hypothesis, table, lender.table)
    contents: tuple[Part, Part] = (changed, apply_edits(hypothesis, edits))
    for name, content in zip(parts, contents, strict=True):
        if name in example.parts:
            example = example.replace(name, content)
    return [Changed(example, lender.uid, "; ".join(map(str, edits)), clusters=(example.uid, cluster))]


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
    _: KW_ONLY
    name: str = "values"
    draws: int = 1
    expects: str = GOLD2

    @property
    def parts(self) -> tuple[str, str]:
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
        table = as_table(base[self.part])
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
        return "" if title_mentions(table, as_text(base[self.hypothesis])) else "no_title_expression"

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        base = pool[uid]
        table = as_table(base[self.part])
        lenders = [lender for lender in self._tables if not self._why_not_copyable(base, lender.table)]
        if not lenders:
            return []
        lender = _drawn(lenders, seed, self.name, self.version, uid, draw)
        moved = {key: values for key, values in table.rows if key in self.relevant[uid]}
        changed = replace(lender.table, rows=tuple((key, moved.get(key, v)) for key, v in lender.table.rows))
        cluster = table_cluster(pool, self.part, uid)
        return _retitled(base, self.parts, table, as_text(base[self.hypothesis]), changed, lender, cluster)


@dataclass(frozen=True)
class SwapTitle(EachExample):
    """Replace the title of a table by the title of a similar table, in the table and in the hypothesis.

    The similar table is drawn uniformly from the :func:`title_lenders` in the split. The title "Boston" is not replaced
    by "Boston (band)", since the hypothesis would still mention the old title.

    Attributes:
        source: The hypotheses and tables of the split.
        read: Names of the changed parts that the model reads: table and hypothesis, or only the hypothesis.
        draws: Number of draws of another title per example.
    """

    source: Source = field(repr=False, compare=False)
    read: tuple[str, ...]
    _: KW_ONLY
    name: str = "title"
    draws: int = 1
    expects: str = GOLD2

    @property
    def parts(self) -> tuple[str, ...]:
        return self.read

    @property
    def settings(self) -> tuple[str | int | bool, ...]:
        return (self.source.pool.fingerprint,)

    def covers(self, uid: str) -> bool:
        return self.source.holds(uid)

    def why_not(self, uid: str) -> str:
        """Return why an example cannot be changed: "neutral", "no_other_table" or "no_title_expression"; or ""."""
        example = self.source.pool[uid]
        table = as_table(example[self.source.table])
        if example.label not in SCORED:
            return "neutral"
        if not self._lenders(table):
            return "no_other_table"
        return "" if title_mentions(table, as_text(example[self.source.hypothesis])) else "no_title_expression"

    def apply(self, pool: Examples, uid: str, draw: int, seed: int) -> list[Changed]:
        if self.why_not(uid):
            return []
        example = self.source.pool[uid]
        table = as_table(example[self.source.table])
        lender = _drawn(self._lenders(table), seed, self.name, self.version, uid, draw)
        changed = replace(table, title=lender.table.title)
        parts, hypothesis = (self.source.table, self.source.hypothesis), as_text(example[self.source.hypothesis])
        return _retitled(pool[uid], parts, table, hypothesis, changed, lender, self.source.cluster(uid))

    @cached_property
    def _lenders(self) -> Callable[[Table], list[Lender]]:
        tables = lenders_of(self.source.pool, self.source.table)
        return cache(lambda table: title_lenders(table, tables))
