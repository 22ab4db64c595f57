"""Attentiveness on examples that are predicted as the default label (CAT, §8, an open question of the paper).

The default label, such as "neutral", is the right label if the parts are unrelated. So a prediction of the default
label should stay when a part is swapped (replaced by the part of another example). The prediction should change when a
sibling replaces the example: another example with the same content in one part, and another gold label.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from heedful.metrics.accuracy import NOBODY, constant_flags
from heedful.metrics.hits import is_answer, met
from heedful.metrics.metric import Metric
from heedful.metrics.number import Counts, Number, Settings
from heedful.metrics.statistics.draws import Drawn, mean_over_draws
from heedful.metrics.statistics.shares import share
from heedful.records import Context, Measurement, MetricName
from heedful.records.rows import BASE, probabilities, rows_with, strings

FAMILY = "default_label"
VARIATION, DEFAULT = "total_variation", "default_probability"


@dataclass(frozen=True)
class DefaultLabelSettings(Settings):
    """Settings: the parts that are swapped, and for each part that a sibling shares, its other parts, joined by "+"."""

    swap: tuple[str, ...]
    siblings: Mapping[str, str]  # {"premise": "hypothesis"}, or {"a": "b+c"} for three parts


def _distances(changed: pa.Table, context: Context) -> dict[str, np.ndarray]:
    """Distances between probabilities before and after a change: float64 [rows]; empty if rows have none."""
    if not context.kind.distribution(context.labels) or changed["p"].null_count or changed["p2"].null_count:
        return {}
    change = np.abs(probabilities(changed, "p2").astype(np.float64) - probabilities(changed, "p"))
    return {VARIATION: change.sum(axis=1) / 2, DEFAULT: change[:, context.labels.index(context.default_label)]}


def default_label(rows: pa.Table, context: Context) -> Iterator[Number | Counts]:
    """Measure the effects of the interventions "swap", "sibling" and "null" on examples that are predicted as the
    default label.

    Yields:
        With ``name`` = ``default_label/<data>/<part>``:

        - ``name``: share of predictions that stay the default label when the part is swapped, flagged if all
          predictions are the same;
        - ``name/total_variation``, ``name/default_probability``: half the mean sum over labels of the absolute change
          of a probability by a swap, and the mean absolute change for the default label;
        - ``name/siblings``: share of predictions that change when a sibling replaces the example;
        - ``name/siblings_gold``: mean score of all predictions on siblings, by the gold labels of the siblings.

        For all parts together: ``default_label/<data>/null_total_variation`` and ``/null_default_probability``, the
        same distances between two predictions on the same input; ``/eligible``, the share of examples that are
        predicted as the default label.

        Counts: numbers of changed examples, "<part>/swap" and "<part>/sibling".
    """
    of_data = MetricName(FAMILY, context.data)
    settings, kind = DefaultLabelSettings.from_context(context), context.kind
    columns, flags = Drawn.of(rows), constant_flags(rows)
    base, is_default = rows_with(rows, intervention=BASE), rows_with(rows, y=context.default_label)
    mine = ~base & is_default & is_answer(rows, "y2")
    n, eligible = int(base.sum()), int((base & is_default).sum())
    never = f"no prediction is the default label {context.default_label!r}" if n else NOBODY

    def mean(values: np.ndarray, mask: np.ndarray, reason: str, flags: tuple[str, ...] = ()) -> Measurement:
        """Mean without draws, which examples with different numbers of siblings do not have."""
        changed, why = columns.where(mask), reason if eligible else never
        return share(values, changed.cluster, flags, why, n=len(np.unique(changed.uid)))

    for part in settings.swap:
        name = of_data._replace(part=part)
        is_swap = rows_with(rows, intervention="swap", part=part)
        swaps = rows.filter(pa.array(mine & is_swap))
        why = "no example has a partner" if eligible else never
        for statistic, values in ({"": met(swaps, kind)} | _distances(swaps, context)).items():
            drawn = mean_over_draws(values, columns.where(mine & is_swap), () if statistic else flags, why)
            changed = None if statistic else is_default & is_swap
            yield Number(name._replace(statistic=statistic), drawn, headline=not statistic, changed=changed)
        yield {f"{part}/swap": columns.where(is_swap).examples}
        if part in settings.siblings:
            is_sibling = rows_with(rows, intervention="sibling", part=settings.siblings[part])
            yield {f"{part}/sibling": columns.where(is_sibling).examples}
            siblings = rows.filter(pa.array(mine & is_sibling))
            scores = kind.scores(strings(siblings, "y2"), strings(siblings, "gold2"))
            for statistic, values in {"siblings": met(siblings, kind), "siblings_gold": scores}.items():
                measured = mean(values, mine & is_sibling, "no such example has a sibling of another label", flags)
                yield Number(name._replace(statistic=statistic), measured)
    is_null = mine & rows_with(rows, intervention="null")
    for statistic, values in _distances(rows.filter(pa.array(is_null)), context).items():
        yield Number(of_data._replace(statistic=f"null_{statistic}"), mean(values, is_null, never))
    measured = Measurement(eligible / n if n else None, n, reason=None if n else NOBODY)
    yield Number(of_data._replace(statistic="eligible"), measured)


def headlines(context: Context) -> list[MetricName]:
    """Return the name of the main number of every swapped part."""
    return [MetricName(FAMILY, context.data, part) for part in DefaultLabelSettings.from_context(context).swap]


METRIC = Metric(FAMILY, default_label, headlines)
