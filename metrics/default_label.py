"""Attentiveness where a model predicts the default label, which the paper leaves open (CAT, §8).

A swap cannot be expected to change such a prediction. What can be seen is whether it stays, how far its probabilities
move, and whether it follows when the example becomes a sibling of another label.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from metrics.attentiveness import Swapped, mean_over_draws
from metrics.metric import Metric, Numbers
from metrics.statistics.bootstrap import share
from metrics.statistics.clusters import few
from records import Context, Measurement, MetricName
from records.rows import BASE, probabilities, strings, where

FAMILY = "default_label"
VARIATION, DEFAULT = "total_variation", "default_probability"


def distances(rows: pa.Table, default: int) -> dict[str, np.ndarray]:
    """How far the probabilities of changed examples are from those of their base examples; nothing without any.

    Args:
        rows: Rows of changed examples.
        default: The place of the default label among the probabilities.

    Returns:
        float64 [rows] each: ``total_variation``, half the sum of absolute differences; ``default_probability``, the
        absolute difference of the probability of the default label.
    """
    if rows["p"].null_count or rows["p2"].null_count:
        return {}
    change = np.abs(probabilities(rows, "p2").astype(np.float64) - probabilities(rows, "p"))
    return {VARIATION: change.sum(axis=1) / 2, DEFAULT: change[:, default]}


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
    whole, result = MetricName(FAMILY, context.data), Numbers()
    default, flags = context.default_label, few(rows)
    base, mine = where(rows, intervention=BASE), where(rows, y=default)
    eligible, n = int((base & mine).sum()), int(base.sum())
    reason = "no example was predicted" if not n else None
    never = f"no prediction is the default label {default!r}" if n else "no example was predicted"

    def measure(mask: np.ndarray, hits: Callable[[pa.Table], dict[MetricName, np.ndarray]], none: str) -> None:
        """Means over draws; where examples do not all have as many, over all changes."""
        of, why = Swapped.of(rows, mask), none if eligible else never
        for name, hit in hits(rows.filter(pa.array(mask))).items():
            key, values = (context.seed, str(name)), hit.astype(np.float64)
            if hits is moved:
                result[name] = mean_over_draws(values, of, key, flags, why)
            else:
                mean = share(values, key, of.cluster, flags, why)
                result[name] = replace(mean, n=len(np.unique(of.uid)))

    def distant(name: MetricName, changed: pa.Table, prefix: str = "") -> dict[MetricName, np.ndarray]:
        if not context.kind.distribution(context.labels):
            return {}
        found = distances(changed, context.labels.index(default))
        return {name._replace(statistic=prefix + of): values for of, values in found.items()}

    def moved(changed: pa.Table) -> dict[MetricName, np.ndarray]:
        return {name: strings(changed, "y2") == default} | distant(name, changed)

    def followed(changed: pa.Table) -> dict[MetricName, np.ndarray]:
        after = strings(changed, "y2")
        alike = [context.kind.alike(y, y2) for y, y2 in zip(strings(changed, "y"), after, strict=True)]
        worth = context.kind.scores(after, strings(changed, "gold"))
        return {
            name._replace(statistic="siblings"): ~np.array(alike, dtype=bool),
            name._replace(statistic="siblings_gold"): worth,
        }

    for part in context.own["swap"]:
        name = whole._replace(part=part)
        measure(mine & where(rows, intervention="swap", part=part), moved, "no example has a partner")
        if part in context.own["siblings"]:
            siblings = where(rows, intervention="sibling", part=context.own["siblings"][part])
            measure(mine & siblings, followed, "no such example has a sibling of another label")
    repeated = mine & where(rows, intervention="null")
    measure(repeated, lambda changed: distant(whole, changed, "null_"), never)
    result[whole._replace(statistic="eligible")] = Measurement(eligible / n if n else None, n, reason=reason)
    return result


METRIC = Metric(FAMILY, default_label)
