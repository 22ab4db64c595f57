"""Accuracy in two classes, entailment and non-entailment, by data set (natural logic, table 5)."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from heedful.metrics.answers import Scores
from heedful.metrics.metric import Metric
from heedful.metrics.natural_logic.entailment import gold_entailed, is_right_in_two_classes
from heedful.metrics.number import Number
from heedful.metrics.statistics.shares import share
from heedful.records import NO_LABEL, Context, MetricName
from heedful.records.rows import BASE, cluster_of, rows_with, select, strings


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure accuracy in the two classes entailment and non-entailment, for each data set among the rows.

    A missing answer is wrong. An accuracy that is not above the share of the larger class is flagged. For
    intervals, the examples of a group (column ``group``) form one cluster.

    Args:
        rows: Base rows of one data set or several; a uid begins with the name of its data set.
        context: Task and settings of the evaluation; one of the labels is "entailment".

    Yields:
        For each data set ``two_class/<data>``, where the probabilities of all labels but entailment are summed (the
        rule "sum" of :func:`~heedful.metrics.natural_logic.entailment.entailed`); ``two_class/<data>/argmax``, where
        the most probable label decides;
        ``two_class/<data>/majority``, the share of the larger class; ``two_class/<data>/no_answer``, the share of
        missing answers, if any.
    """
    base = select(rows, intervention=BASE)
    gold = gold_entailed(base)
    is_right = {rule: is_right_in_two_classes(base, context.labels, rule) for rule in ("sum", "argmax")}
    without = rows_with(base, y=NO_LABEL)
    cluster = cluster_of(base)
    of_data = np.array([uid.split("/")[0] for uid in strings(base, "uid")], dtype=object)
    for data in sorted(set(of_data)):
        mask = of_data == data
        name = MetricName("two_class", data)
        for rule, statistic in (("sum", ""), ("argmax", "argmax")):
            scores = Scores.of_classes(gold[mask], is_right[rule][mask], cluster[mask])
            label = None if statistic else f"two-class accuracy {data}"
            yield Number(name._replace(statistic=statistic), scores.mean(context.seed, data), label)
        yield Number(name._replace(statistic="majority"), scores.majority())
        if without[mask].any():
            yield Number(name._replace(statistic="no_answer"), share(without[mask], cluster[mask]))


METRIC = Metric("two_class", numbers)
