"""The numbers of the attributions evaluation: means over examples, for each attribution method.

An attribution gives each word of an example its contribution to the probability of the prediction. A factor is a number
computed from an attribution. The errors of a method are also averaged, such as the error due to random masks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from heedful.metrics.attributions.attribution import Attribution, by_method
from heedful.metrics.attributions.factors import FACTORS, has_swapped_words
from heedful.metrics.metric import Metric
from heedful.metrics.number import Number, Settings
from heedful.metrics.statistics.shares import mean, share
from heedful.records import Context, MetricName
from heedful.records.numbers import Unit
from heedful.records.rows import cluster_of

FAMILY = "attributions"
DELTA, ERROR, UNSWAPPED = "delta", "error", "without_swapped_words"
LABELS = {DELTA: "mean |delta|", ERROR: "mean error of a phi", UNSWAPPED: "without swapped words"}


@dataclass(frozen=True)
class AttributionSettings(Settings):
    """Settings of attributions.

    Attributes:
        scale: Scale of the contributions of words, "probability" or "logit".
    """

    scale: str = ""


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield the numbers per attribution method. Each number is a mean over the unchanged examples.

    An attribution gives each word of an example a contribution, phi. A factor is a number that is computed from the
    attribution of an example. Two kinds of values are averaged: the factors, and the errors of the attributions. The
    clusters of intervals are the groups of examples (column ``group``); an example without a group is a cluster.

    Args:
        rows: Rows of :data:`~heedful.metrics.attributions.attribution.SCHEMA`.
        context: Task and settings of the evaluation.

    Yields:
        With ``name`` = ``attributions/<data>/<method>``, a heading with the number of examples, and:

        - ``name/<factor>``: mean of a factor over the ``n`` examples for which it is defined;
        - ``name/delta``: mean of the absolute error of the method, ``Attribution.delta``;
        - ``name/error``: mean of the standard error of phi, averaged over the words of an example, if masks are random;
        - ``name/without_swapped_words``: share of examples without swapped words, for which the SWAP factors are 0.
    """
    if not rows.num_rows:
        return
    cluster = dict(zip(rows["uid"].to_pylist(), cluster_of(rows).tolist(), strict=True))
    of_phi: Unit = "ratio" if AttributionSettings.from_context(context).scale == "logit" else "percent"
    for method, examples in by_method(rows, context).items():
        name = MetricName(FAMILY, context.data, part=method)
        clusters = np.array([cluster[attribution.uid] for attribution in examples])
        of_factors = []
        for statistic, column in columns_of(examples).items():
            is_defined = ~np.isnan(column)
            is_share = statistic == UNSWAPPED
            measured = (share if is_share else mean)(column[is_defined], clusters[is_defined])
            label, unit = LABELS.get(statistic, statistic), "percent" if is_share else of_phi
            of_factors.append(Number(name._replace(statistic=statistic), measured, label, 1, unit, headline=False))
        scarce = context.counts.get(f"{method}_scarce", 0)
        text = f"{max(number.measured.n for number in of_factors if number.measured):,} examples"
        text += f", {scarce:,} with too few masks" if scarce else ""
        yield Number(name, None, method, 0, headline=False, text=text)
        yield from of_factors


def columns_of(examples: Sequence[Attribution]) -> dict[str, np.ndarray]:
    """Map each statistic of an attribution, such as a factor, to a value per example: float64 [examples], nan if
    undefined.

    Statistics that are undefined for all examples are omitted.
    """
    rows = []
    for example in examples:
        errors = np.concatenate([*example.errors.values()])
        defined = errors[~np.isnan(errors)]
        has_swap = has_swapped_words(example)
        statistics = {
            DELTA: abs(example.delta),
            ERROR: float(defined.mean()) if len(defined) else None,
            UNSWAPPED: None if has_swap is None else float(not has_swap),
        }
        rows.append({name: factor(example) for name, factor in FACTORS.items()} | statistics)
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}  # None becomes nan
    return {name: column for name, column in columns.items() if not np.isnan(column).all()}


METRIC = Metric(FAMILY, numbers)
