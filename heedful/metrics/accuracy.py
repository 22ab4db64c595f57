"""Accuracy and loss on unchanged examples, and the noise floor: predictions that change although the input does not."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.answers import Scores, scores_of
from heedful.metrics.label_scores import label_scores
from heedful.metrics.metric import Metric
from heedful.metrics.number import Curve, Number, Settings
from heedful.metrics.slices import STATISTICS, slice_of_label, slices_of
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.metrics.statistics.shares import share
from heedful.records import MANY, NO_LABEL, Context, Measurement, MetricName
from heedful.records.rows import BASE, GROUP, SPLIT, cluster_of, equal_columns, probabilities, rows_with, select

CONSTANT = "constant_predictions"  # flag of the numbers of a model with one answer to all examples
SMALLEST = float(np.finfo(np.float32).tiny)  # replaces a probability of 0 in the loss
ALONE, ROUNDING = "alone", "rounding"  # names of settings of NullControl
ON_BATCH, ON_TIME = "predictions_depend_on_batch", "answers_differ"  # flags of the null control
NOBODY = "no example was predicted"


@dataclass(frozen=True)
class NullControl(Settings):
    """Facts about the null control, which predicts unchanged inputs a second time, in other batches.

    Attributes:
        asked: Whether the batches of the model are unknown, because the model is behind a server or its answers are
            recorded in a file.
        alone: Number of examples whose prediction without padding, in a batch of one, differs from the prediction in
            their usual batch.
        rounding: Largest change of a probability that rounding explains; the default is for single precision.
    """

    asked: bool = False
    alone: int = 0
    rounding: float = 1e-3


def accuracy(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure accuracy on unchanged examples, and the accuracy of the majority baseline (the best constant answer).

    A missing answer is wrong. If an example has several gold answers (soft labels), accuracy is the mean score as in
    VQA 2.0 (Goyal et al. 2017). For intervals, the examples of a group (column ``group``) form one cluster.

    Yields:
        ``accuracy/<data>``; ``accuracy/<data>/majority``; and, if each example has one correct label,
        ``accuracy/<data>/<label>``, the recall per gold label, for at most :data:`~heedful.records.MANY` labels.
    """
    scores = Scores.of_rows(rows, context.kind)
    yield from _overall_numbers(scores, context)
    labels = sorted(set(scores.golds)) if context.kind.exclusive else []
    for label in labels if len(labels) <= MANY else ():
        is_label = scores.golds == label
        name = MetricName("accuracy", context.data, slice=slice_of_label(label))
        yield Number(name, share(scores.each[is_label], scores.cluster[is_label]))


def _overall_numbers(scores: Scores, context: Context) -> Iterator[Number]:
    """Yield the mean score over all examples, and the score of the majority baseline."""
    name = MetricName("accuracy", context.data)
    if not len(scores.each):
        yield Number(name, Measurement(None, 0, reason=NOBODY))
        return
    yield Number(name, scores.mean(context.seed))
    yield Number(name._replace(statistic="majority"), scores.majority())


