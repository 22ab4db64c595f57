"""Numbers about pairs of a table and a hypothesis, with intervals that resample tables.

The hypotheses of one table share their error, so the table is the cluster, whatever is counted.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from metrics.statistics.bootstrap import RESAMPLES, flagged
from metrics.statistics.multiway import BLOCK, interval
from records import HeedError, Measurement, generator

FEW = 30
FEW_TABLES, LEFT_OUT = "few_tables", "resamples_left_out"
Formula = Callable[[np.ndarray], np.ndarray]


def tables_of(rows: pa.Table, uids: Sequence[str]) -> list[str]:
    """The table of each example: what a slice "table=<id>" of one of its rows says, or else a cluster "table <id>".

    Args:
        rows: Rows; base rows have no cluster but their uid, so that rows of changed examples may speak for them.
        uids: The examples in question.

    Raises:
        HeedError: No row of an example names its table.
    """
    found: dict[str, str] = {}
    for column, prefix in (("clusters", "table "), ("slices", "table=")):  # what a slice says comes last and stays
        for uid, names in zip(rows["uid"].to_pylist(), rows[column].to_pylist(), strict=True):
            named = next((name for name in names or () if name.startswith(prefix)), None)
            if named is not None:
                found[uid] = named.removeprefix(prefix)
    missing = next((uid for uid in uids if uid not in found), None)
    if missing is not None:
        raise HeedError(f"No row says which table {missing} is about, by a slice 'table=...' or a cluster 'table ...'.")
    return [found[uid] for uid in uids]


def ratio(sums: np.ndarray) -> np.ndarray:
    """The first column by the second; nan where that is 0."""
    return np.divide(sums[..., 0], sums[..., 1], out=np.full(sums.shape[:-1], np.nan), where=sums[..., 1] != 0)


def difference(sums: np.ndarray) -> np.ndarray:
    """The ratio of the first two columns less that of the next two."""
    return ratio(sums[..., :2]) - ratio(sums[..., 2:])


def resample(sums: np.ndarray, key: tuple[str | int, ...], resamples: int = RESAMPLES) -> np.ndarray:
    """Column sums over as many tables as there are, drawn with replacement.

    Tables with equal sums are interchangeable, so a resample is a multinomial draw over the distinct ones, as in
    :func:`metrics.statistics.bootstrap.bootstrap_interval`.

    Args:
        sums: float64 [tables, columns].
        key: What the resamples are for; keys the random numbers.
        resamples: How many.

    Returns:
        float64 [resamples, columns].
    """
    kinds, frequency = np.unique(sums, axis=0, return_counts=True)
    rng, step = generator("bootstrap", *key), max(1, BLOCK // len(kinds))
    sizes = [min(step, resamples - start) for start in range(0, resamples, step)]
    return np.concatenate([rng.multinomial(len(sums), frequency / len(sums), size=n) @ kinds for n in sizes])


def by_table(
    columns: Sequence[np.ndarray],
    table: Sequence[str],
    key: tuple[str | int, ...],
    n: int,
    reason: str,
    formula: Formula = ratio,
    flags: tuple[str, ...] = (),
) -> Measurement:
    """A number made of sums over pairs, and its 95 % percentile interval over resamples of tables.

    Resamples in which the number is undefined are left out of the interval; where they are more than 2.5 %, a flag says
    so. Another flag is for fewer than 30 tables: in simulations of 4 hypotheses a table, with an intraclass correlation
    of 0.1 to 0.3, such an interval covered 88 to 94 % with 18 tables and 70 to 87 % with 5, where it promises 95 %.

    Args:
        columns: Each float64 [pairs], what is summed.
        table: The table of each pair.
        key: What the interval is for; keys the bootstrap.
        n: How many examples the number rests on.
        reason: Why the number is undefined, if it is.
        formula: From sums [..., columns] to the number [...]; nan where it is undefined.
        flags: What else a reader must know.
    """
    stacked = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    value = float(formula(stacked.sum(axis=0)))
    if np.isnan(value):
        return Measurement(None, n, flags=flags, reason=reason)
    _, at = np.unique(np.asarray(table, dtype=str), return_inverse=True)
    sums = np.stack([np.bincount(at, column) for column in stacked.T], axis=1)
    resampled = formula(resample(sums, key))
    ci95 = interval(resampled)
    if len(sums) < FEW:
        flags += (FEW_TABLES,)
    if np.isnan(resampled).mean() > 0.025:
        flags += (LEFT_OUT,)
    return Measurement(value, n, ci95=ci95, flags=flagged(ci95, flags))
