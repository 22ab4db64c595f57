"""Accuracy, F1, Matthews correlation and loss on unchanged examples; and the noise floor, which is the share of
predictions that change although the input does not.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.answers import Scores
from heedful.metrics.metric import Metric
from heedful.metrics.number import Number, Settings
from heedful.metrics.slices import slice_of_label, slices_of
from heedful.metrics.statistics.intervals import Share, interval
from heedful.metrics.statistics.shares import numbered, share
from heedful.records import MANY, NO_LABEL, Context, Measurement, MetricName
from heedful.records.rows import BASE, GROUP, SPLIT, cluster_of, equal_columns, probabilities, rows_with, select

CONSTANT = "constant_predictions"  # flag of the numbers of a model with one answer to all examples
STEP = 1e-4  # step of the numerical derivative by the weight of a cluster
SMALLEST = float(np.finfo(np.float32).tiny)  # replaces a probability of 0 in the loss
ALONE, ROUNDING = "alone", "rounding"  # names of settings of NullControl
ON_BATCH, ON_TIME = "predictions_depend_on_batch", "answers_differ"  # flags of the null control
NOBODY = "no example was predicted"


@dataclass(frozen=True)
class NullControl(Settings):
    """Facts about the null control, which predicts unchanged inputs a second time, in other batches."""

    asked: bool = False  # whether batches are unknown, because a server answers or answers are recorded in a file
    alone: int = 0  # number of examples whose prediction in a batch of one, without padding, differs from the usual one
    rounding: float = 1e-3  # largest change of a probability that rounding explains; the default is for float32


def accuracy(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure accuracy on unchanged examples, and the accuracy of the majority baseline (the best constant answer).

    A missing answer is wrong. If an example has several gold answers (soft labels), accuracy is the mean score as in
    VQA 2.0 (Goyal et al. 2017). For intervals, the examples of a group (column ``group``) form one cluster.

    Yields:
        ``accuracy/<data>``; ``accuracy/<data>/majority``; and, if each example has one correct label,
        ``accuracy/<data>/<label>``, the recall per gold label, for at most :data:`~heedful.records.MANY` labels.
    """
    scores = Scores.of_rows(rows, context.kind)
    name = MetricName("accuracy", context.data)
    flags = scores.flags(context.seed) if len(scores.each) else ()
    yield Number(name, share(scores.each, scores.cluster, (*flags, *constant_flags(rows))), headline=True)
    if len(scores.each):
        yield Number(name._replace(statistic="majority"), scores.majority())
    labels = sorted(set(scores.golds)) if context.kind.exclusive else []
    for label in labels if len(labels) <= MANY else ():
        is_label = scores.golds == label
        yield Number(name._replace(slice=slice_of_label(label)), share(scores.each[is_label], scores.cluster[is_label]))


