"""Attentiveness on examples that are predicted as the default label (CAT, §8, an open question of the paper).

The default label, such as "neutral", is the right label if the parts are unrelated. So a prediction of the default
label should stay when a part is swapped (replaced by the part of another example). The prediction should change when a
sibling replaces the example: another example with, for instance, the same premise, but another label.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from heedful.metrics.accuracy import constant_flags
from heedful.metrics.hits import alike, is_answer
from heedful.metrics.metric import Metric
from heedful.metrics.number import Number, Settings
from heedful.metrics.statistics.draws import Drawn, mean_over_draws
from heedful.metrics.statistics.shares import share
from heedful.records import Context, Measurement, MetricName
from heedful.records.rows import BASE, probabilities, rows_with, strings

FAMILY = "default_label"
VARIATION, DEFAULT = "total_variation", "default_probability"
NOBODY = "no example was predicted"
Values = Callable[[pa.Table, Context], dict[str, np.ndarray]]  # maps statistics to a value per row


def distances(changed: pa.Table, context: Context) -> dict[str, np.ndarray]:
    """Compute distances between the label probabilities before and after a change.

    Args:
        changed: Rows of changed examples.
        context: Task and settings of the evaluation, with the default label.

    Returns:
        ``total_variation``, half the sum of absolute differences over labels, and ``default_probability``, the absolute
        difference for the default label: float64 [rows] each. Empty if rows have no probabilities.
    """
    if not context.kind.distribution(context.labels) or changed["p"].null_count or changed["p2"].null_count:
        return {}
    change = np.abs(probabilities(changed, "p2").astype(np.float64) - probabilities(changed, "p"))
    return {VARIATION: change.sum(axis=1) / 2, DEFAULT: change[:, context.labels.index(context.default_label)]}


@dataclass(frozen=True)
class DefaultLabelSettings(Settings):
    """Settings of the evaluation of the default label.

    Attributes:
        swap: Parts that are swapped.
        siblings: Maps a part to all other parts of the task, joined by "+": {"premise": "hypothesis"}, or {"a": "b+c"}
            for three parts. An example keeps the first part, and gets the other parts of a sibling: another example
            with the same first part and another gold label.
    """

    swap: tuple[str, ...]
    siblings: Mapping[str, str]


def default_label(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Measure the effects of changes on examples that are predicted as the default label.

    Args:
        rows: Base rows, and rows of the interventions "swap", "sibling" and "null", in their canonical order.
        context: Task and settings of the evaluation, with :class:`DefaultLabelSettings`.

    Yields:
        With ``name`` = ``default_label/<data>/<part>``:

        - ``name``: share of predictions that stay the default label when the part is swapped, flagged if all
          predictions are the same;
        - ``name/total_variation``, ``name/default_probability``: mean distances between the probabilities before and
          after a swap (:func:`distances`);
        - ``name/siblings``: share of predictions that change when a sibling replaces the example. A sibling is another
          example with the same content in the part, and another gold label;
        - ``name/siblings_gold``: mean score of all predictions on siblings, by the gold labels of the siblings.

        For all parts together: ``default_label/<data>/null_total_variation`` and ``/null_default_probability``, the
        same distances between two predictions on the same input; ``/eligible``, the share of examples that are
        predicted as the default label.
    """
    of_data = MetricName(FAMILY, context.data)
    settings = DefaultLabelSettings.from_context(context)
    default = context.default_label
    columns = Drawn.of(rows)
    base = rows_with(rows, intervention=BASE)
    is_default = rows_with(rows, y=default)
    mine = ~np.isnan(verdicts(rows, context))
    eligible = int((base & is_default).sum())
    n = int(base.sum())
    never = f"no prediction is the default label {default!r}" if n else NOBODY
    constant = constant_flags(rows)

    def measure(name: MetricName, mask: np.ndarray, values_of: Values, reason: str) -> Iterator[Number]:
        masked = columns.where(mask)
        why = reason if eligible else never
        for statistic, values in values_of(rows.filter(pa.array(mask)), context).items():
            full = name._replace(statistic=name.statistic + statistic)
            flags = () if statistic in (VARIATION, DEFAULT) else constant
            if values_of is _values_of_swaps:
                swaps = is_default & rows_with(rows, intervention="swap", part=name.part)
                measured = mean_over_draws(values, masked, flags, why)
                yield Number(full, measured, changed=None if statistic else swaps)
            else:  # examples have different numbers of siblings, so that draws have no mean
                yield Number(full, share(values, masked.cluster, flags, reason=why, n=len(np.unique(masked.uid))))

    for part in settings.swap:
        name = of_data._replace(part=part)
        swaps = mine & rows_with(rows, intervention="swap", part=part)
        yield from measure(name, swaps, _values_of_swaps, "no example has a partner")
        if part in settings.siblings:
            siblings = mine & rows_with(rows, intervention="sibling", part=settings.siblings[part])
            yield from measure(name, siblings, _values_of_siblings, "no such example has a sibling of another label")
    yield from measure(
        of_data._replace(statistic="null_"), mine & rows_with(rows, intervention="null"), distances, never
    )
    measured = Measurement(eligible / n if n else None, n, reason=None if n else NOBODY)
    yield Number(of_data._replace(statistic="eligible"), measured)


def _values_of_swaps(changed: pa.Table, context: Context) -> dict[str, np.ndarray]:
    """Map names of statistics to a value for each swap: float64 [rows].

    The name "" (the number itself) maps to 1 where the prediction stays the default label, else 0. The other names are
    those of :func:`distances`, between the probabilities before and after the swap.
    """
    return {"": verdicts(changed, context)} | distances(changed, context)


def _values_of_siblings(changed: pa.Table, context: Context) -> dict[str, np.ndarray]:
    """Map names of statistics to a value for each replacement of an example by a sibling: float64 [rows].

    A sibling is another example with the same content in one part, and another gold label. "siblings" maps to whether
    the prediction changes (1 or 0), "siblings_gold" to the score of the new prediction, with the sibling's gold label.
    """
    worth = context.kind.scores(strings(changed, "y2"), strings(changed, "gold"))
    return {"siblings": verdicts(changed, context), "siblings_gold": worth}


def verdicts(rows: pa.Table, context: Context) -> np.ndarray:
    """Return 1 for each change of an example predicted as the default label with the expected effect, else 0: the
    prediction changes for a sibling, and stays otherwise. NaN for other rows, and for changes without an answer:
    float64 [rows].
    """
    is_base = rows_with(rows, intervention=BASE)
    counted = ~is_base & rows_with(rows, y=context.default_label) & is_answer(rows, "y2")
    differs = ~alike(rows, counted, context.kind)
    return np.where(counted, differs == rows_with(rows, intervention="sibling"), np.nan)


METRIC = Metric(FAMILY, default_label, verdicts=verdicts)
