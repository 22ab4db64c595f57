"""Accuracy over base rows, and the noise floor over the rows of the null control."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metrics.metric import Metric, Numbers
from metrics.soft_accuracy import soft_accuracy
from metrics.statistics.bootstrap import share
from metrics.statistics.clusters import few
from metrics.statistics.majority import majority_flag
from records import MANY, SOFT, Chart, Context, Measurement, MetricName
from records.rows import BASE, GROUP, cluster_of, codes, of_split, probabilities, same, select, where


def _base(rows: pa.Table) -> tuple[np.ndarray, dict[str, np.ndarray], np.ndarray]:
    """Which base rows are correct, which have each gold label, and the cluster of each."""
    base = where(rows, intervention=BASE)
    gold, names = codes(rows, "gold")
    of_label = {name: (gold == i)[base] for i, name in enumerate(names)}
    of_label = {name: here for name, here in of_label.items() if here.any()}
    return same(rows, "gold", "y")[base], of_label, cluster_of(rows)[base]


def majority_flags(rows: pa.Table, seed: int = 0) -> tuple[str, ...]:
    """The flags of results: accuracy is not above the majority share (p < 0.05), and there are few clusters."""
    correct, of_label, cluster = _base(rows)
    most = max(of_label.values(), key=np.count_nonzero, default=np.zeros(0, dtype=bool))
    return majority_flag(correct, most, cluster, (seed,)) + few(rows)


def accuracy(rows: pa.Table, data: str, seed: int = 0, splits: Sequence[str] = ()) -> Numbers:
    """Share of base predictions that are gold, and the share of the most frequent gold label.

    Intervals resample what examples share (``group``), or else examples.

    Args:
        rows: Rows; the base rows among them count.
        data: Name of the data set, for the metric names.
        seed: Keys the bootstrap.
        splits: Names of the splits, where several are evaluated together; the slice "split" of each row is one of them.

    Returns:
        ``accuracy/<data>``; ``accuracy/<data>/majority``; ``accuracy/<data>/<label>`` (recall) for each gold label, if
        they are at most :data:`~records.MANY`; and ``accuracy/<data>/split=<split>``, what the first is when that split
        is evaluated alone.
    """
    correct, of_label, cluster = _base(rows)
    name, flags = MetricName("accuracy", data), few(rows)
    if not len(correct):
        return {name: Measurement(None, 0, reason="no example was predicted")}
    key = seed, str(name)
    result = {name: share(correct, key, cluster, majority_flags(rows, seed))}
    most = max(int(here.sum()) for here in of_label.values())
    result[name._replace(statistic="majority")] = Measurement(most / len(correct), len(correct))
    for label in sorted(of_label) if len(of_label) <= MANY else ():
        result[name._replace(slice=label)] = share(
            correct[of_label[label]], (*key, label), cluster[of_label[label]], flags
        )
    for split in splits:
        alone = of_split(select(rows, intervention=BASE), split)
        result[name._replace(slice=f"split={split}")] = accuracy(alone, data, seed)[name]
    return result


def noise(rows: pa.Table, data: str) -> Numbers:
    """The noise floor: the share of flips, which must be 0, and largest change of a probability in the null control.

    Returns:
        ``null/<data>/flips`` and ``null/<data>/max_change``; the first is flagged where it is not 0, the second is
        left out where predictions have no probabilities.
    """
    null = where(rows, intervention="null")
    n = int(null.sum())
    if not n:
        return {}
    flips = float(np.mean(~same(rows, "y", "y2")[null]))
    flags = ("predictions_depend_on_batch",) if flips else ()
    found, change = {MetricName("null", data, statistic="flips"): Measurement(flips, n, flags=flags)}, 0.0
    for start in range(0, rows.num_rows, GROUP):
        here = rows.select(["p", "p2"]).slice(start, GROUP).filter(pa.array(null[start : start + GROUP]))
        if here["p"].null_count or here["p2"].null_count:
            return found
        p, p2 = (probabilities(here, name).astype(np.float64) for name in ("p", "p2"))
        change = max(change, float(np.abs(p2 - p).max(initial=0.0)))
    return found | {MetricName("null", data, statistic="max_change"): Measurement(change, n)}


def noise_chart(data: str) -> Chart:
    """The noise floor over epochs."""
    return Chart("null control: must stay at 0", {"flips": MetricName("null", data, statistic="flips")})


def score(rows: pa.Table, context: Context) -> Numbers:
    """Accuracy, or what predictions are worth where gold says it, and the noise floor."""
    if context.kind is SOFT:
        found = soft_accuracy(rows, context.data, context.seed)
    else:
        found = accuracy(rows, context.data, context.seed, context.splits)
    return found | noise(rows, context.data)


def charts(context: Context) -> tuple[Chart, ...]:
    """Accuracy, that of each label if these are not many, and the noise floor."""
    name = MetricName("accuracy", context.data)
    found = [Chart("accuracy", {"accuracy": name}, "attentiveness")]
    if context.kind.exclusive and len(context.labels) <= MANY:
        found.append(Chart("accuracy by label", {label: name._replace(slice=label) for label in context.labels}))
    return (*found, noise_chart(context.data))


METRIC = Metric("accuracy", score, charts=charts)
