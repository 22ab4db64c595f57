"""Find the table that each example is about, since all hypotheses about a table form a cluster for intervals."""

from collections.abc import Sequence

import pyarrow as pa

from heedful.records import RunError


def tables_of(rows: pa.Table, uids: Sequence[str]) -> list[str]:
    """Return the name of the table that each example is about.

    Args:
        rows: Rows. Some row of each example names its table, by a slice "table=<name>" or a cluster "table <name>".
        uids: The uids of the examples.

    Raises:
        HeedfulError: No row of an example names its table.
    """
    table_of_uid: dict[str, str] = {}
    for column, prefix in (("clusters", "table "), ("slices", "table=")):  # slices take precedence
        for uid, names in zip(rows["uid"].to_pylist(), rows[column].to_pylist(), strict=True):
            name_of_table = next((name for name in names or () if name.startswith(prefix)), None)
            if name_of_table is not None:
                table_of_uid[uid] = name_of_table.removeprefix(prefix)
    missing = next((uid for uid in uids if uid not in table_of_uid), None)
    if missing is not None:
        raise RunError(
            f"No row says which table {missing} is about, by a slice 'table=...' or a cluster 'table ...'. Evaluate "
            "again."
        )
    return [table_of_uid[uid] for uid in uids]
