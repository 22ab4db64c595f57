"""Accuracy over base rows, and the noise floor over the rows of the null control."""

from collections import Counter

import numpy as np
import pyarrow as pa

from metrics.measurement import Measurement, above_majority, bootstrap_interval, flagged
from records.rows import BASE, probabilities, select, strings

NOT_ABOVE_MAJORITY = "not_above_majority"


def _base(rows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    base = select(rows, intervention=BASE)
    return strings(base, "gold"), strings(base, "y")


def majority_flags(rows: pa.Table) -> tuple[str, ...]:
    """The flag of results whose accuracy is not above the majority share (p < 0.05), or nothing."""
    gold, y = _base(rows)
    share = max(Counter(gold).values(), default=0) / max(len(gold), 1)
    if len(gold) and above_majority(int((gold == y).sum()), len(gold), share) < 0.05:
        return ()
    return (NOT_ABOVE_MAJORITY,)


def accuracy(rows: pa.Table, data: str, seed: int = 0) -> dict[str, Measurement]:
    """Share of base predictions that are gold, and the share of the most frequent gold label.

    Args:
        rows: Rows; the base rows among them count.
        data: Name of the data set, for the metric names.
        seed: Keys the bootstrap.

    Returns:
        ``accuracy/<data>``; ``accuracy/<data>/majority``; ``accuracy/<data>/<label>`` (recall) for each gold label.
    """
    gold, y = _base(rows)
    name = f"accuracy/{data}"
    if not len(gold):
        return {name: Measurement(None, 0, reason="no example was predicted")}
    correct = (gold == y).astype(np.float64)

    def share(hits: np.ndarray, key: tuple[str | int, ...], flags: tuple[str, ...] = ()) -> Measurement:
        interval = bootstrap_interval(hits, np.ones_like(hits), key)
        return Measurement(float(hits.mean()), len(hits), ci95=interval, flags=flagged(interval, flags))

    counts = Counter(gold)
    result = {name: share(correct, (seed, name), majority_flags(rows))}
    result[f"{name}/majority"] = Measurement(max(counts.values()) / len(gold), len(gold))
    for label in sorted(counts):
        result[f"{name}/{label}"] = share(correct[gold == label], (seed, name, label))
    return result


def noise(rows: pa.Table, data: str) -> dict[str, Measurement]:
    """What the null control saw: the share of flips (which must be 0) and the largest change of a probability.

    Returns:
        ``null/<data>/flips`` and ``null/<data>/max_change``; the first is flagged where it is not 0.
    """
    null = select(rows, intervention="null")
    if not null.num_rows:
        return {}
    flips = float(np.mean(strings(null, "y") != strings(null, "y2")))
    change = np.abs(probabilities(null, "p2").astype(np.float64) - probabilities(null, "p").astype(np.float64))
    flags = ("predictions_depend_on_batch",) if flips else ()
    return {
        f"null/{data}/flips": Measurement(flips, null.num_rows, flags=flags),
        f"null/{data}/max_change": Measurement(float(change.max()), null.num_rows),
    }
