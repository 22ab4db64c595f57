"""Accuracy in two classes, entailment or not, by data set (natural logic, table 5)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from heedful.metrics.answers import Worth
from heedful.metrics.metric import Metric, Numbers, lines
from heedful.metrics.natural_logic.entailment import gold_entailed, right
from heedful.metrics.statistics.shares import share
from heedful.records import NO_LABEL, Context, MetricName, Shown
from heedful.records.rows import BASE, cluster_of, select, strings, where


def two_class_accuracy(rows: pa.Table, labels: Sequence[str], seed: int = 0) -> Numbers:
    """Share of base predictions that are right as to entailment, for each data set among the rows.

    Args:
        rows: Base rows of one data set or more; a uid begins with the name of its data set.
        labels: The model's labels, in the order of its probabilities; one of them is "entailment".
        seed: Keys the test of accuracy against the larger class.

    Returns:
        For each data set ``two_class/<data>``, by the rule "sum" of
        :func:`~heedful.metrics.natural_logic.entailment.entailed`; ``two_class/<data>/argmax``, by the other;
        ``two_class/<data>/majority``, the share of the larger class; ``two_class/<data>/no_answer``, that of what gets
        no answer, if there is any, which is wrong. An accuracy that is not above the larger class is flagged. Clusters
        of intervals are what examples share (``group``), or else examples.
    """
    base = select(rows, intervention=BASE)
    gold = gold_entailed(base)
    is_right = {rule: right(base, labels, rule) for rule in ("sum", "argmax")}
    without = where(base, y=NO_LABEL)
    cluster = cluster_of(base)
    of_data = np.array([uid.split("/")[0] for uid in strings(base, "uid")], dtype=object)
    result: Numbers = {}
    for data in sorted(set(of_data)):
        here = of_data == data
        name = MetricName("two_class", data)
        for rule, full in (("sum", name), ("argmax", name._replace(statistic="argmax"))):
            worth = Worth.of_classes(gold[here], is_right[rule][here], cluster[here])
            result[full] = worth.mean(seed, data)
        result[name._replace(statistic="majority")] = worth.majority()
        if without[here].any():
            result[name._replace(statistic="no_answer")] = share(without[here], cluster[here])
    return result


def score(rows: pa.Table, context: Context) -> Numbers:
    """Accuracy of each data set by both rules."""
    return two_class_accuracy(rows, context.labels, context.seed)


def show(numbers: Numbers, context: Context, counts: Mapping[str, Any]) -> Shown:
    """Show every number."""
    names_and_lines = zip(numbers, lines(numbers), strict=True)
    return Shown(
        [line if line.level else replace(line, label=f"two-class accuracy {n.data}") for n, line in names_and_lines]
    )


METRIC = Metric("two_class", score, show)
