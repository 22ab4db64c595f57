"""The rows and values that the tables of a pool lend to each other.

Source: "Is My Model Using the Right Evidence?" (Gupta et al. 2022), section 5.1 and appendix.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable
from typing import Any, NamedTuple

import numpy as np

from heedful.records import Examples
from heedful.records.example import as_table, as_text

WORD = re.compile(r"\w+")


def same_key(key: str) -> str:
    """Normalize a key, so that "Genre", "Genres" and "Genre(s)" are equal, as are "Birth name" and "Birth Name".

    Example:
        >>> same_key("Spouse(s)"), same_key("Years active"), same_key("•")
        ('spouse', 'year active', '•')
    """
    words = WORD.findall(key.casefold().replace("(s)", ""))
    return " ".join(w.removesuffix("s") or w for w in words) or key


def same_value(value: str) -> str:
    """Normalize a value: case and repeated spaces are ignored."""
    return " ".join(value.casefold().split())


def table_column(pool: Examples, part: str) -> str:
    """The column that identifies the table of an example: the group or meta column "table", or else its content."""
    if "table" in pool.groups and part != "table":
        return "groups.table"
    return "meta.table" if "table" in pool.meta else f"groups.{part}"


class _Lots:
    """Items with names, in groups, for uniform draws of an item whose name is not excluded.

    The items of a group are sorted by name, so that an excluded name is a range of indices to skip, and the cost of a
    draw does not grow with the number of items.

    Args:
        items: (group, name, item) triples.
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
        """Draw an item of a group; None if all names are excluded."""
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
    """A row or value of another table.

    Attributes:
        lent: The row or value.
        uid: uid of an example with the lending table.
    """

    lent: Any
    uid: str


class Donors:
    """The rows and values that the tables of a pool lend to each other.

    Tables are identified by :func:`table_column`. Of a table with several contents, such as counterfactual versions,
    only the content of the smallest uid is lent, and never to another version of the same table.

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
        rows, values = [], []
        for table in first:  # by ascending uid
            for row in self._tables[table].rows:
                key = same_key(row[0])
                loan = Loan(row, uids[table])
                groups = {self._kind[table]} | ({None} if has_unknown else set())
                rows += [(group, key, loan) for group in groups]
                values += [(key, same_value(v), Loan(v, uids[table])) for v in dict.fromkeys(row[1]) if v.strip()]
        self._rows = _Lots(rows)
        self._values = _Lots(values)

    def table_id(self, pool: Examples, i: int) -> str:
        """The id of the table in the example at a position."""
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
        return self._rows.draw(self._kind[table], map(same_key, (*keys, *self._tables[table].keys)), rng)

    def value(self, table: str, key: str, values: Collection[str], rng: np.random.Generator) -> Loan | None:
        """Draw a value that another table has for the same key.

        Args:
            table: Id of the borrowing table.
            key: The key.
            values: Excluded values, in addition to the values of the borrowing table.
            rng: Random number generator.

        Returns:
            The value, or None if all values are excluded.
        """
        present = (v for k, vs in self._tables[table].rows if same_key(k) == same_key(key) for v in vs)
        return self._values.draw(same_key(key), map(same_value, (*values, *present)), rng)
