"""Attentiveness where a model predicts the default label, which the paper leaves open (CAT, §8).

A swap cannot be expected to change such a prediction. What can be seen is whether it stays, how far its probabilities
move, and whether it follows when the example becomes a sibling of another label.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from heedful.metrics.hits import alike, is_answer
from heedful.metrics.metric import Metric, Numbers
from heedful.metrics.statistics.draws import Drawn, mean_over_draws
from heedful.metrics.statistics.shares import share
from heedful.records import Context, Measurement, MetricName
from heedful.records.rows import BASE, probabilities, strings, where

FAMILY = "default_label"
VARIATION, DEFAULT = "total_variation", "default_probability"
Values = Callable[[pa.Table, Context], dict[str, np.ndarray]]  # statistic to a value of each row


def distances(changed: pa.Table, context: Context) -> dict[str, np.ndarray]:
    """How far the probabilities of changed examples are from those of their base examples; nothing without any.

    Args:
        changed: Rows of changed examples.
        context: Says which label is the default one.

    Returns:
        float64 [rows] each: ``total_variation``, half the sum of absolute differences; ``default_probability``, the
        absolute difference of the probability of the default label.
    """
    if not context.kind.distribution(context.labels) or changed["p"].null_count or changed["p2"].null_count:
        return {}
    change = np.abs(probabilities(changed, "p2").astype(np.float64) - probabilities(changed, "p"))
    return {VARIATION: change.sum(axis=1) / 2, DEFAULT: change[:, context.labels.index(context.default_label)]}


def default_label(rows: pa.Table, context: Context) -> Numbers:
    """What becomes of examples that are predicted as the default label.

    Args:
        rows: Base rows and those of the swaps, of the sibling swaps and of the null control, in their canonical order.
        context: ``own["swap"]`` are the parts that were swapped, ``own["siblings"]`` part to what is replaced instead.

    Returns:
        With ``name`` = ``default_label/<data>/<part>``: ``name``, the share of predictions that stay the default label
        when the part comes from another example; ``name/total_variation`` and ``name/default_probability``
        (:func:`distances`), their means; ``name/siblings``, the share of predictions that change when the example
        becomes a sibling, and ``name/siblings_gold``, what the new ones are worth, given the sibling's gold label.
        Without a part ``null_total_variation`` and ``null_default_probability``, the same distances in the null
        control of these examples, below which a change is noise; and ``eligible``, the share of examples that are
        predicted as the default label.
    """
    whole = MetricName(FAMILY, context.data)
    default = context.default_label
    result = Numbers()
    drawn = Drawn.of(rows)
    base = where(rows, intervention=BASE)
    mine = where(rows, y=default) & is_answer(rows, "y2")  # a failure is not behaviour
    eligible = int((base & mine).sum())
    n = int(base.sum())
    nobody = "no example was predicted"
    never = f"no prediction is the default label {default!r}" if n else nobody

    def measure(name: MetricName, mask: np.ndarray, values_of: Values, reason: str) -> None:
        of = drawn.where(mask)
        why = reason if eligible else never
        for statistic, values in values_of(rows.filter(pa.array(mask)), context).items():
            full = name._replace(statistic=name.statistic + statistic)
            if values_of is _moved:
                result[full] = mean_over_draws(values, of, reason=why)
            else:  # examples do not all have as many draws
                result[full] = share(values, of.cluster, reason=why, n=len(np.unique(of.uid)))

    for part in context.own["swap"]:
        name = whole._replace(part=part)
        measure(name, mine & where(rows, intervention="swap", part=part), _moved, "no example has a partner")
        if part in context.own["siblings"]:
            siblings = where(rows, intervention="sibling", part=context.own["siblings"][part])
            measure(name, mine & siblings, _followed, "no such example has a sibling of another label")
    measure(whole._replace(statistic="null_"), mine & where(rows, intervention="null"), distances, never)
    measured = Measurement(eligible / n if n else None, n, reason=None if n else nobody)
    return result | {whole._replace(statistic="eligible"): measured}


def _moved(changed: pa.Table, context: Context) -> dict[str, np.ndarray]:
    """Whether each prediction is still the default label, and how far its probabilities moved."""
    stays = strings(changed, "y2") == context.default_label
    return {"": stays.astype(np.float64)} | distances(changed, context)


def _followed(changed: pa.Table, context: Context) -> dict[str, np.ndarray]:
    """Whether each prediction is another one, and what that is worth."""
    other = ~alike(changed, np.ones(changed.num_rows, dtype=bool), context.kind)
    worth = context.kind.scores(strings(changed, "y2"), strings(changed, "gold"))
    return {"siblings": other.astype(np.float64), "siblings_gold": worth}


def _swaps(rows: pa.Table, context: Context) -> dict[MetricName, np.ndarray]:
    """The swaps of each part of examples that are predicted as the default label: bool [rows] each."""
    swaps = where(rows, y=context.default_label, intervention="swap")
    return {MetricName(FAMILY, context.data, part): swaps & where(rows, part=part) for part in context.own["swap"]}


METRIC = Metric(FAMILY, default_label, rests_on=_swaps)
