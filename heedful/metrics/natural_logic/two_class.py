"""The classes entailment and non-entailment, and the accuracy in them by data set (natural logic, table 5).

By the rule "sum" (the paper's formula), a prediction is entailment if entailment is more probable than all other labels
together; a tie is non-entailment. By the rule "argmax" (the paper's text), the predicted label must be entailment. The
rules differ if entailment is the most probable label, but has a probability of at most 0.5.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from heedful.metrics.answers import Scores
from heedful.metrics.hits import is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.number import Number
from heedful.metrics.statistics.shares import share
from heedful.records import NO_LABEL, Context, DataError, MetricName, RunError, is_entailment, listing
from heedful.records.rows import BASE, cluster_of, probabilities, rows_with, select, strings

Rule = Literal["sum", "argmax"]


def entailment_at(labels: Sequence[str]) -> int:
    """Return the index of the label "entailment"; raises DataError if no label, or more than one, is "entailment"."""
    positions = [i for i, label in enumerate(labels) if is_entailment(label)]
    if len(positions) != 1:
        raise DataError(
            f'Natural logic needs one label "entailment", and the labels of the model are {listing(labels)}. Leave '
            "that evaluation out, or take data with these labels."
        )
    return positions[0]


def probabilities_of(rows: pa.Table, labels: Sequence[str], name: str) -> np.ndarray:
    """Read the column ``name``, "p" or "p2": float64 [rows, labels]; raises RunError if it has other labels."""
    width = rows.schema.field(name).type.list_size
    if width != len(labels):
        raise RunError(
            f"The rows hold {width} probabilities, and the model has {len(labels)} labels: {listing(labels)}. Evaluate "
            "again."
        )
    return probabilities(rows, name).astype(np.float64)


def entailed(rows: pa.Table, labels: Sequence[str], which: str = "y", rule: Rule = "sum") -> np.ndarray:
    """Whether predictions before ("y") or after ("y2") a change are entailment, by a rule: bool [rows].

    Raises:
        HeedfulError: No label, or more than one, is "entailment"; or a row has no probabilities.
    """
    entail = entailment_at(labels)
    if rule == "argmax":
        return rows_with(rows, **{which: labels[entail]})
    p = probabilities_of(rows, labels, {"y": "p", "y2": "p2"}[which])
    return p[:, entail] > np.delete(p, entail, axis=1).sum(axis=1)


def gold_entailed(rows: pa.Table, column: str = "gold") -> np.ndarray:
    """Whether the gold label of every row, in the given column, is entailment: bool [rows]."""
    names = [name for name in pc.unique(rows[column]).to_pylist() if name is not None and is_entailment(name)]
    return pc.is_in(rows[column], pa.array(names, pa.string())).to_numpy()


def is_right(rows: pa.Table, labels: Sequence[str], rule: Rule = "sum") -> np.ndarray:
    """Whether predictions on unchanged examples are of the gold class: bool [rows]. A missing answer is wrong."""
    return (entailed(rows, labels, rule=rule) == gold_entailed(rows)) & is_answer(rows)


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure accuracy in two classes for each data set; flagged if it is not above the share of the larger class.

    A missing answer is wrong. For intervals, the examples of a group (column ``group``) form one cluster.

    Args:
        rows: Base rows; a uid begins with the name of its data set.
        context: Task and settings of the evaluation; one of the labels is "entailment".

    Yields:
        ``two_class/<data>``, by the rule "sum"; ``two_class/<data>/argmax``, by the rule "argmax";
        ``two_class/<data>/majority``, the share of the larger class; ``two_class/<data>/no_answer``, the share of
        missing answers, if any.
    """
    base = select(rows, intervention=BASE)
    gold, without, cluster = gold_entailed(base), rows_with(base, y=NO_LABEL), cluster_of(base)
    right = {"": is_right(base, context.labels), "argmax": is_right(base, context.labels, "argmax")}
    of_data = np.array([uid.split("/")[0] for uid in strings(base, "uid")], dtype=object)
    for data in sorted(set(of_data)):
        mask = of_data == data
        name = MetricName("two_class", data)
        for rule, hit in right.items():
            scores = Scores.of_classes(gold[mask], hit[mask], cluster[mask])
            measured = share(scores.each, scores.cluster, scores.flags(context.seed, data))
            yield Number(name._replace(statistic=rule), measured, headline=not rule)
        yield Number(name._replace(statistic="majority"), scores.majority())
        if without[mask].any():
            yield Number(name._replace(statistic="no_answer"), share(without[mask], cluster[mask]))


METRIC = Metric("two_class", numbers, words={"two_class": "two-class accuracy {data}"})
