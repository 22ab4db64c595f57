"""Scores of the predictions on unchanged examples, and of the majority baseline (the best constant answer)."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from heedful.metrics.statistics.majority import majority_flag
from heedful.metrics.statistics.shares import exact_mean, share
from heedful.records import Measurement, TaskKind
from heedful.records.rows import BASE, cluster_of, rows_with, strings


class Scores(NamedTuple):
    """Scores of predictions on examples with a gold label.

    Attributes:
        golds: Gold labels: object [examples]; by :meth:`of_classes`, whether the first class is gold: bool [examples].
        each: Score per prediction, between 0 and 1: float64 [examples].
        best: Score of the majority baseline (the best constant answer) on each example: float64 [examples].
        cluster: Cluster per example: int [examples].
    """

    golds: np.ndarray
    each: np.ndarray
    best: np.ndarray
    cluster: np.ndarray

    @classmethod
    def of_rows(cls, rows: pa.Table, kind: TaskKind) -> "Scores":
        """Score the predictions on unchanged examples that have a gold label, by the rule of the kind of task."""
        each = scores_of(rows, kind)
        base = ~np.isnan(each)
        golds = strings(rows.select(["gold"]).filter(pa.array(base)), "gold")
        best = [kind.best_answer(golds.tolist())] * len(golds) if len(golds) else []
        return cls(golds, each[base], kind.scores(best, golds), cluster_of(rows)[base])

    @classmethod
    def of_classes(cls, gold: np.ndarray, is_right: np.ndarray, cluster: np.ndarray) -> "Scores":
        """Score predictions in two classes, for at least one example.

        Args:
            gold: Whether an example belongs to the first class: bool [examples]. If both classes are equally
                frequent, the first class is the majority class.
            is_right: Whether a prediction is correct: bool [examples].
            cluster: Cluster per example: int [examples].
        """
        best = gold == (gold.mean() >= 0.5)
        return cls(gold, is_right.astype(np.float64), best.astype(np.float64), cluster)

    def flags(self, *key: str | int) -> tuple[str, ...]:
        """Return a flag if the mean score is not above the majority baseline (p < 0.05); else no flag.

        Args:
            *key: Seed and purpose, from which the random numbers of the test are drawn.
        """
        return majority_flag(self.each, self.best, self.cluster, key)

    def mean(self, *key: str | int) -> Measurement:
        """Return the mean score with its interval, and with a flag if it is not above the majority baseline.

        Args:
            *key: Seed and purpose, from which the random numbers of the test against the majority baseline are drawn.
        """
        return share(self.each, self.cluster, self.flags(*key))

    def majority(self) -> Measurement:
        """Return the mean score of the majority baseline, without an interval."""
        return exact_mean(self.best, self.cluster)


def scores_of(rows: pa.Table, kind: TaskKind) -> np.ndarray:
    """Return the scores of the predictions on unchanged examples that have a gold label; NaN for other rows: float64
    [rows].
    """
    base = rows_with(rows, intervention=BASE) & rows["gold"].is_valid().to_numpy()
    answered = rows.select(["y", "gold"]).filter(pa.array(base))
    scores = np.full(rows.num_rows, np.nan)
    scores[base] = kind.scores(strings(answered, "y"), strings(answered, "gold"))
    return scores


def majority_flags(rows: pa.Table, kind: TaskKind, seed: int = 0) -> tuple[str, ...]:
    """Return a flag if the predictions on unchanged examples are not above the majority baseline (the best constant
    answer), by :meth:`Scores.flags`; else no flag.
    """
    return Scores.of_rows(rows, kind).flags(seed)
