"""The mean over draws of a share of hits, such as changed predictions.

In each draw, examples get a part of another random example, the lender.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.statistics.shares import numbered, ratio, share
from heedful.records import Measurement, keys
from heedful.records.rows import cluster_of, number_runs

LEAST, FEW_EXAMPLES = 10, "few_examples"  # with fewer examples, one example moves the share by more than 10 points


class Drawn(NamedTuple):
    """Columns of changed examples: int [rows] each.

    Attributes:
        uid: Index of the base example.
        cluster: Id of the cluster of the base example.
        draw: Index of the draw.
        lender: Id of the cluster of the lender, the example that the new part comes from; -1 without a lender. A
            cluster has the same id in both columns.
    """

    uid: np.ndarray
    cluster: np.ndarray
    draw: np.ndarray
    lender: np.ndarray

    @classmethod
    def of(cls, rows: pa.Table) -> "Drawn":
        """Read the columns from rows of changed examples, in the order of the rows.

        The rows must already be in canonical order, in which the rows of an example are adjacent.
        """
        cluster = cluster_of(rows).astype(np.int64)
        return cls(number_runs(rows, "uid"), cluster, rows["draw"].to_numpy(), _lenders(rows))

    def where(self, mask: np.ndarray) -> "Drawn":
        """Return the rows that a mask selects, bool [rows]."""
        return Drawn(*(column[mask] for column in self))

    @property
    def weights(self) -> np.ndarray:
        """Row weights, with the same total for all draws; 1 if no row is missing: float64 [rows]."""
        _, place, counts = np.unique(self.draw, return_inverse=True, return_counts=True)
        return (len(place) / (len(counts) * counts))[place]

    @property
    def lenders(self) -> np.ndarray | None:
        """The column ``lender``, or None if any row has no lender: int64 [rows]."""
        return None if (self.lender < 0).any() else self.lender

    @property
    def examples(self) -> int:
        """Number of distinct base examples among the rows."""
        return int(numbered(self.uid)[-1]) + 1 if len(self.uid) else 0


def _lenders(rows: pa.Table) -> np.ndarray:
    """Return the id of each lender's cluster, as :func:`cluster_of` has it for a base example: int64 [rows]."""
    has_lender = pc.not_equal(rows["partner"], "")
    lent = rows.select(["clusters"]).filter(has_lender)
    lenders = np.full(rows.num_rows, -1, dtype=np.int64)
    if not lent.num_rows:
        return lenders
    names = pc.unique(pc.coalesce(rows["group"], rows["uid"]))
    lender = pc.list_element(lent["clusters"].combine_chunks(), 1)  # the first is the uid of the base example
    unique = pc.unique(lender)
    indices = pc.index_in(unique, value_set=names)
    is_outside = indices.is_null()
    numbers = pc.fill_null(indices, 0).to_numpy().astype(np.int64)
    # a cluster without base examples has no number: its id comes from a hash of its name
    elsewhere = keys(unique.filter(is_outside).to_pylist()) >> np.uint64(2)
    numbers[is_outside.to_numpy(zero_copy_only=False)] = len(names) + elsewhere.astype(np.int64)
    lenders[has_lender.to_numpy()] = numbers[pc.index_in(lender, value_set=unique)]
    return lenders


def few_examples(n: float) -> tuple[str, ...]:
    """Return the flag "few_examples" if a share is computed from fewer than ten examples (``n``); otherwise no flag."""
    return (FEW_EXAMPLES,) if 0 < n < LEAST else ()


def is_known(m: Measurement | Mapping[str, Any] | None) -> bool:
    """Whether a number (or its entry in results.json) is given, is defined, and lacks the flag "few_examples"."""
    if m is None:
        return False
    entry = m if isinstance(m, Mapping) else vars(m)
    return entry["value"] is not None and FEW_EXAMPLES not in entry["flags"]


def mean_over_draws(
    hit: np.ndarray, columns: Drawn, flags: tuple[str, ...] = (), reason: str = "", is_share: bool = True
) -> Measurement:
    """Compute the share of hits in each draw, and the mean of these shares with its interval.

    In a draw, each example gets a part of another random example, the lender. For the interval, two changed examples
    depend on each other if they have the cluster of an example or of a lender in common. If any row has no lender, the
    interval ignores lenders.

    Args:
        hit: Score per changed example, between 0 and 1: [rows].
        columns: Columns of the changed examples.
        flags: Flags of the number.
        reason: Reason why the number is undefined, if there are no rows.
        is_share: False for scores outside of 0 to 1, whose mean has the interval of Student's t.
    """
    weight, cluster, lenders, n = columns.weights, columns.cluster, columns.lenders, columns.examples
    if is_share:
        measured = share(weight * hit, cluster, flags, reason, counts=weight, lenders=lenders, n=n)
    else:
        measured = ratio(weight * hit, weight, Measurement(None, n, flags=flags, reason=reason), cluster, lenders)
    if not len(hit):
        return measured
    per_draw = tuple(float(hit[columns.draw == draw].mean()) for draw in np.unique(columns.draw))
    return replace(
        measured,
        value=float(np.mean(per_draw)),
        draws=len(per_draw),
        std=float(np.std(per_draw, ddof=1)) if len(per_draw) > 1 else None,
        per_draw=per_draw,
    )
