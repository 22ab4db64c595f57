"""The naive partial test (CAT, §3.2): how often a model predicts the same from a part alone as from all parts.

The model was usually trained on all parts, not on one part alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from heedful.metrics.accuracy import constant_flags
from heedful.metrics.hits import alike, is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.number import Curve, Number, Settings
from heedful.metrics.slices import slice_of_label
from heedful.metrics.statistics.shares import share
from heedful.records import MANY, NO_LABEL, Context, MetricName
from heedful.records.rows import cluster_of, rows_with, strings


@dataclass(frozen=True)
class NaivePartialSettings(Settings):
    """Settings of the naive partial test: a model gets some parts of an input alone, although it was usually trained on
    all parts.

    Attributes:
        sides: The kept parts, such as "premise"; parts that are kept together are joined by "+".
    """

    sides: tuple[str, ...]


def naive_partial(rows: pa.Table, part: str, context: Context) -> Iterator[Number]:
    """Measure how often predictions on a part alone agree with those on the full input, and accuracy on the part alone.

    Agreement does not measure attentiveness (as the paper says): a model may agree because it ignores the other parts,
    or because of its behaviour on inputs unlike those in training. Agreement is over the examples without a missing
    answer. For intervals, the examples of a group (column ``group``) form one cluster.

    Args:
        rows: Rows of the intervention "keep", with ``part`` as their variant.
        part: The part that was kept.
        context: Task and settings of the evaluation.

    Yields:
        ``naive_partial/<data>/<part>``, the share of examples whose prediction stays; ``.../from_<label>``, the same
        for examples that are predicted as the label, for at most :data:`~heedful.records.MANY` labels (both flagged if
        all predictions are the same);
        ``.../accuracy``, the mean score of predictions on the part alone.
    """
    is_kept = rows_with(rows, intervention="keep", variant=part)
    cluster = cluster_of(rows)[is_kept]
    answers = rows.select(["y", "y2", "gold", "group"]).filter(pa.array(is_kept))
    before = strings(answers, "y")
    stays = alike(answers, np.ones(answers.num_rows, dtype=bool), context.kind).astype(np.float64)
    name = MetricName("naive_partial", context.data, part)
    answered = is_answer(answers) & is_answer(answers, "y2")
    curve = Curve("agreement of one part alone", f"{part} alone", "attentiveness")
    flags = constant_flags(rows)
    agreement = share(stays[answered], cluster[answered], flags)
    yield Number(name, agreement, changed=is_kept & is_answer(rows), curve=curve)
    labels = sorted(set(before) - {NO_LABEL})
    for label in labels if len(labels) <= MANY and context.kind.has_labels else ():
        of_label = answered & (before == label)
        agreement = share(stays[of_label], cluster[of_label], flags)
        yield Number(name._replace(slice=f"from_{slice_of_label(label)}"), agreement)
    if not context.unlabelled:
        scores = context.kind.scores(strings(answers, "y2"), strings(answers, "gold"))
        yield Number(name._replace(statistic="accuracy"), share(scores, cluster))


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield all numbers of the evaluation of partial inputs, for each part that is kept alone."""
    for side in NaivePartialSettings.from_context(context).sides:
        yield from naive_partial(rows, side, context)


METRIC = Metric("naive_partial", numbers)
