"""Accuracy over base rows, and the noise floor over the rows of the null control."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.answers import Worth
from heedful.metrics.label_scores import label_scores
from heedful.metrics.metric import Metric, Numbers, lines
from heedful.metrics.slices import STATISTICS, slice_of_label, slices_of
from heedful.metrics.statistics.majority import NOT_ABOVE_MAJORITY
from heedful.metrics.statistics.shares import share
from heedful.records import (
    CLASSIFICATION,
    MANY,
    NO_LABEL,
    Chart,
    Context,
    Line,
    Measurement,
    MetricName,
    Shown,
    TaskKind,
)
from heedful.records.rows import BASE, GROUP, SPLIT, cluster_of, probabilities, same, select, where

CONSTANT = "constant_predictions"  # flags the accuracy of a model that always says the same
SMALLEST = float(np.finfo(np.float32).tiny)
ASKED = "asked"  # in the context where a server is asked
ALONE = "alone"  # in the context where padded examples are predicted otherwise alone: how many
ON_BATCH, ON_TIME = "predictions_depend_on_batch", "answers_differ"  # flags of the null control


def accuracy(rows: pa.Table, data: str, seed: int = 0, kind: TaskKind = CLASSIFICATION) -> Numbers:
    """Share of base predictions that are gold, and that of the best single answer; where answers are worth something
    between, the mean worth (Goyal et al. 2017, VQA 2.0).

    An answer that is none is wrong. Clusters of intervals are what examples share (``group``), or else examples.

    Args:
        rows: Rows; the base rows among them count.
        data: Name of the data set, for the metric names.
        seed: Keys the test of :func:`~heedful.metrics.answers.majority_flags`.
        kind: Of the task.

    Returns:
        ``accuracy/<data>``; ``accuracy/<data>/majority``; and, where one label is right, ``accuracy/<data>/<label>``
        (recall) for each gold label (:func:`~heedful.metrics.slices.slice_of_label`), if they are at most
        :data:`~heedful.records.MANY`.
    """
    worth = Worth.of_rows(rows, kind)
    result = _of_all(worth, data, seed)
    if not kind.exclusive:
        return result
    labels = Counter(worth.golds)
    for label in sorted(labels) if len(labels) <= MANY else ():
        here = worth.golds == label
        full = MetricName("accuracy", data, slice=slice_of_label(label))
        result[full] = share(worth.of[here], worth.cluster[here])
    return result


def _of_all(worth: Worth, data: str, seed: int) -> Numbers:
    """Accuracy and the share of the best single answer."""
    name = MetricName("accuracy", data)
    if not len(worth.of):
        return {name: Measurement(None, 0, reason="no example was predicted")}
    return {name: worth.mean(seed), name._replace(statistic="majority"): worth.majority()}


def accuracy_by_slice(
    rows: pa.Table, data: str, columns: Sequence[str], seed: int = 0, kind: TaskKind = CLASSIFICATION
) -> Numbers:
    """Accuracy in each slice: what it is when the slice is evaluated alone.

    Args:
        rows: Rows; the base rows among them count.
        data: Name of the data set, for the metric names.
        columns: The meta columns; of several splits, "split" is one.
        seed: Keys the test of :func:`~heedful.metrics.answers.majority_flags`.
        kind: Of the task.

    Returns:
        ``accuracy/<data>/<column>=<value>`` for each slice (:func:`~heedful.metrics.slices.slices_of`), and, where one
        label is right, ``accuracy/<data>/majority/<column>=<value>`` if it has several gold labels. Of one label all
        answers may be right, and none is above that: there is no flag.
    """
    base = select(rows, intervention=BASE)
    name = MetricName("accuracy", data)
    result = {}
    for text, in_slice in slices_of(base, columns):
        alone = base.filter(pa.array(in_slice))
        worth = Worth.of_rows(alone, kind)
        if not kind.exclusive:
            result[name._replace(slice=text)] = share(worth.of, worth.cluster)
            continue
        numbers = _of_all(worth, data, seed)
        labels = len(pc.unique(alone["gold"]))
        flags = tuple(flag for flag in numbers[name].flags if labels > 1 or flag != NOT_ABOVE_MAJORITY)
        result[name._replace(slice=text)] = replace(numbers[name], flags=flags)
        if labels > 1:
            majority = name._replace(statistic="majority")
            result[majority._replace(slice=text)] = numbers[majority]
    return result


def loss(rows: pa.Table, data: str, labels: Sequence[str]) -> Numbers:
    """The mean cross-entropy of base predictions, as in training but for what augmentation adds there.

    It has no interval. A probability of 0 counts as the smallest that float32 holds with full precision, so that a loss
    is at most 87.3.

    Args:
        rows: Rows; the base rows among them count.
        data: Name of the data set, for the metric name.
        labels: The labels, in the order of the probabilities.

    Returns:
        ``loss/<data>``; nothing where predictions have no probabilities.
    """
    base = where(rows, intervention=BASE)
    total = 0.0
    for start in range(0, rows.num_rows, GROUP):
        here = rows.select(["gold", "p"]).slice(start, GROUP).filter(pa.array(base[start : start + GROUP]))
        gold = pc.index_in(here["gold"].combine_chunks(), value_set=pa.array(labels, pa.string()))
        if here["p"].null_count or gold.null_count:
            return {}
        p = probabilities(here, "p").astype(np.float64)[np.arange(len(gold)), gold.to_numpy()]
        total -= float(np.log(np.maximum(p, SMALLEST)).sum())
    n = int(base.sum())
    return {MetricName("loss", data): Measurement(total / n, n)} if n else {}


def without_answer(rows: pa.Table, data: str) -> Numbers:
    """The share of base predictions that are not answers, which are wrong: ``no_answer/<data>``, if there are any."""
    base = select(rows, intervention=BASE)
    without = where(base, y=NO_LABEL)
    return {MetricName("no_answer", data): share(without, cluster_of(base))} if without.any() else {}


def noise(rows: pa.Table, data: str, own: Mapping[str, Any] = MappingProxyType({})) -> Numbers:
    """The noise floor: the share of flips, which must be 0, and largest change of a probability in the null control.

    Clusters of the interval are what examples share (``group``), or else examples.

    Args:
        rows: Rows; those of the null control among them count.
        data: Name of the data set, for the metric names.
        own: Of the context; says whether a server was asked, of which no batch is known, and whether examples are
            predicted otherwise alone, without padding.

    Returns:
        ``null/<data>/flips`` and ``null/<data>/max_change``; the first is flagged where it is not 0, or where
        padding changes predictions; the second is left out where predictions have no probabilities.
    """
    null = where(rows, intervention="null")
    n = int(null.sum())
    if not n:
        return {}
    flips = ~same(rows, "y", "y2")[null]
    flags = (ON_TIME if own.get(ASKED) else ON_BATCH,) if flips.any() or own.get(ALONE) else ()
    floor = {MetricName("null", data, statistic="flips"): share(flips, cluster_of(rows)[null], flags)}
    change = 0.0
    for start in range(0, rows.num_rows, GROUP):
        here = rows.select(["p", "p2"]).slice(start, GROUP).filter(pa.array(null[start : start + GROUP]))
        if here["p"].null_count or here["p2"].null_count:
            return floor
        p = probabilities(here, "p").astype(np.float64)
        p2 = probabilities(here, "p2").astype(np.float64)
        change = max(change, float(np.abs(p2 - p).max(initial=0.0)))
    return floor | {MetricName("null", data, statistic="max_change"): Measurement(change, n)}


def with_constant(numbers: Numbers, name: MetricName, rows: pa.Table) -> Numbers:
    """The numbers, with a flag at one of them where all base predictions, of two examples or more, are the same."""
    answers = rows["y"].filter(pa.array(where(rows, intervention=BASE)))
    if name not in numbers or len(answers) < 2 or len(pc.unique(answers)) > 1:
        return numbers
    return numbers | {name: replace(numbers[name], flags=(*numbers[name].flags, CONSTANT))}


def noise_chart(data: str) -> Chart:
    """The noise floor over epochs."""
    return Chart("null control: must stay at 0", {"flips": MetricName("null", data, statistic="flips")})


def score(rows: pa.Table, context: Context) -> Numbers:
    """Accuracy, or what predictions are worth where gold says it, and the noise floor; this alone without gold."""
    data, kind = context.data, context.kind
    if context.unlabelled:
        return without_answer(rows, data) | noise(rows, data, context.own)
    numbers = with_constant(accuracy(rows, data, context.seed, kind), MetricName("accuracy", data), rows)
    if kind.exclusive:
        numbers |= label_scores(rows, data, context.labels, context.default_label)
    columns = dict.fromkeys([SPLIT, *context.slices] if context.splits else context.slices)
    numbers |= accuracy_by_slice(rows, data, tuple(columns), context.seed, kind)
    if kind.exclusive:
        numbers |= loss(rows, data, context.labels)
    return numbers | without_answer(rows, data) | noise(rows, data, context.own)


def show(numbers: Numbers, context: Context, counts: Mapping[str, Any]) -> Shown:
    """Show every number but the majority share of each slice; loss and correlation as plain numbers."""
    shown: list[Line] = []
    for name, line in zip(numbers, lines(numbers), strict=True):
        if name.family == "loss":
            line = replace(line, label="loss", unit="ratio", beside=False)
        elif name.statistic == "matthews":
            line = replace(line, unit="ratio")
        if name.statistic != "majority" or not name.slice:
            shown.append(line)
    return Shown(shown, ["majority shares of slices"] if len(shown) < len(numbers) else [])


def charts(context: Context) -> tuple[Chart, ...]:
    """Accuracy, that of each label if these are not many, and the noise floor; this alone without gold."""
    if context.unlabelled:
        return (noise_chart(context.data),)
    name = MetricName("accuracy", context.data)
    charts_shown = [Chart("accuracy", {"accuracy": name}, "attentiveness")]
    if context.kind.exclusive and len(context.labels) <= MANY:
        charts_shown.append(
            Chart("accuracy by label", {label: name._replace(slice=slice_of_label(label)) for label in context.labels})
        )
    if context.kind.exclusive:
        curves = {"training": MetricName("loss", "train"), "validation": MetricName("loss", context.data)}
        charts_shown.append(Chart("loss", curves))
    return (*charts_shown, noise_chart(context.data))


METRIC = Metric("accuracy", score, show, charts, STATISTICS)
