"""F1 and Matthews correlation, which complement accuracy if labels are imbalanced."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from heedful.metrics.number import Number
from heedful.metrics.statistics.intervals import Share, interval
from heedful.metrics.statistics.shares import numbered, share
from heedful.records import MANY, Context, Measurement, MetricName
from heedful.records.rows import BASE, cluster_of, select, strings

STEP = 1e-4  # step of the numerical derivative by the weight of a cluster


def label_scores(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure F1 and the Matthews correlation of predictions on unchanged examples.

    A missing answer lowers the recall of the gold label, but no precision. In the correlation, a missing answer is one
    more class, which is never gold. For intervals, the examples of a group (column ``group``) form one cluster. The
    numbers equal ``binary_f1_score``, ``multiclass_f1_score(average="macro")`` and ``multiclass_matthews_corrcoef`` of
    ``torchmetrics.functional``, but in float64. Where these functions return 0 for a division by 0, the numbers are
    undefined.

    Yields:
        ``accuracy/<data>/f1``, for two labels: the F1 of the label that is not the default label;
        ``accuracy/<data>/macro_f1``, the mean F1 of the labels that are gold or predicted;
        ``accuracy/<data>/matthews``, which is R_K for more than two labels (Gorodkin 2004). Nothing for more than
        :data:`~heedful.records.MANY` labels.
    """
    base = select(rows, intervention=BASE)
    labels = context.labels
    if not labels or len(labels) > MANY or not base.num_rows:
        return
    gold, y = (np.array([strings(base, name) == label for label in labels], dtype=np.float64) for name in ("gold", "y"))
    cluster = cluster_of(base)
    name = MetricName("accuracy", context.data)
    hits, counts = 2 * gold * y, gold + y  # F1 = sum of hits / sum of counts; [labels, examples] each
    if len(labels) == 2 and context.default_label is not None:
        positive = 1 - labels.index(context.default_label)
        reason = "the positive label is neither gold nor predicted"
        f1 = share(hits[positive], cluster, counts=counts[positive], reason=reason)
        yield Number(name._replace(statistic="f1"), f1)
    cells, entries = np.nonzero(np.broadcast_to(counts.any(axis=1, keepdims=True), counts.shape))
    n = base.num_rows
    columns = hits[cells, entries], cluster[entries]
    macro_f1 = share(*columns, reason="no label is gold", counts=counts[cells, entries], cells=cells, n=n)
    yield Number(name._replace(statistic="macro_f1"), macro_f1)
    yield Number(name._replace(statistic="matthews"), _measured_matthews(gold.T, y.T, cluster), unit="ratio")


def _measured_matthews(gold: np.ndarray, y: np.ndarray, cluster: np.ndarray) -> Measurement:
    """Return the Matthews correlation with an interval: the interval of the share (1 + correlation) / 2, scaled back.

    Args:
        gold: Whether a label is gold: float64 [examples, labels].
        y: Whether a label is predicted: float64 [examples, labels].
        cluster: Cluster per example: int [examples].
    """
    columns = np.column_stack([gold * y, gold, y, np.ones(len(gold))])
    total = columns.sum(axis=0)
    value = float(matthews(total))
    n = len(gold)
    if np.isnan(value):
        return Measurement(None, n, reason="all gold labels, or all predictions, are the same")
    at = numbered(cluster)
    sums = np.stack([np.bincount(at, column) for column in columns.T], axis=1)
    influence = (matthews(total + STEP * sums) - matthews(total - STEP * sums)) / (2 * STEP)
    label = np.eye(gold.shape[1])
    kinds = np.array([[*(g * p), *g, *p, 1.0] for g in label for p in (*label, np.zeros(len(label)))])
    one_more = matthews(total + (sums[:, -1] ** 2).sum() / n * kinds)  # one more cluster of typical size
    down, up = np.maximum(0, [value - one_more.min(), one_more.max() - value])
    low, high = interval(Share((1 + value) / 2, (influence / 2,), (len(sums),), down / 2, up / 2))
    return Measurement(value, n, ci95=(2 * low - 1, 2 * high - 1))


def matthews(sums: np.ndarray) -> np.ndarray:
    """Compute the Matthews correlation: float64 [...]; nan if all gold labels or all predictions are the same.

    Args:
        sums: For each label the number of correct predictions, then for each label the number of gold labels, then for
            each label the number of predictions, and last the number of examples: float64 [..., 3 * labels + 1].
    """
    hit, gold, predicted = np.split(sums[..., :-1], 3, axis=-1)
    n = sums[..., -1]
    missing = n - predicted.sum(axis=-1)
    covariance = n * hit.sum(axis=-1) - (gold * predicted).sum(axis=-1)
    of_gold = n**2 - (gold**2).sum(axis=-1)
    of_y = n**2 - (predicted**2).sum(axis=-1) - missing**2
    product = of_gold * of_y
    return np.divide(covariance, np.sqrt(product), out=np.full(n.shape, np.nan), where=product > 0)
