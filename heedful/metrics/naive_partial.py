"""The naive partial test (CAT, §3.2): how often a model of all parts predicts the same from a part alone."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from heedful.metrics.accuracy import constant_flags
from heedful.metrics.hits import alike, is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.number import Number, Settings
from heedful.metrics.slices import slice_of_label
from heedful.metrics.statistics.shares import share
from heedful.records import MANY, NO_LABEL, Context, MetricName
from heedful.records.rows import cluster_of, rows_with, strings


@dataclass(frozen=True)
class NaivePartialSettings(Settings):
    """Settings: the kept parts, such as "premise"; parts that are kept together are joined by "+"."""

    sides: tuple[str, ...]


def naive_partial(rows: pa.Table, part: str, context: Context) -> Iterator[Number]:
    """Measure how often predictions on a part alone agree with those on the full input, and accuracy on the part alone.

    Agreement does not measure attentiveness (as the paper says): a model may agree because it ignores the other parts,
    or because of its behaviour on inputs unlike those in training. Agreement is over the examples without a missing
    answer. For intervals, the examples of a group (column ``group``) form one cluster. The rows are those of the
    intervention "keep" whose variant is the part.

    Yields:
        ``naive_partial/<data>/<part>``, the share of examples whose prediction stays; ``.../from_<label>``, the same
        for examples that are predicted as the label, for at most :data:`~heedful.records.MANY` labels (both flagged if
        all predictions are the same); ``.../accuracy``, the mean score of predictions on the part alone.
    """
    name = MetricName("naive_partial", context.data, part)
    is_kept = rows_with(rows, intervention="keep", variant=part)
    kept = rows.select(["y", "y2", "gold", "gold2", "group"]).filter(pa.array(is_kept))
    before, cluster, flags = strings(kept, "y"), cluster_of(rows)[is_kept], constant_flags(rows)
    stays = alike(kept, context.kind)
    answered = is_answer(kept) & is_answer(kept, "y2")
    agreement = share(stays[answered], cluster[answered], flags)
    yield Number(name, agreement, headline=True, changed=is_kept & is_answer(rows))
    labels = sorted(set(before) - {NO_LABEL}) if context.kind.has_labels else []
    for label in labels if len(labels) <= MANY else ():
        mask = answered & (before == label)
        yield Number(name._replace(slice=f"from_{slice_of_label(label)}"), share(stays[mask], cluster[mask], flags))
    if not context.unlabelled:
        scores = context.kind.scores(strings(kept, "y2"), strings(kept, "gold"))
        yield Number(name._replace(statistic="accuracy"), share(scores, cluster))


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield the numbers of :func:`naive_partial` for each part that is kept alone."""
    for side in NaivePartialSettings.from_context(context).sides:
        yield from naive_partial(rows, side, context)


def headlines(context: Context) -> list[MetricName]:
    """Return the name of the agreement of every part that is kept alone."""
    sides = NaivePartialSettings.from_context(context).sides
    return [MetricName("naive_partial", context.data, side) for side in sides]


METRIC = Metric("naive_partial", numbers, headlines)
