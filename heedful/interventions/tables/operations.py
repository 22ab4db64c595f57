"""Row operations on tables, and the rows and values that tables of a pool lend to each other.

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), section 5.1 and appendix.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from heedful.records import Examples, Table
from heedful.records.example import as_table, as_text
from heedful.records.parts.table import Row

WORD = re.compile(r"\w+")


def same_key(key: str) -> str:
    """A normal form of keys: equal for "Genre", "Genres" and "Genre(s)", and for "Birth name" and "Birth Name".

    Example:
        >>> same_key("Spouse(s)"), same_key("Years active"), same_key("•")
        ('spouse', 'year active', '•')
    """
    words = WORD.findall(key.casefold().replace("(s)", ""))
    return " ".join(w.removesuffix("s") or w for w in words) or key


def same_value(value: str) -> str:
    """A normal form of values, without case and repeated spaces."""
    return " ".join(value.casefold().split())


def delete(table: Table, key: str) -> Table:
    """Remove the row of a key."""
    return Table(table.title, tuple(row for row in table.rows if row[0] != key))


def insert(table: Table, row: Row, position: int) -> Table:
    """Insert a row with a new key at a position."""
    return Table(table.title, (*table.rows[:position], row, *table.rows[position:]))


def update(table: Table, key: str, old: str, new: str) -> Table:
    """Replace one value of a key by a new value."""
    values = table.values[key]
    index = values.index(old)
    changed = (*values[:index], new, *values[index + 1 :])
    return Table(table.title, tuple((k, changed if k == key else v) for k, v in table.rows))


def permute(table: Table, order: Sequence[int]) -> Table:
    """Reorder the rows: row ``order[i]`` comes at index i."""
    return Table(table.title, tuple(table.rows[i] for i in order))


def table_column(pool: Examples, part: str) -> str:
    """The column that identifies tables: the group or meta column "table", or else the content."""
    if "table" in pool.groups and part != "table":
        return "groups.table"
    return "meta.table" if "table" in pool.meta else f"groups.{part}"


class _Lots:
    """Items by group and name, for uniform draws of an item whose name is not excluded.

    Items of a group are sorted by name, so that excluded names are ranges to skip: the cost of a draw does not grow
    with the number of items.
    """

    def __init__(self, items: Iterable[tuple[Hashable, str, Any]]) -> None:
        groups: dict[Hashable, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for group, name, item in items:
            groups[group][name].append(item)
        self._items: dict[Hashable, list[Any]] = {}
        self._ranges: dict[Hashable, dict[str, tuple[int, int]]] = {}
        for group, by_name in groups.items():
            flat = self._items.setdefault(group, [])
            ranges = self._ranges.setdefault(group, {})
            for name in sorted(by_name):
                ranges[name] = len(flat), len(flat) + len(by_name[name])
                flat += by_name[name]

    def draw(self, group: Hashable, excluded: Iterable[str], rng: np.random.Generator) -> Any | None:
        """A random item, or None if all names are excluded."""
        items = self._items.get(group, [])
        ranges = self._ranges.get(group, {})
        skipped = sorted(ranges[name] for name in set(excluded) if name in ranges)
        count = len(items) - sum(stop - start for start, stop in skipped)
        if not count:
            return None
        rank = int(rng.integers(count))
        for start, stop in skipped:
            rank += stop - start if rank >= start else 0
        return items[rank]


class Loan(NamedTuple):
    """A row or a value of another table.

    Attributes:
        lent: The row or the value.
        uid: An example with the lending table.
    """

    lent: Any
    uid: str


class Donors:
    """An index of the rows and values that tables of a pool lend to each other.

    Tables are identified by :func:`table_column`. If a table has several contents, such as counterfactual ones, the
    content of the first uid lends, and no content lends to another.

    Args:
        pool: Examples; the meta column "category" is the category of their tables, if known.
        part: The part that is a table.
    """

    def __init__(self, pool: Examples, part: str) -> None:
        self._name = table_column(pool, part)
        ids = pool.table[self._name].to_pylist()
        kinds = pool.table["meta.category"].to_pylist() if "category" in pool.meta else [None] * len(ids)
        first: dict[str, int] = {}
        for i in pool.uid_order.tolist():
            first.setdefault(ids[i], i)
        self._kind = {table: kinds[i] or None for table, i in first.items()}  # None: unknown
        self._tables = {table: as_table(pool.value(f"parts.{part}", i)) for table, i in first.items()}
        uids = {table: pool.uid(i) for table, i in first.items()}
        has_unknown = None in self._kind.values()
        rows, values = [], []
        for table in first:  # in the order of uids
            for row in self._tables[table].rows:
                key = same_key(row[0])
                loan = Loan(row, uids[table])
                groups = {self._kind[table]} | ({None} if has_unknown else set())
                rows += [(group, key, loan) for group in groups]
                values += [(key, same_value(v), Loan(v, uids[table])) for v in dict.fromkeys(row[1]) if v.strip()]
        self._rows = _Lots(rows)
        self._values = _Lots(values)

    def table_id(self, pool: Examples, i: int) -> str:
        """The id of the table of the example at a position."""
        return as_text(pool.value(self._name, i))

    def row(self, table: str, keys: Collection[str], rng: np.random.Generator) -> Loan | None:
        """A random row of another table of the same category (of every table, if the category is unknown).

        Args:
            table: Id of the borrowing table.
            keys: Excluded keys, in addition to the keys of the table.
            rng: Random numbers.
        """
        return self._rows.draw(self._kind[table], map(same_key, (*keys, *self._tables[table].keys)), rng)

    def value(self, table: str, key: str, values: Collection[str], rng: np.random.Generator) -> Loan | None:
        """A random value of the same key in another table.

        Args:
            table: Id of the borrowing table.
            key: The key.
            values: Excluded values, in addition to the values of the table.
            rng: Random numbers.
        """
        present = (v for k, vs in self._tables[table].rows if same_key(k) == same_key(key) for v in vs)
        return self._values.draw(same_key(key), map(same_value, (*values, *present)), rng)