def accuracy_by_slice(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure accuracy in each slice (the examples with one value in a meta column), as if it were evaluated alone.

    If several splits of the data are evaluated, each split is a slice as well.

    Yields:
        ``accuracy/<data>/<column>=<value>``; and, if each example has one correct label and the slice several gold
        labels, ``accuracy/<data>/majority/<column>=<value>``. A slice with a single gold label is not tested against
        the majority baseline, whose accuracy there is 1.
    """
    base = select(rows, intervention=BASE)
    columns = dict.fromkeys([SPLIT, *context.slices] if context.splits else context.slices)
    for text, in_slice in slices_of(base, tuple(columns)):
        alone = base.filter(pa.array(in_slice))
        scores = Scores.of_rows(alone, context.kind)
        is_tested = context.kind.exclusive and len(pc.unique(alone["gold"])) > 1
        flags = scores.flags(context.seed) if is_tested else ()
        name = MetricName("accuracy", context.data, slice=text)
        yield Number(name, share(scores.each, scores.cluster, flags))
        if is_tested:
            yield Number(name._replace(statistic="majority"), scores.majority())


def label_scores(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure F1 and the Matthews correlation of predictions on unchanged examples.

    A missing answer lowers the recall of the gold label, but no precision. In the correlation, a missing answer is one
    more class, which is never gold. For intervals, the examples of a group (column ``group``) form one cluster. The
    numbers equal those of ``torchmetrics.functional``, but in float64; they are undefined where these return 0 for a
    division by 0.

    Yields:
        ``accuracy/<data>/f1``, for two labels: the F1 of the label that is not the default label;
        ``accuracy/<data>/macro_f1``, the mean F1 of the labels that are gold or predicted;
        ``accuracy/<data>/matthews``, which is R_K for more than two labels (Gorodkin 2004). Nothing for more than
        :data:`~heedful.records.MANY` labels.
    """
    base, labels = select(rows, intervention=BASE), context.labels
    if not labels or len(labels) > MANY or not base.num_rows:
        return
    gold = np.array([rows_with(base, gold=label) for label in labels], dtype=np.float64)
    y = np.array([rows_with(base, y=label) for label in labels], dtype=np.float64)
    name, cluster = MetricName("accuracy", context.data), cluster_of(base)
    hits, counts = 2 * gold * y, gold + y  # F1 = sum of hits / sum of counts; [labels, examples] each
    if len(labels) == 2 and context.default_label is not None:
        at, reason = 1 - labels.index(context.default_label), "the positive label is neither gold nor predicted"
        yield Number(name._replace(statistic="f1"), share(hits[at], cluster, reason=reason, counts=counts[at]))
    cells, entries = np.nonzero(np.broadcast_to(counts.any(axis=1, keepdims=True), counts.shape))
    macro_f1 = share(hits[cells, entries], cluster[entries], reason="no label is gold", counts=counts[cells, entries],
                     cells=cells, n=base.num_rows)  # fmt: skip
    yield Number(name._replace(statistic="macro_f1"), macro_f1)
    yield Number(name._replace(statistic="matthews"), _measured_matthews(gold.T, y.T, cluster))


def _measured_matthews(gold: np.ndarray, y: np.ndarray, cluster: np.ndarray) -> Measurement:
    """Return the Matthews correlation of gold and predicted labels, whose values are 0 or 1: [examples, labels] each.

    Its interval is that of the share (1 + correlation) / 2, scaled back.
    """
    columns = np.column_stack([gold * y, gold, y, np.ones(len(gold))])
    total = columns.sum(axis=0)
    value, n = float(matthews(total)), len(gold)
    if np.isnan(value):
        return Measurement(None, n, reason="all gold labels, or all predictions, are the same", unit="ratio")
    at = numbered(cluster)
    sums = np.stack([np.bincount(at, column) for column in columns.T], axis=1)
    influence = (matthews(total + STEP * sums) - matthews(total - STEP * sums)) / (2 * STEP)
    label = np.eye(gold.shape[1])
    kinds = np.array([[*(g * p), *g, *p, 1.0] for g in label for p in (*label, np.zeros(len(label)))])
    one_more = matthews(total + (sums[:, -1] ** 2).sum() / n * kinds)  # one more cluster of typical size
    down, up = np.maximum(0, [value - one_more.min(), one_more.max() - value])
    low, high = interval(Share((1 + value) / 2, (influence / 2,), (len(sums),), down / 2, up / 2))
    return Measurement(value, n, ci95=(2 * low - 1, 2 * high - 1), unit="ratio")


def matthews(sums: np.ndarray) -> np.ndarray:
    """Compute the Matthews correlation: float64 [...]; nan if all gold labels or all predictions are the same.

    Args:
        sums: For each label the number of correct predictions, then for each the number of gold labels, then for each
            the number of predictions, and last the number of examples: float64 [..., 3 * labels + 1].
    """
    hit, gold, predicted = np.split(sums[..., :-1], 3, axis=-1)
    n = sums[..., -1]
    covariance = n * hit.sum(axis=-1) - (gold * predicted).sum(axis=-1)
    of_gold = n**2 - (gold**2).sum(axis=-1)
    of_y = n**2 - (predicted**2).sum(axis=-1) - (n - predicted.sum(axis=-1)) ** 2  # a missing answer is a class
    product = of_gold * of_y
    return np.divide(covariance, np.sqrt(product), out=np.full(n.shape, np.nan), where=product > 0)


def _groups(rows: pa.Table, mask: np.ndarray, *columns: str) -> Iterator[pa.Table]:
    """Yield columns of the rows that a mask selects, bool [rows], a group of rows at a time to save memory."""
    for start in range(0, rows.num_rows, GROUP):
        yield rows.select(columns).slice(start, GROUP).filter(pa.array(mask[start : start + GROUP]))


def loss(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield ``loss/<data>``, the mean cross-entropy of the predictions on unchanged examples, without an interval.

    A probability of 0 counts as the smallest normal float32, so that a loss is at most 87.3. There is no loss if a
    prediction lacks probabilities or its gold label is not among the labels, or without examples.
    """
    n, total = 0, 0.0
    for group in _groups(rows, rows_with(rows, intervention=BASE), "gold", "p"):
        gold = pc.index_in(group["gold"].combine_chunks(), value_set=pa.array(context.labels, pa.string()))
        if group["p"].null_count or gold.null_count:
            return
        p = probabilities(group, "p").astype(np.float64)[np.arange(len(gold)), gold.to_numpy()]
        total -= float(np.log(np.maximum(p, SMALLEST)).sum())
        n += len(gold)
    if n:
        yield Number(MetricName("loss", context.data), Measurement(total / n, n, unit="ratio"))


def without_answer(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield ``no_answer/<data>``, the share of missing answers on unchanged examples, unless no answer is missing."""
    base = select(rows, intervention=BASE)
    without = rows_with(base, y=NO_LABEL)
    if without.any():
        yield Number(MetricName("no_answer", context.data), share(without, cluster_of(base)), headline=True)


def noise(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure the noise floor: changes between two predictions on the same input (rows of the intervention "null").

    The clusters of the interval are the groups of examples (``group``), or else the examples.

    Yields:
        ``null/<data>/flips``, the share of predictions that change, flagged if it is not 0, if a probability changes by
        more than rounding explains, or if padding changes predictions; ``null/<data>/max_change``, the largest change
        of a probability, if there are probabilities.
    """
    name, settings = MetricName("null", context.data), NullControl.from_context(context)
    null = rows_with(rows, intervention="null")
    n = int(null.sum())
    if not n:
        return
    flips = ~equal_columns(rows, "y", "y2")[null]
    change = _largest_change(rows, null)
    is_inexact = settings.alone or (not settings.asked and (change or 0.0) > settings.rounding)
    flags = (ON_TIME if settings.asked else ON_BATCH,) if flips.any() or is_inexact else ()
    yield Number(name._replace(statistic="flips"), share(flips, cluster_of(rows)[null], flags))
    if change is not None:
        yield Number(name._replace(statistic="max_change"), Measurement(change, n))


def _largest_change(rows: pa.Table, null: np.ndarray) -> float | None:
    """Return the largest change of a probability in the rows of a mask; None if one lacks probabilities."""
    change = 0.0
    for group in _groups(rows, null, "p", "p2"):
        if group["p"].null_count or group["p2"].null_count:
            return None
        p, p2 = (probabilities(group, name).astype(np.float64) for name in ("p", "p2"))
        change = max(change, float(np.abs(p2 - p).max(initial=0.0)))
    return change


def constant_flags(rows: pa.Table) -> tuple[str, ...]:
    """Return a flag if the model gives all unchanged examples, at least two, the same prediction; else no flag."""
    answers = rows["y"].filter(pa.array(rows_with(rows, intervention=BASE)))
    return (CONSTANT,) if len(answers) > 1 and len(pc.unique(answers)) == 1 else ()


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield all numbers of the evaluation of accuracy; without gold labels, only those that need none."""
    if not context.unlabelled:
        yield from accuracy(rows, context)
        if context.kind.exclusive:
            yield from label_scores(rows, context)
        yield from accuracy_by_slice(rows, context)
        if context.kind.exclusive:
            yield from loss(rows, context)
    yield from without_answer(rows, context)
    yield from noise(rows, context)


def headlines(context: Context) -> list[MetricName]:
    """Return the name of the accuracy; none without gold labels."""
    return [] if context.unlabelled else [MetricName("accuracy", context.data)]


FAMILIES = "accuracy", "loss", "no_answer", "null"
METRIC = Metric("accuracy", numbers, headlines, FAMILIES, {"loss": "loss", "accuracy/majority/*": None})
