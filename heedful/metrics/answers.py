"""Scores of the predictions on unchanged examples, and of the majority baseline (the best constant answer)."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics.statistics.majority import majority_flag
from heedful.metrics.statistics.shares import exact_mean
from heedful.records import Measurement, TaskKind
from heedful.records.rows import BASE, cluster_of, rows_with, strings


class Scores(NamedTuple):
    """Scores of predictions on examples with a gold label: [examples] each."""

    golds: np.ndarray  # gold labels: object; by of_classes, whether the first class is gold: bool
    each: np.ndarray  # score of the prediction, between 0 and 1: float64
    best: np.ndarray  # score of the majority baseline: float64
    cluster: np.ndarray  # int

    @classmethod
    def of_rows(cls, rows: pa.Table, kind: TaskKind) -> "Scores":
        """Score the predictions on unchanged examples that have a gold label, by the rule of the kind of task."""
        base = rows_with(rows, intervention=BASE) & rows["gold"].is_valid().to_numpy()
        y, golds = (strings(rows.select([name]).filter(pa.array(base)), name) for name in ("y", "gold"))
        best = [kind.best_answer(golds.tolist())] * len(golds) if len(golds) else []
        return cls(golds, kind.scores(y, golds), kind.scores(best, golds), cluster_of(rows)[base])

    @classmethod
    def of_classes(cls, gold: np.ndarray, is_right: np.ndarray, cluster: np.ndarray) -> "Scores":
        """Score predictions in two classes, for at least one example: [examples] each.

        ``gold`` tells whether an example belongs to the first class, which is the majority class if both are equally
        frequent; ``is_right`` whether a prediction is correct.
        """
        best = gold == (gold.mean() >= 0.5)
        return cls(gold, is_right.astype(np.float64), best.astype(np.float64), cluster)

    def flags(self, *key: str | int) -> tuple[str, ...]:
        """Return a flag if the mean is not above the majority baseline (p < 0.05); the key is seed and purpose."""
        return majority_flag(self.each, self.best, self.cluster, key)

    def majority(self) -> Measurement:
        """Return the mean score of the majority baseline, without an interval."""
        return exact_mean(self.best, self.cluster)


def majority_flags(rows: pa.Table, kind: TaskKind, seed: int = 0) -> tuple[str, ...]:
    """Return the :meth:`Scores.flags` of the predictions on unchanged examples."""
    return Scores.of_rows(rows, kind).flags(seed)
