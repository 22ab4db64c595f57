"""Attentiveness (CAT, §3.3): how often the prediction changes when a part is swapped for another example's."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metrics.accuracy import majority_flags
from metrics.statistics.bootstrap import bootstrap_interval, flagged
from records import MANY, Measurement
from records.rows import BASE, runs, same, where


def mean_over_draws(
    hit: np.ndarray, uid: np.ndarray, draw: np.ndarray, key: tuple[str | int, ...], flags: tuple[str, ...], reason: str
) -> Measurement:
    """Mean over draws of the share of hits, with an interval clustered by uid."""
    if not len(hit):
        return Measurement(None, 0, flags=flags, reason=reason)
    per_draw = tuple(float(hit[draw == d].mean()) for d in np.unique(draw))
    _, cluster = np.unique(uid, return_inverse=True)
    totals, counts = np.bincount(cluster, weights=hit), np.bincount(cluster).astype(np.float64)
    low, high = bootstrap_interval(totals, counts, key)
    return Measurement(
        value=float(np.mean(per_draw)),
        n=len(totals),
        draws=len(per_draw),
        std=float(np.std(per_draw, ddof=1)) if len(per_draw) > 1 else None,
        ci95=(low, high),
        per_draw=per_draw,
        flags=flagged((low, high), flags),
    )


def attentiveness(
    rows: pa.Table,
    data: str,
    part: str,
    default_label: str | None,
    labels: Sequence[str],
    seed: int = 0,
    flags: tuple[str, ...] | None = None,
) -> dict[str, Measurement]:
    """Attentiveness to one part.

    Over the uids whose base prediction is not the default label: the share whose prediction changes when ``part`` comes
    from another example. One score for each draw; their mean and sample standard deviation. The interval resamples
    uids. With no such uid the score is undefined.

    Args:
        rows: Base rows and the rows of the intervention "swap", in their canonical order.
        data: Name of the data set, for the metric names.
        part: The part that was swapped.
        default_label: The label of unrelated parts; None where the task has none, and then every uid counts.
        labels: All labels.
        seed: Keys the bootstrap.
        flags: What a reader must know of all numbers; by default, that accuracy is not above the majority share.

    Returns:
        With ``name`` = ``attentiveness/<data>/<part>``: ``name``; ``name/to_default``, the share that changes to the
        default label; ``name/from_<label>``, the share that changes among the uids predicted as that label, if labels
        are at most :data:`~records.MANY`; ``name/eligible``, the share of uids with a base prediction that counts.
    """
    name = f"attentiveness/{data}/{part}"
    flags = majority_flags(rows) if flags is None else flags
    swapped, base = where(rows, intervention="swap", part=part), where(rows, intervention=BASE)
    if default_label is not None:
        other = ~where(rows, y=default_label)
        swapped, eligible = swapped & other, int((base & other).sum())
    else:
        eligible = int(base.sum())
    uid, draw = runs(rows, "uid")[swapped], rows["draw"].to_numpy()[swapped]
    changed = ~same(rows, "y", "y2")[swapped]

    def measure(suffix: str, hit: np.ndarray, kept: np.ndarray, reason: str) -> None:
        full = name + suffix
        result[full] = mean_over_draws(hit[kept].astype(np.float64), uid[kept], draw[kept], (seed, full), flags, reason)

    every = np.ones(len(changed), dtype=bool)
    only_default = f"every prediction is the default label {default_label!r}"
    none = only_default if default_label is not None and eligible == 0 else "no example has a partner"
    result: dict[str, Measurement] = {}
    measure("", changed, every, none)
    if default_label is not None:
        measure("/to_default", where(rows, y2=default_label)[swapped], every, none)
    for label in labels if len(labels) <= MANY else ():
        if label != default_label:
            reason = f"no example that was swapped is predicted as {label!r}"
            measure(f"/from_{label}", changed, where(rows, y=label)[swapped], reason)
    n = int(base.sum())
    reason = None if n else "no example was predicted"
    result[f"{name}/eligible"] = Measurement(eligible / n if n else None, n, reason=reason)
    return result
