"""Numbers about pairs of a table and a hypothesis, with intervals that resample tables.

The hypotheses of one table share their error, so the table is the cluster, whatever is counted.
"""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
from numpy.typing import ArrayLike

from heedful.metrics.statistics.bootstrap import Formula, Key, estimate, ratio
from heedful.metrics.statistics.clusters import few_of
from heedful.records import HeedfulError, Measurement


def tables_of(rows: pa.Table, uids: Sequence[str]) -> list[str]:
    """The table of each example: what a slice "table=<id>" of one of its rows says, or else a cluster "table <id>".

    Args:
        rows: Rows; base rows have no cluster but their uid, so that rows of changed examples may speak for them.
        uids: The examples in question.

    Raises:
        HeedfulError: No row of an example names its table.
    """
    found: dict[str, str] = {}
    for column, prefix in (("clusters", "table "), ("slices", "table=")):  # what a slice says comes last and stays
        for uid, names in zip(rows["uid"].to_pylist(), rows[column].to_pylist(), strict=True):
            named = next((name for name in names or () if name.startswith(prefix)), None)
            if named is not None:
                found[uid] = named.removeprefix(prefix)
    missing = next((uid for uid in uids if uid not in found), None)
    if missing is not None:
        raise HeedfulError(
            f"No row says which table {missing} is about, by a slice 'table=...' or a cluster 'table ...'."
        )
    return [found[uid] for uid in uids]


def by_table(
    columns: Sequence[ArrayLike], table: Sequence[str], key: Key, n: int, reason: str, formula: Formula = ratio
) -> Measurement:
    """A number made of sums over pairs, with an interval that resamples tables; a flag is for fewer than 30 of them.

    Args:
        columns: Each float64 [pairs], what is summed.
        table: The table of each pair.
        key: What the interval is for; keys the bootstrap.
        n: How many examples the number rests on.
        reason: Why the number is undefined, if it is.
        formula: From sums [..., columns] to the number [...]; nan where it is undefined.
    """
    flags = few_of(len(set(table)))
    found = estimate(columns, table, key, n, reason, formula, flags)
    return found if found.value is not None else replace(found, flags=())