def accuracy_by_slice(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure accuracy in each slice (the examples with one value in a meta column), as if it were evaluated alone.

    If several splits of the data are evaluated, each split is a slice as well.

    Yields:
        ``accuracy/<data>/<column>=<value>``; and, if each example has one correct label and the slice several gold
        labels, ``accuracy/<data>/majority/<column>=<value>``. A slice with a single gold label is not tested against
        the majority baseline, whose accuracy there is 1.
    """
    base = select(rows, intervention=BASE)
    name = MetricName("accuracy", context.data)
    columns = dict.fromkeys([SPLIT, *context.slices] if context.splits else context.slices)
    for text, in_slice in slices_of(base, tuple(columns)):
        alone = base.filter(pa.array(in_slice))
        scores = Scores.of_rows(alone, context.kind)
        if not context.kind.exclusive:
            yield Number(name._replace(slice=text), share(scores.each, scores.cluster))
            continue
        labels = len(pc.unique(alone["gold"]))
        for number in _overall_numbers(scores, context):
            m, statistic = number.measured, number.name.statistic
            if not statistic and labels == 1 and m is not None:
                m = replace(m, flags=tuple(flag for flag in m.flags if flag != NOT_ABOVE_MAJORITY))
            if not statistic:
                yield Number(name._replace(slice=text), m)
            elif labels > 1:
                majority = name._replace(statistic=statistic, slice=text)
                yield Number(majority, m, label="", aside="majority shares of slices")


def loss(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure the loss: the mean cross-entropy of the predictions on unchanged examples, without an interval.

    A probability of 0 counts as the smallest normal float32, so that a loss is at most 87.3.

    Yields:
        - ``loss/train``: declares the curve of the training loss. It never has a measurement, since training itself
          logs the values of the curve.
        - ``loss/<data>``: the loss. It has no measurement if a prediction lacks probabilities or its gold label is not
          among the labels, or if there are no examples.
    """
    base = rows_with(rows, intervention=BASE)
    n, total = int(base.sum()), 0.0
    for start in range(0, rows.num_rows, GROUP):
        group = rows.select(["gold", "p"]).slice(start, GROUP).filter(pa.array(base[start : start + GROUP]))
        gold = pc.index_in(group["gold"].combine_chunks(), value_set=pa.array(context.labels, pa.string()))
        if group["p"].null_count or gold.null_count:
            n = 0
            break
        p = probabilities(group, "p").astype(np.float64)[np.arange(len(gold)), gold.to_numpy()]
        total -= float(np.log(np.maximum(p, SMALLEST)).sum())
    measured = Measurement(total / n, n) if n else None
    yield Number(MetricName("loss", "train"), None, curve=Curve("loss", "training"))
    curve = Curve("loss", "validation")
    yield Number(MetricName("loss", context.data), measured, "loss", unit="ratio", headline=False, curve=curve)


def without_answer(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield ``no_answer/<data>``, the share of missing answers on unchanged examples, unless no answer is missing."""
    base = select(rows, intervention=BASE)
    without = rows_with(base, y=NO_LABEL)
    if without.any():
        yield Number(MetricName("no_answer", context.data), share(without, cluster_of(base)))


def noise(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure the noise floor: changes between two predictions on the same input (rows of the intervention "null").

    The clusters of the interval are the groups of examples (``group``), or else the examples.

    Yields:
        ``null/<data>/flips``, the share of predictions that change, flagged if it is not 0, if a probability changes by
        more than rounding explains, or if padding changes predictions; ``null/<data>/max_change``, the largest change
        of a probability, if there are probabilities.
    """
    data, settings = context.data, NullControl.from_context(context)
    null = rows_with(rows, intervention="null")
    n = int(null.sum())
    if not n and settings.asked and rows.num_rows:  # recorded answers: no input has a second answer
        return
    flips = ~equal_columns(rows, "y", "y2")[null]
    change = _largest_change(rows, null)
    is_inexact = settings.alone or (not settings.asked and (change or 0.0) > settings.rounding)
    flags = (ON_TIME if settings.asked else ON_BATCH,) if flips.any() or is_inexact else ()
    floor = share(flips, cluster_of(rows)[null], flags) if n else None
    curve = Curve("null control: must stay at 0", "flips")
    yield Number(MetricName("null", data, statistic="flips"), floor, curve=curve)
    if n and change is not None:
        yield Number(MetricName("null", data, statistic="max_change"), Measurement(change, n))


def _largest_change(rows: pa.Table, null: np.ndarray) -> float | None:
    """Return the largest change of a probability in the rows that the mask ``null`` selects; None if one lacks
    probabilities.
    """
    change = 0.0
    for start in range(0, rows.num_rows, GROUP):
        group = rows.select(["p", "p2"]).slice(start, GROUP).filter(pa.array(null[start : start + GROUP]))
        if group["p"].null_count or group["p2"].null_count:
            return None
        p = probabilities(group, "p").astype(np.float64)
        p2 = probabilities(group, "p2").astype(np.float64)
        change = max(change, float(np.abs(p2 - p).max(initial=0.0)))
    return change


def verdicts(rows: pa.Table, context: Context) -> np.ndarray:
    """Return the score of each unchanged example with a gold label; for rows of the null control, 1 if the prediction
    stays, else 0; NaN for other rows: float64 [rows].
    """
    values = np.full(rows.num_rows, np.nan) if context.unlabelled else scores_of(rows, context.kind)
    null = rows_with(rows, intervention="null")
    values[null] = equal_columns(rows, "y", "y2")[null]
    return values


def constant_flags(rows: pa.Table) -> tuple[str, ...]:
    """Return a flag if the model gives all unchanged examples, at least two, the same prediction; else no flag."""
    answers = rows["y"].filter(pa.array(rows_with(rows, intervention=BASE)))
    return (CONSTANT,) if len(answers) > 1 and len(pc.unique(answers)) == 1 else ()


def flagged_if_constant(number: Number, rows: pa.Table) -> Number:
    """Return the number, with the flag of :func:`constant_flags`."""
    m = number.measured
    return number if m is None else replace(number, measured=replace(m, flags=(*m.flags, *constant_flags(rows))))


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield all numbers of the accuracy evaluation: accuracy (also by label and by slice), F1, loss, the share of
    missing answers, and the noise floor; without gold labels, only the last two.
    """
    if not context.unlabelled:
        is_exclusive = context.kind.exclusive
        first, *further = accuracy(rows, context)
        yield replace(flagged_if_constant(first, rows), curve=Curve("accuracy", "accuracy", "attentiveness"))
        yield from further
        if is_exclusive:
            for label in context.labels if len(context.labels) <= MANY else ():
                name = MetricName("accuracy", context.data, slice=slice_of_label(label))
                yield Number(name, None, curve=Curve("accuracy by label", label))
            yield from label_scores(rows, context)
        yield from accuracy_by_slice(rows, context)
        if is_exclusive:
            yield from loss(rows, context)
    yield from without_answer(rows, context)
    yield from noise(rows, context)


METRIC = Metric("accuracy", numbers, STATISTICS, verdicts=verdicts)
