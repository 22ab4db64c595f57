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
        golds: The gold labels as text: object [examples]; of two classes, bool [examples].
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

    @classmethod
    def of_classes(cls, gold: np.ndarray, is_right: np.ndarray, cluster: np.ndarray) -> "Worth":
        """Of predictions in two classes, of one example or more.

        Args:
            gold: Which examples are of the first class, bool [examples]; it is the majority if they are half of all.
            is_right: bool [examples].
            cluster: The cluster of each example, int [examples].
        """
        best = gold == (gold.mean() >= 0.5)
        return cls(gold, is_right.astype(np.float64), best.astype(np.float64), cluster)

    def flags(self, *key: str | int) -> tuple[str, ...]:
        """The flag of results that are not above those of the best single answer (p < 0.05), or nothing.

        Args:
            *key: The seed, and what the test is for; keys its random numbers.
        """
        return majority_flag(self.of, self.best, self.cluster, key)

    def mean(self, *key: str | int) -> Measurement:
        """The mean, flagged where it is not above the majority; ``key`` is that of :meth:`flags`."""
        return share(self.of, self.cluster, self.flags(*key))

    def majority(self) -> Measurement:
        """The mean of the best single answer, of one example or more; it has no interval."""
        return sure(self.best, self.cluster)


def majority_flags(rows: pa.Table, kind: TaskKind, seed: int = 0) -> tuple[str, ...]:
    """:meth:`Worth.flags` of rows."""
    return Worth.of_rows(rows, kind).flags(seed)
