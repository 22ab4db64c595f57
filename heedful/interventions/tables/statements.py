"""Counterfactual tables that keep labels (Gupta et al. 2022, "Is My Model Using the Right Evidence?", §6).

What a hypothesis says follows from its relevant rows. So the values of these rows go to another table with the same
keys, and the hypothesis goes with them, with the title expression of its new table (figure 5). Or a table gets another
title, and its hypotheses with it (figure 6). The tables are contrary to fact, and the labels stay.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from heedful.interventions.hypotheses.text_edits import Edit, apply_edits
from heedful.interventions.tables.title_expressions import replace_title
from heedful.records import Table

SCORED = ("entailment", "contradiction")  # a neutral hypothesis rests on what the table does not say


@dataclass(frozen=True)
class Statement:
    """A hypothesis about a table.

    Attributes:
        uid: The example.
        table: Its table.
        hypothesis: Its text.
        label: Its gold label.
        keys: Keys of the rows that it rests on, all of them; empty where they are not known.
    """

    uid: str
    table: Table
    hypothesis: str
    label: str | None
    keys: tuple[str, ...] = ()


class Moved(NamedTuple):
    """A statement on a counterfactual table.

    Attributes:
        statement: The new statement; uid, label and keys are those of the original.
        edits: What has changed in the hypothesis.
    """

    statement: Statement
    edits: tuple[Edit, ...]


def _with(table: Table, lender: Table, keys: Sequence[str]) -> Table:
    return replace(table, rows=tuple((k, lender.values[k] if k in keys else values) for k, values in table.rows))


def why_not(statement: Statement, other: Table, by: str) -> str:
    """Why a statement cannot be moved by "values" or "title"; "" where it can."""
    if by == "values":
        if statement.label not in SCORED:
            return "neutral"
        if not statement.keys:
            return "no_relevant_keys"
        if any(key not in table.values for key in statement.keys for table in (statement.table, other)):
            return "key_missing"
        if all(statement.table.values[key] == other.values[key] for key in statement.keys):
            return "same_values"
    if statement.table.title == other.title:
        return "same_title"
    return "" if replace_title(statement.hypothesis, statement.table, other) else "no_title_expression"


def move_values(statement: Statement, other: Table) -> Moved | None:
    """The statement on ``other``, whose relevant rows have the values of the statement's own table (figure 5).

    Every relevant key moves. None where :func:`why_not` gives a reason.
    """
    if why_not(statement, other, "values"):
        return None
    return _moved(statement, _with(other, statement.table, statement.keys), other)


def move_title(statement: Statement, other: Table) -> Moved | None:
    """The statement on its own table under the title of ``other`` (figure 6), whatever its label.

    None where :func:`why_not` gives a reason.
    """
    if why_not(statement, other, "title"):
        return None
    return _moved(statement, replace(statement.table, title=other.title), other)


def _moved(statement: Statement, table: Table, other: Table) -> Moved:
    edits = replace_title(statement.hypothesis, statement.table, other)
    return Moved(replace(statement, table=table, hypothesis=apply_edits(statement.hypothesis, edits)), edits)


def alike(table: Table, other: Table) -> bool:
    """Whether another table is of the same kind, so that it may lend its title: it has at least half of the keys."""
    return 2 * len(table.values.keys() & other.values.keys()) >= len(table.values)
