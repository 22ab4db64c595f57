"""The numbers of the attributions evaluation: means of factors, and of errors of attributions, for each method."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
WORDS = {
    f"{FAMILY}/{name}": f"{{part}}: {label}" for name, label in ({name: name for name in FACTORS} | LABELS).items()
}


@dataclass(frozen=True)
class AttributionSettings(Settings):
    """Settings of attributions: the scale of phi, "probability" or "logit"."""

    scale: str = ""


def numbers(rows: pa.Table, context: Context) -> Iterator[Number]:
    """Yield the numbers per attribution method. Each number is a mean over the unchanged examples.

    The clusters of intervals are the groups of examples (column ``group``); an example without a group is a cluster.

    Args:
        rows: Rows of :data:`~heedful.metrics.attributions.attribution.SCHEMA`.
        context: Task and settings of the evaluation.

    Yields:
        With ``name`` = ``attributions/<data>/<method>``:

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
        for statistic, column in columns_of(examples).items():
            is_defined = ~np.isnan(column)
            is_share = statistic == UNSWAPPED
            measured = (share if is_share else mean)(column[is_defined], clusters[is_defined])
            unit = measured.unit if is_share else of_phi
            yield Number(name._replace(statistic=statistic), replace(measured, unit=unit))


def columns_of(examples: Sequence[Attribution]) -> dict[str, np.ndarray]:
    """Map each statistic that is defined for any example to its values: float64 [examples], nan if undefined."""
    rows = []
    for example in examples:
        errors = np.concatenate([*example.errors.values()])
        defined = errors[~np.isnan(errors)]
        has_swap = has_swapped_words(example)
        row = {name: factor(example) for name, factor in FACTORS.items()} | {DELTA: abs(example.delta)}
        row[ERROR] = float(defined.mean()) if len(defined) else None
        row[UNSWAPPED] = None if has_swap is None else not has_swap
        rows.append(row)
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in rows[0]}  # None becomes nan
    return {name: column for name, column in columns.items() if not np.isnan(column).all()}


METRIC = Metric(FAMILY, numbers, words=WORDS)
