"""Attributions in results.json: the mean of each factor, how sure single phi are, and what the methods leave out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from heedful.metrics.attributions.attribution import Attribution, attributions
from heedful.metrics.attributions.choice import values_of
from heedful.metrics.attributions.factors import FACTORS, has_swapped_words
from heedful.metrics.metric import Metric, Numbers
from heedful.metrics.statistics.shares import mean, share
from heedful.records import Context, Line, Measurement, MetricName, Shown
from heedful.records.numbers.display import Unit
from heedful.records.rows import cluster_of

FAMILY = "attributions"
PROBABILITY = "probability"  # the scale of phi, unless the context says another
DELTA, ERROR, UNSWAPPED = "delta", "error", "without_swapped_words"
LABELS = {DELTA: "mean |delta|", ERROR: "mean error of a phi", UNSWAPPED: "without swapped words"}


def attribution_numbers(rows: pa.Table, context: Context) -> Numbers:
    """The mean of each number of one example's attribution, for each method.

    Args:
        rows: Rows of :data:`~heedful.metrics.attributions.attribution.SCHEMA`; unchanged examples (variant "") count.
        context: Of the rows.

    Returns:
        With ``name`` = ``attributions/<data>/<method>``: ``name/<factor>`` for each factor that is defined for an
        example or more, with ``n`` the number of these; ``name/delta``, the mean of abs(delta); ``name/error``, the
        mean over examples of the mean standard error of their words, where any is drawn; and where the SWAP factors
        are defined ``name/without_swapped_words``, the share of examples that count 0 there.
        Clusters of intervals are what examples share (``group``), or else examples.
    """
    of_method: dict[str, list[Attribution]] = {}
    for one in attributions(rows, context):
        if one.variant == "":
            of_method.setdefault(one.method, []).append(one)
    first_row = dict(zip(rows["uid"].to_pylist(), cluster_of(rows).tolist(), strict=True))
    result: Numbers = {}
    for method, examples in of_method.items():
        name = MetricName(FAMILY, context.data, part=method)
        clusters = np.array([first_row[one.uid] for one in examples])
        for statistic, column in columns_of(examples).items():
            here = ~np.isnan(column)
            is_share = statistic == UNSWAPPED
            of = clusters[here]
            result[name._replace(statistic=statistic)] = share(column[here], of) if is_share else mean(column[here], of)
    return result


def columns_of(examples: Sequence[Attribution]) -> dict[str, np.ndarray]:
    """Statistic to its value for each example: float64 [examples], nan where it is not defined; without those of no
    example."""
    rows = []
    for one in examples:
        errors = np.concatenate([*one.errors.values()])
        drawn = errors[~np.isnan(errors)]
        has_swap = has_swapped_words(one)
        own = {
            DELTA: abs(one.delta),
            ERROR: float(drawn.mean()) if len(drawn) else None,
            UNSWAPPED: None if has_swap is None else float(not has_swap),
        }
        rows.append(values_of(FACTORS, one) | own)
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}  # None becomes nan
    return {name: column for name, column in columns.items() if not np.isnan(column).all()}


def show(numbers: Numbers, context: Context, counts: Mapping[str, Any]) -> Shown:
    """Show each method as a heading with its numbers below: phi of probabilities and shares in percent."""
    lines: list[Line] = []
    unit: Unit = "percent" if context.own.get("scale", PROBABILITY) == PROBABILITY else "ratio"
    for name in numbers:
        if not any(line.metric == str(name._replace(statistic="")) for line in lines):
            lines.append(_heading(name, numbers, counts.get(f"{name.part}_scarce", 0)))
        label = LABELS.get(name.statistic, name.statistic)
        lines.append(Line(str(name), label, level=1, unit="percent" if name.statistic == UNSWAPPED else unit))
    return Shown(lines)


def _heading(name: MetricName, numbers: Mapping[MetricName, Measurement], scarce: int) -> Line:
    examples = max(m.n for other, m in numbers.items() if other.part == name.part)
    told = f", {scarce:,} with too few masks" if scarce else ""
    return Line(str(name._replace(statistic="")), name.part, text=f"{examples:,} examples{told}")


METRIC = Metric(FAMILY, attribution_numbers, show)
