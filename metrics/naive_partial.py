"""Naive partial inputs (CAT, §3.2): how often a model says of one part alone what it says of all."""

import numpy as np
import pyarrow as pa

from metrics.statistics.bootstrap import bootstrap_interval, flagged
from records import CLASSIFICATION, MANY, Measurement, TaskKind
from records.rows import strings, where


def naive_partial(
    rows: pa.Table, data: str, part: str, seed: int = 0, kind: TaskKind = CLASSIFICATION
) -> dict[str, Measurement]:
    """Agreement of the predictions on one part with those on the whole input, and accuracy on the part.

    Agreement may come from a model that ignores the other parts, or from what it does with inputs of a kind that it
    never saw: the paper takes it for no measure of attentiveness.

    Args:
        rows: Rows of the intervention "keep", with ``part`` as their variant.
        data: Name of the data set, for the metric names.
        part: The part that was kept.
        seed: Keys the bootstrap over uids.
        kind: Of the task: says which answers are the same, and which are right.

    Returns:
        ``naive_partial/<data>/<part>``, the share of examples whose prediction stays; ``.../from_<label>``, of those
        predicted as a label, if these are at most :data:`~records.MANY` and labels at all; ``.../accuracy``, the share
        of predictions on the part that are gold, or what they are worth.
    """
    kept = where(rows, intervention="keep", variant=part)
    rows = rows.select(["y", "y2", "gold"]).filter(pa.array(kept))
    before, after = strings(rows, "y"), strings(rows, "y2")
    stays = np.array([kind.alike(y, y2) for y, y2 in zip(before, after, strict=True)], dtype=np.float64)
    right = kind.scores(after, strings(rows, "gold"))
    name = f"naive_partial/{data}/{part}"

    def share(hits: np.ndarray, full: str) -> Measurement:
        if not len(hits):
            return Measurement(None, 0, reason="no example was predicted")
        ci95 = bootstrap_interval(hits, np.ones_like(hits), (seed, full))
        return Measurement(float(hits.mean()), len(hits), ci95=ci95, flags=flagged(ci95))

    found = {name: share(stays, name)}
    labels = sorted(set(rows["y"].to_pylist()))
    for label in labels if len(labels) <= MANY and kind.has_labels else ():
        full = f"{name}/from_{label}"
        found[full] = share(stays[where(rows, y=label)], full)
    return found | {f"{name}/accuracy": share(right, f"{name}/accuracy")}
