"""Naive partial inputs (CAT, §3.2): how often a model says of one part alone what it says of all."""

import numpy as np
import pyarrow as pa

from heedful.metrics.hits import alike, is_answer
from heedful.metrics.metric import Metric, Numbers
from heedful.metrics.slices import slice_of_label
from heedful.metrics.statistics.shares import share
from heedful.records import CLASSIFICATION, MANY, NO_LABEL, Chart, Context, MetricName, TaskKind
from heedful.records.rows import cluster_of, strings, where


def naive_partial(
    rows: pa.Table, data: str, part: str, kind: TaskKind = CLASSIFICATION, has_gold: bool = True
) -> Numbers:
    """Agreement of the predictions on one part with those on the whole input, and accuracy on the part.

    Agreement may come from a model that ignores the other parts, or from what it does with inputs of a kind that it
    never saw: the paper takes it for no measure of attentiveness. It is over the examples whose two answers are
    answers. Clusters of intervals are what examples share (``group``), or else examples.

    Args:
        rows: Rows of the intervention "keep", with ``part`` as their variant.
        data: Name of the data set, for the metric names.
        part: The part that was kept.
        kind: Of the task: says which answers are the same, and which are right.
        has_gold: Whether the examples have gold labels, without which there is no accuracy.

    Returns:
        ``naive_partial/<data>/<part>``, the share of examples whose prediction stays; ``.../from_<label>``, of those
        predicted as a label, if these are at most :data:`~heedful.records.MANY` and labels at all; ``.../accuracy``,
        the share of predictions on the part that are gold, or what they are worth.
    """
    of_part = where(rows, intervention="keep", variant=part)
    cluster = cluster_of(rows)[of_part]
    rows = rows.select(["y", "y2", "gold", "group"]).filter(pa.array(of_part))
    before = strings(rows, "y")
    after = strings(rows, "y2")
    stays = alike(rows, np.ones(rows.num_rows, dtype=bool), kind).astype(np.float64)
    name = MetricName("naive_partial", data, part)
    answered = is_answer(rows) & is_answer(rows, "y2")
    hits = {name: (stays[answered], cluster[answered])}
    labels = sorted(set(before) - {NO_LABEL})
    for label in labels if len(labels) <= MANY and kind.has_labels else ():
        here = answered & (before == label)
        hits[name._replace(slice=f"from_{slice_of_label(label)}")] = stays[here], cluster[here]
    if has_gold:
        hits[name._replace(statistic="accuracy")] = kind.scores(after, strings(rows, "gold")), cluster
    return {full: share(values, of) for full, (values, of) in hits.items()}


def score(rows: pa.Table, context: Context) -> Numbers:
    """Agreement for each of ``own["sides"]``."""
    numbers: Numbers = {}
    for side in context.own["sides"]:
        numbers |= naive_partial(rows, context.data, side, context.kind, has_gold=not context.unlabelled)
    return numbers


def charts(context: Context) -> tuple[Chart, ...]:
    """Agreement for each side."""
    sides = context.own["sides"]
    curves = {f"{side} alone": MetricName("naive_partial", context.data, side) for side in sides}
    return (Chart(" and ".join(curves), curves, "attentiveness"),)


def _kept(rows: pa.Table, context: Context) -> dict[MetricName, np.ndarray]:
    """The examples of which one part is left, for each side: bool [rows] each."""
    name = MetricName("naive_partial", context.data)
    rows_of_side = {side: where(rows, intervention="keep", variant=side) for side in context.own["sides"]}
    return {name._replace(part=side): is_answer(rows) & here for side, here in rows_of_side.items()}


METRIC = Metric("naive_partial", score, charts=charts, rests_on=_kept)
