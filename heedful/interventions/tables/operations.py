"""Row operations on tables: pure functions, and what the tables of a pool lend to each other.

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), §5.1 and appendix.
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
    """A form that is equal for keys that say the same: "Genre", "Genres" and "Genre(s)", "Birth name" and "Birth Name".

    Example:
        >>> same_key("Spouse(s)"), same_key("Years active"), same_key("•")
        ('spouse', 'year active', '•')
    """
    words = WORD.findall(key.casefold().replace("(s)", ""))
    return " ".join(w.removesuffix("s") or w for w in words) or key


def same_value(value: str) -> str:
    """A form that is equal for values that differ in case and spaces only."""
    return " ".join(value.casefold().split())


def delete(table: Table, key: str) -> Table:
    """The table without the row of a key. Raises ValueError for a key that it does not have."""
    if key not in table.keys:
        raise ValueError(f"{table.title!r} has no key {key!r}")
    return Table(table.title, tuple(row for row in table.rows if row[0] != key))


def insert(table: Table, row: Row, position: int) -> Table:
    """The table with one row more, before that at ``position``. Raises ValueError for a key that it has."""
    if same_key(row[0]) in map(same_key, table.keys):
        raise ValueError(f"{table.title!r} has the key {row[0]!r}")
    return Table(table.title, (*table.rows[:position], row, *table.rows[position:]))


def update(table: Table, key: str, old: str, new: str) -> Table:
    """The table with another value of a key in the place of ``old``. Raises ValueError for a value that is there."""
    values = table.values[key]
    at = values.index(old)
    if same_value(new) in map(same_value, values):
        raise ValueError(f"{table.title!r} has the value {new!r} of {key!r}")
    changed = (*values[:at], new, *values[at + 1 :])
    return Table(table.title, tuple((k, changed if k == key else v) for k, v in table.rows))


def permute(table: Table, order: Sequence[int]) -> Table:
    """The table with its rows in another order: row ``order[i]`` comes at place i."""
    if sorted(order) != list(range(len(table.rows))):
        raise ValueError(f"{list(order)} is no order of {len(table.rows)} rows")
    return Table(table.title, tuple(table.rows[i] for i in order))


def table_column(pool: Examples, part: str) -> str:
    """The column that says which table an example is about: the group or meta column "table", or else the content."""
    if "table" in pool.groups and part != "table":
        return "groups.table"
    return "meta.table" if "table" in pool.meta else f"groups.{part}"


class _Lots:
    """Items in groups, each under a name; draws any whose name is not taken, uniformly.

    Items of a group lie in the order of their names, so that the taken ones are a few ranges to step over: the cost of
    a draw does not grow with the number of items.
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

    def draw(self, group: Hashable, taken: Iterable[str], rng: np.random.Generator) -> Any | None:
        """An item, or None where all names are taken."""
        items = self._items.get(group, [])
        ranges = self._ranges.get(group, {})
        skipped = sorted(ranges[name] for name in set(taken) if name in ranges)
        left = len(items) - sum(stop - start for start, stop in skipped)
        if not left:
            return None
        rank = int(rng.integers(left))
        for start, stop in skipped:
            rank += stop - start if rank >= start else 0
        return items[rank]


class Loan(NamedTuple):
    """A row, or a value, that another table lends.

    Attributes:
        lent: The row or the value.
        uid: An example with the table that lends it.
    """

    lent: Any
    uid: str


class Donors:
    """The tables of a pool, indexed once by what they can lend to each other.

    A table is known by :func:`table_column`. Where the pool has several contents of one table (counterfactual ones,
    say), that of the first uid lends, and none lends to another.

    Args:
        pool: Examples; the meta column "category" says of what kind their tables are, where it is known.
        part: The part that is a table.
    """

    def __init__(self, pool: Examples, part: str) -> None:
        self._name = table_column(pool, part)
        ids = pool.table[self._name].to_pylist()
        kinds = pool.table["meta.category"].to_pylist() if "category" in pool.meta else [None] * len(ids)
        first: dict[str, int] = {}
        for i in pool.uid_order.tolist():
            first.setdefault(ids[i], i)
        self._kind = {table: kinds[i] or None for table, i in first.items()}  # None: not known
        self._own = {table: as_table(pool.value(f"parts.{part}", i)) for table, i in first.items()}
        uids = {table: pool.uid(i) for table, i in first.items()}
        everyone = None in self._kind.values()
        rows, values = [], []
        for table in first:  # in the order of uids
            for row in self._own[table].rows:
                key = same_key(row[0])
                loan = Loan(row, uids[table])
                groups = {self._kind[table]} | ({None} if everyone else set())
                rows += [(group, key, loan) for group in groups]
                values += [(key, same_value(v), Loan(v, uids[table])) for v in dict.fromkeys(row[1]) if v.strip()]
        self._rows = _Lots(rows)
        self._values = _Lots(values)

    def table_id(self, pool: Examples, i: int) -> str:
        """Which table the example at a position has."""
        return as_text(pool.value(self._name, i))

    def row(self, table: str, keys: Collection[str], rng: np.random.Generator) -> Loan | None:
        """A row of another table of the same category (of any, where it is not known), uniformly over their rows.

        Args:
            table: Id of the table that borrows.
            keys: Keys that the row must not have, those of the table among them.
            rng: Random numbers.
        """
        taken = map(same_key, (*keys, *self._own[table].keys))
        return self._rows.draw(self._kind[table], taken, rng)

    def value(self, table: str, key: str, values: Collection[str], rng: np.random.Generator) -> Loan | None:
        """A value of the same key in another table, uniformly over their values.

        Args:
            table: Id of the table that borrows.
            key: The key.
            values: Values that it must not be, those of the table among them.
            rng: Random numbers.
        """
        own = (v for k, vs in self._own[table].rows if same_key(k) == same_key(key) for v in vs)
        return self._values.draw(same_key(key), map(same_value, (*values, *own)), rng)
