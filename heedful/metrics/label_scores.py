"""F1 and the Matthews correlation of base predictions, which skewed labels need beside accuracy."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from heedful.metrics.number import Number
from heedful.metrics.statistics.intervals import Share, interval
from heedful.metrics.statistics.shares import numbered, share
from heedful.records import MANY, Measurement, MetricName
from heedful.records.rows import BASE, cluster_of, select, strings

STEP = 1e-4  # of the derivative by the weight of a cluster


def label_scores(
    rows: pa.Table, data: str, labels: Sequence[str], default_label: str | None = None
) -> Iterator[Number]:
    """F1 and the Matthews correlation of base predictions.

    An answer that is not a label is wrong for every label: it lowers the recall of the gold label and the precision of
    none, and in the correlation it is a class that is never gold. All three are those of ``torchmetrics.functional``
    (``binary_f1_score``, ``multiclass_f1_score`` with ``average="macro"``, ``multiclass_matthews_corrcoef``), but in
    float64, and undefined where torchmetrics returns 0 for a quotient by 0. Clusters of intervals are what examples
    share (``group``), or else examples.

    Args:
        rows: Rows; the base rows among them count.
        data: Name of the data set, for the metric names.
        labels: All labels. Of more than :data:`~heedful.records.MANY` there are no numbers.
        default_label: The label of parts that have nothing to do with each other, or None.

    Yields:
        ``accuracy/<data>/f1``, where there are two labels: that of the label that is not the default label;
        ``accuracy/<data>/macro_f1``, the mean of the F1 of each label that stands among gold or predictions;
        ``accuracy/<data>/matthews``, of several labels R_K (Gorodkin 2004).
    """
    base = select(rows, intervention=BASE)
    if not labels or len(labels) > MANY or not base.num_rows:
        return
    gold = strings(base, "gold")
    y = strings(base, "y")
    is_gold = [(gold == label).astype(np.float64) for label in labels]
    is_y = [(y == label).astype(np.float64) for label in labels]
    hits = [g * p for g, p in zip(is_gold, is_y, strict=True)]
    columns = np.column_stack([*hits, *is_gold, *is_y, np.ones(base.num_rows)])
    total = columns.sum(axis=0)
    cluster = cluster_of(base)
    name = MetricName("accuracy", data)
    if len(labels) == 2 and default_label is not None:
        positive = 1 - list(labels).index(default_label)
        of = is_gold[positive] + is_y[positive]
        f1 = share(2 * hits[positive], cluster, reason=REASONS["f1"], counts=of)
        yield Number(name._replace(statistic="f1"), f1)
    yield Number(name._replace(statistic="macro_f1"), _macro_f1(columns, total, cluster))
    yield Number(name._replace(statistic="matthews"), _matthews(columns, total, cluster), unit="ratio")


def _macro_f1(columns: np.ndarray, total: np.ndarray, cluster: np.ndarray) -> Measurement:
    """The mean over labels of their F1, with the interval of such a mean."""
    value = float(macro_f1(total))
    hit, gold, predicted, _ = _parts(columns)
    n, labels = hit.shape
    if np.isnan(value):
        return Measurement(None, n, reason=REASONS["macro_f1"])
    of = gold + predicted
    cells = np.tile(np.arange(labels), n)
    of_label = np.repeat(cluster, labels)
    counts = of.any(axis=0)[cells]  # labels that are gold or predicted
    measured = share(2 * hit.ravel()[counts], of_label[counts], counts=of.ravel()[counts], cells=cells[counts], n=n)
    return replace(measured, value=value)


def _matthews(columns: np.ndarray, total: np.ndarray, cluster: np.ndarray) -> Measurement:
    """The correlation with an interval as of a share: between -1 and 1, it is twice one less 1."""
    value = float(matthews(total))
    n = len(columns)
    if np.isnan(value):
        return Measurement(None, n, reason=REASONS["matthews"])
    at = numbered(cluster)
    sums = np.stack([np.bincount(at, column) for column in columns.T], axis=1)
    influence = (matthews(total + STEP * sums) - matthews(total - STEP * sums)) / (2 * STEP)
    one_more = matthews(total + (sums[:, -1] ** 2).sum() / n * _kinds(len(total) // 3))  # of a usual size
    down, up = np.maximum(0, [value - one_more.min(), one_more.max() - value])
    low, high = interval(Share((1 + value) / 2, (influence / 2,), (len(sums),), down / 2, up / 2))
    return Measurement(value, n, ci95=(2 * low - 1, 2 * high - 1))


def _kinds(labels: int) -> np.ndarray:
    """The columns of an example of each gold label and each prediction, one that is not a label among these."""
    one = np.eye(labels)
    of = [[*(g * p), *g, *p, 1.0] for g in one for p in (*one, np.zeros(labels))]
    return np.array(of)


REASONS = {
    "f1": "the positive label is neither gold nor predicted",
    "macro_f1": "no label is gold",
    "matthews": "all gold labels, or all predictions, are the same",
}


def _parts(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """For each label hits, gold and predictions, each [..., labels]; and the number of examples, [...]."""
    labels = sums.shape[-1] // 3
    return sums[..., :labels], sums[..., labels : 2 * labels], sums[..., 2 * labels : 3 * labels], sums[..., -1]


def f1_of_labels(sums: np.ndarray) -> np.ndarray:
    """The F1 of each label, [..., labels]; nan where it is neither gold nor predicted.

    Args:
        sums: float64 [..., 3 * labels + 1]: of each label how often it was hit, gold and predicted; how many examples.
    """
    hit, gold, predicted, _ = _parts(sums)
    return np.divide(2 * hit, gold + predicted, out=np.full(hit.shape, np.nan), where=gold + predicted > 0)


def macro_f1(sums: np.ndarray) -> np.ndarray:
    """The mean of the F1 of the labels that are gold or predicted, [...]; the argument is that of the others here."""
    scores = f1_of_labels(sums)
    return np.nansum(scores, axis=-1) / np.maximum(1, (~np.isnan(scores)).sum(axis=-1))


def matthews(sums: np.ndarray) -> np.ndarray:
    """The Matthews correlation, [...]; nan where all gold labels or all predictions are the same."""
    hit, gold, predicted, n = _parts(sums)
    unknown = n - predicted.sum(axis=-1)  # answers that are not labels
    covariance = n * hit.sum(axis=-1) - (gold * predicted).sum(axis=-1)
    of_gold = n**2 - (gold**2).sum(axis=-1)
    of_y = n**2 - (predicted**2).sum(axis=-1) - unknown**2
    product = of_gold * of_y
    return np.divide(covariance, np.sqrt(product), out=np.full(n.shape, np.nan), where=product > 0)
