"""Numbers of the evaluation "order": is the same option chosen, and which positions, if options change places?"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from heedful.metrics.number import Number
from heedful.metrics.perturbation import mean_per_example, perturbation_metric
from heedful.metrics.slices import slice_of_label
from heedful.metrics.statistics.draws import Drawn
from heedful.records import MANY, Context, MetricName
from heedful.records.rows import strings


def numbers(rows: pa.Table, columns: Drawn, context: Context) -> Iterator[Number]:
    """Measure accuracy, and how often each position is chosen and right, before and after options change places.

    The main number of the evaluation is the share of changes after which the option with the same text is chosen. The
    numbers here are over the same changes: changes that the model reads, with answers before and after. They are
    averaged over the draws of every example first.

    Args:
        rows: The counted rows of the intervention "order".
        columns: Example, cluster and draw of these rows.
        context: Task of the evaluation.

    Yields:
        For ``<when>`` "before" and "after": ``order/<data>/accuracy/<when>``, the accuracy;
        ``order/<data>/chosen/<when>/<label>``, the share of answers with this label;
        ``order/<data>/gold/<when>/<label>``, the share of examples in which this label is right. And
        ``order/<data>/accuracy/after/gold_<label>``, the accuracy where the option with this label is right. Numbers of
        labels need at most :data:`~heedful.records.MANY` labels, and all but ``chosen`` need gold labels.
    """
    labels = context.labels if len(context.labels) <= MANY else ()
    has_gold = context.kind.exclusive and not context.unlabelled
    once = np.unique(columns.uid, return_index=True)[1]  # the answer before is the same in all draws
    for when, answer, right, at in (("before", "y", "gold", once), ("after", "y2", "gold2", np.arange(rows.num_rows))):
        name, columns_of = MetricName("order", context.data), columns.where(at)
        y, gold = strings(rows, answer)[at], strings(rows, right)[at]
        if has_gold:
            accuracy = name._replace(statistic=f"accuracy/{when}")
            yield Number(accuracy, mean_per_example(y == gold, columns_of))
            for label in labels if when == "after" else ():
                among, hit = columns_of.where(gold == label), (y == gold)[gold == label]
                measured = mean_per_example(hit, among, reason=f"{label} is never right")
                yield Number(accuracy._replace(slice=f"gold_{slice_of_label(label)}"), measured)
        for label in labels:
            for statistic, values in (("chosen", y), *([("gold", gold)] if has_gold else [])):
                share = name._replace(statistic=f"{statistic}/{when}", slice=slice_of_label(label))
                yield Number(share, mean_per_example(values == label, columns_of))


METRIC = perturbation_metric("order", numbers)
