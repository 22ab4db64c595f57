"""Find the table that each example is about, since all hypotheses about a table form a cluster for intervals."""

from collections.abc import Iterable

import pyarrow as pa

from heedful.records import RunError


def tables_of(rows: pa.Table, uids: Iterable[str]) -> list[str]:
    """Return the name of the table that each example is about.

    Args:
        rows: Rows. Some row of each example names its table, by a slice "table=<name>" or a cluster "table <name>".
        uids: The uids of the examples.

    Raises:
        HeedfulError: No row of an example names its table.
    """
    tables: dict[str, str] = {}
    for column, prefix in (("clusters", "table "), ("slices", "table=")):  # slices take precedence
        for uid, names in zip(rows["uid"].to_pylist(), rows[column].to_pylist(), strict=True):
            if name := next((name for name in names or () if name.startswith(prefix)), None):
                tables[uid] = name.removeprefix(prefix)
    try:
        return [tables[uid] for uid in uids]
    except KeyError as error:
        raise RunError(
            f"No row says which table {error.args[0]} is about, by a slice 'table=...' or a cluster 'table ...'. "
            "Evaluate again."
        ) from None
