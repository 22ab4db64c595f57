"""The rows and values that the tables of a pool lend to each other.

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), section 5.1 and appendix.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from heedful.records import Examples
from heedful.records.example import as_table, as_text

WORD = re.compile(r"\w+")


def same_key(key: str) -> str:
    """Return a key of a table row without case and final "s" of words: "Genre", "genres" and "Genre(s)" are then equal.

    Example:
        >>> same_key("Spouse(s)"), same_key("Years active"), same_key("•")
        ('spouse', 'year active', '•')
    """
    words = WORD.findall(key.casefold().replace("(s)", ""))
    return " ".join(w.removesuffix("s") or w for w in words) or key


def same_value(value: str) -> str:
    """Return a value of a table row in a normal form, for comparison: lower case and single spaces."""
    return " ".join(value.casefold().split())


def table_column(pool: Examples, part: str) -> str:
    """Return the name of the column that identifies the table, the part ``part`` of an example.

    It is the group or meta column "table" if there is one, else the hash of the table's content.
    """
    if "table" in pool.groups and part != "table":
        return "groups.table"
    return "meta.table" if "table" in pool.meta else f"groups.{part}"


def table_cluster(pool: Examples, part: str, uid: str) -> str:
    """Return the name of the cluster of an example, "table <id>": examples about one table form a cluster."""
    return f"table {pool.value(table_column(pool, part), pool.position(uid))}"


class Loan(NamedTuple):
    """A row or value that another table lends, with the uid of an example that has this table."""

    lent: Any
    uid: str


class Donors:
    """Lends rows and values of a pool's tables to other tables of the pool.

    Tables are identified by :func:`table_column`. If a table has several versions, such as counterfactual
    versions, only the version in the example with the smallest uid lends, and only to other tables.

    Args:
        pool: The examples. If they have a meta column "category", tables lend rows only within a category.
        part: Name of the part that is the table.
    """

    def __init__(self, pool: Examples, part: str) -> None:
        self._name = table_column(pool, part)
        ids = pool.table[self._name].to_pylist()
        kinds = pool.table["meta.category"].to_pylist() if "category" in pool.meta else [None] * len(ids)
        first: dict[str, int] = {}
        for i in pool.uid_order.tolist():
            first.setdefault(ids[i], i)
        self._kind = {table: kinds[i] or None for table, i in first.items()}  # None if unknown
        self._tables = {table: as_table(pool.value(f"parts.{part}", i)) for table, i in first.items()}
        uids = {table: pool.uid(i) for table, i in first.items()}
        has_unknown = None in self._kind.values()
        rows: dict[str | None, list[tuple[str, Loan]]] = defaultdict(list)
        values: dict[str, list[tuple[str, Loan]]] = defaultdict(list)
        for table in first:  # by ascending uid
            for row in self._tables[table].rows:
                key = same_key(row[0])
                for kind in {self._kind[table]} | ({None} if has_unknown else set()):
                    rows[kind].append((key, Loan(row, uids[table])))
                values[key] += [(same_value(v), Loan(v, uids[table])) for v in dict.fromkeys(row[1]) if v.strip()]
        for loans in (*rows.values(), *values.values()):
            loans.sort(key=itemgetter(0))
        self._rows, self._values = rows, values

    def table_id(self, pool: Examples, i: int) -> str:
        """Return the id of the table of the example at position ``i`` in the pool."""
        return as_text(pool.value(self._name, i))

    def row(self, table: str, keys: Collection[str], rng: np.random.Generator) -> Loan | None:
        """Draw a row of another table, in the same category if the category is known.

        Args:
            table: Id of the borrowing table.
            keys: Excluded keys, in addition to the keys of the borrowing table.
            rng: Random number generator.

        Returns:
            The row, or None if all rows are excluded.
        """
        excluded = set(map(same_key, (*keys, *self._tables[table].keys)))
        return _draw(self._rows.get(self._kind[table], []), excluded, rng)

    def value(self, table: str, key: str, values: Collection[str], rng: np.random.Generator) -> Loan | None:
        """Draw a value that another table has in a row with the same key.

        Args:
            table: Id of the borrowing table.
            key: The key of the row.
            values: Excluded values, in addition to the values of the borrowing table.
            rng: Random number generator.

        Returns:
            The value, or None if all values are excluded.
        """
        present = (v for k, vs in self._tables[table].rows if same_key(k) == same_key(key) for v in vs)
        return _draw(self._values.get(same_key(key), []), set(map(same_value, (*values, *present))), rng)


def _draw(loans: Iterable[tuple[str, Loan]], excluded: Collection[str], rng: np.random.Generator) -> Loan | None:
    """Draw a loan whose name, a normalised key or value, is not excluded; None if all are excluded."""
    choices = [loan for name, loan in loans if name not in excluded]
    return choices[int(rng.integers(len(choices)))] if choices else None
