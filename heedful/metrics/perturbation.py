"""The metric of perturbations: how often a change of an example has the expected effect on the prediction."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from heedful.metrics.accuracy import constant_flags
from heedful.metrics.hits import is_answer, met
from heedful.metrics.metric import Metric
from heedful.metrics.number import Counts, Number, Settings
from heedful.metrics.slices import slices_of
from heedful.metrics.statistics.draws import Drawn, few_examples
from heedful.metrics.statistics.shares import share
from heedful.records import Context, Measurement, MetricName
from heedful.records.rows import BASE, UNREAD, rows_with

NO_CHANGE = "the function changes no example"


@dataclass(frozen=True)
class PerturbationSettings(Settings):
    """Settings of a perturbation.

    Attributes:
        part: The part that the function gets as its argument ``part``; "" without this argument.
        limit: Largest number of examples that the function changes; None for all.
        perturbation: Always true, so that rows can be scored where the function is not imported.
    """

    part: str
    perturbation: bool
    limit: int | None = None


def perturbation_metric(
    name: str, further: Callable[[pa.Table, Drawn, Context], Iterator[Number]] | None = None
) -> Metric:
    """Return the metric of the perturbation called ``name``: the share of changes that meet the expectation.

    Changes that the model does not read are left out, and so are changes with a missing answer. The share is averaged
    over the variants and draws of every example first. ``further`` yields more numbers of the counted changes, given
    their rows.
    """

    def main_name(context: Context) -> MetricName:
        return MetricName(name, context.data, context.own["part"])

    def numbers(rows: pa.Table, context: Context) -> Iterator[Number | Counts]:
        changed = rows_with(rows, intervention=name) & is_answer(rows)
        counted = changed & ~rows_with(rows, expects="") & is_answer(rows, "y2") & ~rows_with(rows, **{UNREAD: True})
        columns, hit, flags = Drawn.of(rows), met(rows, context.kind), constant_flags(rows)
        reason = "no change that the model reads has an expectation" if changed.any() else NO_CHANGE
        main = main_name(context)
        yield Number(main, mean_per_example(hit[counted], columns.where(counted), flags, reason), True, changed)
        for text, of_slice in slices_of(rows, context.slices):
            mask = counted & of_slice
            yield Number(main._replace(slice=text), mean_per_example(hit[mask], columns.where(mask), flags, reason))
        if further is not None:
            yield from further(rows.filter(pa.array(counted)), columns.where(counted), context)
        n, of_changes = int(rows_with(rows, intervention=BASE).sum()), rows_with(rows, intervention=name)
        examples = columns.where(of_changes).examples
        yield {"changed": examples, "not_changed": min(n, context.own.get("limit", n)) - examples}

    return Metric(name, numbers, lambda context: [main_name(context)], omits_unread=True)


def mean_per_example(
    hit: np.ndarray, columns: Drawn, flags: tuple[str, ...] = (), reason: str = NO_CHANGE
) -> Measurement:
    """Return the share of hits among changes, averaged over the variants and draws of every example first."""
    _, at, count = np.unique(columns.uid, return_inverse=True, return_counts=True)
    weight = len(at) / (len(count) * count[at])  # 1 if all examples have the same number of changes
    flags += few_examples(len(count))
    measured = share(weight * hit, columns.cluster, flags, reason, counts=weight, n=len(count))
    draws = np.unique(columns.draw)
    if len(draws) < 2:
        return measured
    shares = [(weight * hit)[columns.draw == draw].sum() / weight[columns.draw == draw].sum() for draw in draws]
    std = float(np.std(shares, ddof=1))
    return replace(measured, draws=len(draws), std=std, per_draw=tuple(map(float, shares)))
