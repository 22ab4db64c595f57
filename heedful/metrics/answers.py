"""Base predictions: what they are worth, beside the best single answer."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics.statistics.majority import majority_flag
from heedful.metrics.statistics.shares import share, sure
from heedful.records import Measurement, TaskKind
from heedful.records.rows import BASE, cluster_of, strings, where


class Worth(NamedTuple):
    """The worth of the base predictions of examples with a gold label.

    Attributes:
        golds: The gold labels as text: object [examples].
        of: Of each prediction, between 0 and 1: float64 [examples].
        best: Of the best single answer, the majority, in each example: float64 [examples].
        cluster: The cluster of each example: int [examples].
    """

    golds: np.ndarray
    of: np.ndarray
    best: np.ndarray
    cluster: np.ndarray

    @classmethod
    def of_rows(cls, rows: pa.Table, kind: TaskKind) -> "Worth":
        """Of the base rows among these."""
        base = where(rows, intervention=BASE) & rows["gold"].is_valid().to_numpy()
        answered = rows.select(["y", "gold"]).filter(pa.array(base))
        golds = strings(answered, "gold")
        best = [kind.best_answer(golds.tolist())] * len(golds) if len(golds) else []
        of = kind.scores(strings(answered, "y"), golds)
        return cls(golds, of, kind.scores(best, golds), cluster_of(rows)[base])

    def flags(self, seed: int) -> tuple[str, ...]:
        """The flag of results that are not above those of the best single answer (p < 0.05), or nothing."""
        return majority_flag(self.of, self.best, self.cluster, (seed,))

    def mean(self, seed: int) -> Measurement:
        """The mean, flagged where it is not above the majority; ``seed`` keys the test."""
        return share(self.of, self.cluster, self.flags(seed))

    def majority(self) -> Measurement:
        """The mean of the best single answer, of one example or more; it has no interval."""
        return sure(self.best, self.cluster)


def majority_flags(rows: pa.Table, kind: TaskKind, seed: int = 0) -> tuple[str, ...]:
    """:meth:`Worth.flags` of rows."""
    return Worth.of_rows(rows, kind).flags(seed)
